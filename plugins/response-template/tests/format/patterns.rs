//! Delimiters match as `re` does, or the table is refused.

use parser_kit::{Item, cut, play, request};
use parser_sdk::{FinishReason, Parser};
use response_template_parser::ResponseTemplate;
use serde_json::json;

/// A table whose calls open like this.
fn table(open: &str) -> String {
    json!({"start_anchor": "A", "fields": {
        "tool_calls": {
            "open_pattern": open, "close": "</call>", "repeats": true, "content": "json",
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
        },
        "content": {"close": "<end>"},
    }})
    .to_string()
}

/// What comes of `output` under a table whose calls open like this, however it is cut.
fn items(open: &str, output: &str) -> Vec<Item> {
    let mut request = request(&["add"]);
    request.options = vec![("response_template".into(), table(open))];
    let whole = play::<ResponseTemplate>(&request, "", [output], FinishReason::Stop);
    for size in [1, 3, 7] {
        let got = play::<ResponseTemplate>(&request, "", cut(output, &[size]), FinishReason::Stop);
        assert_eq!(got, whole, "{output} in pieces of {size}");
    }
    whole
}

fn is_call(open: &str, output: &str) -> bool {
    items(open, &format!("{output}{{}}</call><end>")) == [Item::call("add", "{}")]
}

/// Why a table whose calls open like this is refused.
fn refusal(open: &str) -> String {
    ResponseTemplate::describe(&[("response_template".into(), table(open))]).expect_err("refused")
}

#[test]
fn a_word_begins_behind_a_run() {
    // Muse's published table has this.
    let muse = r#"<atem:invoke\b[^>]*?\bname="(?P<name>[^"]+)">"#;
    assert!(is_call(muse, r#"<atem:invoke name="add">"#));
    assert!(is_call(muse, r#"<atem:invoke id="7" name="add">"#));
    assert!(!is_call(muse, r#"<atem:invoke nickname="add">"#));
    assert!(!is_call(muse, r#"<atem:invoked name="add">"#));
}

#[test]
fn a_run_ends_where_the_rest_of_the_pattern_matches() {
    assert!(is_call(r"<call>(?P<name>.*?)\s*</name>", "<call>add \n</name>"));
    assert!(is_call(r"<call=(?P<name>[^,]+)>", "<call=add>"));
    assert!(is_call(r"<call>[^<]*<name>(?P<name>\S+) ", "<call>x1<name>add "));
    assert!(is_call(r"<call>(?P<name>[^<\s]+)\s*<sep>", "<call>add\u{a0}<sep>"));
}

#[test]
fn groups_classes_and_optional_characters() {
    let open = r"<call(?:ed(?: by(?: me)?)?)?>x?(?P<name>[\w.-]+):[\d]+<sep>";
    for head in ["<call>add:1", "<called>add:1", "<called by>xadd:12", "<called by me>add:0"] {
        assert!(is_call(open, &format!("{head}<sep>")), "{head}");
    }
    for head in ["<caller>add:1", "<call>add:", "<call>add:x", "<call>xxadd:1", "<called me>add:1"] {
        assert!(!is_call(open, &format!("{head}<sep>")), "{head}");
    }
}

#[test]
fn a_run_without_a_name_takes_one_word() {
    let open = "<call>[^<]*<name>(?P<name>[^<]+)<sep>";
    assert!(is_call(open, "<call> x1 <name>add<sep>"));
    // What follows the words is a call without its wrapper.
    let got = items(open, "<call> so to say <name>add<sep>{}</call><end>");
    assert_eq!(got, [Item::message("<call> so to say"), Item::call("add", "{}")]);
}

#[test]
fn white_space_between_tokens_is_markup() {
    let open = "<call><name>(?P<name>[^<]+)<sep>";
    assert!(is_call(open, "<call>\n<name>\nadd\n<sep>"));
    assert!(is_call(r#"<call><name is="(?P<name>[^"]+)">"#, "<call> <name is='add'>"));
}

#[test]
fn a_name_is_a_tools() {
    for name in ["so to say", "a,b", "<x", ""] {
        let text = format!("<call>{name}<sep>");
        assert_eq!(items("<call>(?P<name>[^>]+)<sep>", &text), [Item::message(text)]);
    }
}

#[test]
fn patterns_that_never_match_are_refused() {
    for (open, why) in [
        (r"<call>\b<name>(?P<name>\w+)>", r"`\b`"),
        (r"<call>x\by(?P<name>\w+)>", r"`\b`"),
        (r"<call>(?P<name>.*?)", "lazy"),
        (r"<call>(?P<name>\w+)$", "`$`"),
        (r"<call>(?P<name>.+)<sep>", "`.+`"),
        (r"<call>(?P<name>[^a-z]+)<sep>", "range"),
        (r"<call>(?P<name>[^\d]+)<sep>", r"`[^\d`"),
    ] {
        let error = refusal(open);
        assert!(error.contains(why), "{open}: {error}");
    }
}

#[test]
fn a_marker_that_begins_with_another_hides_no_delimiter() {
    let table = json!({"start_anchor": "A", "fields": {
        "tool_calls": {
            "open_pattern": r"<tool(?P<name>\w+)>", "close": "</call>", "content": "json",
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
        },
        "thinking": {"open_pattern": r"<tools\s*=", "close": "<end>"},
        "content": {},
    }});
    let mut request = request(&["sum"]);
    request.options = vec![("response_template".into(), table.to_string())];
    let output = "<tools =why<end><toolsum>{}</call>";
    for size in [1, 3, 7, output.len()] {
        let got = play::<ResponseTemplate>(&request, "", cut(output, &[size]), FinishReason::Stop);
        assert_eq!(got, [Item::reasoning("why"), Item::call("sum", "{}")], "pieces of {size}");
    }
}
