//! Constructs of a table that can't be decided while text arrives are refused by name, in one line.

use parser_sdk::Parser;
use response_template_parser::ResponseTemplate;
use serde_json::{Value, json};

fn refusal(option: &str, value: &str) -> String {
    let error = ResponseTemplate::describe(&[(option.into(), value.into())]).expect_err("refused");
    assert!(!error.contains('\n'), "one line: {error}");
    error
}

/// The error for a table with this field beside a plain `content`.
fn field(name: &str, field: &Value) -> String {
    let table = json!({"start_anchor": "A", "fields": {"content": {"close": "<end>"}, name: field}});
    refusal("response_template", &table.to_string())
}

fn calls(with: &Value) -> Value {
    let mut calls = json!({
        "open": "<call>", "close": "</call>", "content": "json",
        "transform": {"type": "function", "function": "{content}"},
    });
    let (Value::Object(all), Value::Object(with)) = (&mut calls, with.clone()) else { panic!("objects") };
    all.extend(with);
    calls
}

#[test]
fn a_table_that_is_missing_or_no_json() {
    let missing = ResponseTemplate::describe(&[]).expect_err("refused");
    assert!(missing.contains("response_template is missing"), "{missing}");
    assert!(refusal("response_template", "{").contains("response_template: "));
    let deep = "[".repeat(100_000);
    for text in ["", "{}x", "[1,]", r#"{"a":}"#, r#"{"a" 1}"#, r#"["\q"]"#, r#"["a"#, "nul", &deep] {
        assert!(refusal("response_template", text).contains("no JSON at byte"), "{text:.20}");
    }
    let legacy = refusal("response_schema", r#"{"x-regex": ".*"}"#);
    assert!(legacy.contains("x-regex"), "{legacy}");
}

#[test]
fn unknown_versions_and_keys() {
    let version = refusal("response_template", r#"{"version": 2, "fields": {"content": {}}}"#);
    assert!(version.contains("version 2"), "{version}");
    let key = refusal("response_template", r#"{"fields": {"content": {}}, "streams": true}"#);
    assert!(key.contains("`streams`"), "{key}");
    let key = field("thinking", &json!({"open": "<t>", "closes": "</t>"}));
    assert!(key.contains("field 'thinking': unknown field `closes`"), "{key}");
}

#[test]
fn fields_and_contents_without_a_place() {
    assert!(field("citations", &json!({"open": "<c>", "close": "</c>"})).contains("field 'citations'"));
    assert!(field("thinking", &json!({"close": "</t>"})).contains("open"));
    for content in ["json", "kv-lines"] {
        let error = field("thinking", &json!({"open": "<t>", "close": "</t>", "content": content}));
        assert!(error.contains(content), "{error}");
    }
    assert!(field("tool_calls", &calls(&json!({"content": "int"}))).contains("int"));
    assert!(field("tool_calls", &json!({"content": "json"})).contains("open"));
}

#[test]
fn json_that_is_none() {
    for (key, value) in [("unquoted_keys", json!(true)), ("string_delims", json!([["'", "'"]]))] {
        let error = field("tool_calls", &calls(&json!({"content_args": {key: value}})));
        assert!(error.contains(key), "{error}");
    }
}

#[test]
fn transforms_that_name_no_name_and_arguments() {
    for transform in [
        json!({"type": "function"}),
        json!({"type": "function", "function": {"name": "{content.fn.name}", "arguments": "{content.args}"}}),
        json!({"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}),
        json!({"type": "function", "function": {"name": "fixed", "arguments": "{content}"}}),
    ] {
        let error = field("tool_calls", &calls(&json!({"transform": transform})));
        assert!(["transform", "group", "`function`"].iter().any(|word| error.contains(word)), "{error}");
    }
}

#[test]
fn regular_expressions_that_need_what_comes_later() {
    for (regex, construct) in [
        ("(?=.*?</thought>)", "(?="),
        ("(?=x|y)", "(?="),
        ("<think>(?=.*?</think>)", "(?="),
        ("<think>(?!x)", "(?!"),
        ("<a>.*<b>", "`.*`"),
        ("<a>x+<b>", "`x+`"),
        (r"<a>\d<b>", r"`\d`"),
        ("<a>[b-a]+<b>", "range"),
        (r"<a>[\S]+<b>", r"`[\S`"),
        (r"<a>\B", r"`\B`"),
        ("<a>[xy]<b>", "`[`"),
        ("<a>(((((((((x)))))))))", "group inside"),
        ("<a>(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)", "64 alternatives"),
        ("<a>(?:x", "group"),
        (r"\s*", "literal"),
        (r"<a>x{2}", "`{`"),
    ] {
        let error = field("thinking", &json!({"open_pattern": regex, "close": "</think>"}));
        assert!(error.contains(construct) && error.contains("field 'thinking'"), "{regex}: {error}");
    }
}

#[test]
fn parameters_that_are_not_elements() {
    let xml = |args: Value| {
        let transform = json!({"type": "function", "function": {"name": "{name}", "arguments": "{content}"}});
        let open = r"<call (?P<name>\w+)>";
        let with = json!({"content": "xml-inline", "content_args": args, "transform": transform, "open_pattern": open});
        let mut calls = calls(&with);
        calls.as_object_mut().unwrap().remove("open");
        field("tool_calls", &calls)
    };
    assert!(xml(json!({})).contains("tag_pattern is missing"));
    assert!(xml(json!({"tag_pattern": r"<(?P<key>\w+)>"})).contains("'value'"));
    assert!(xml(json!({"tag_pattern": r"<a>(?P<value>.*?)</a>"})).contains("'key'"));
    assert!(xml(json!({"tag_pattern": r"<(?P<key>\w+)>(?P<value>.*?)"})).contains("follow the value"));
    let args =
        json!({"tag_pattern": r"<(?P<key>\w+)>(?P<value>.*?)</>", "value_parser": {"name": "xml-inline"}});
    assert!(xml(args).contains("'xml-inline'"));
}

#[test]
fn contents_whose_calls_stand_elsewhere() {
    let python = calls(&json!({"content": "python-call-list"}));
    assert!(field("tool_calls", &python).contains("python-call-list needs transform_each"));
    let lines = calls(&json!({"content": "kv-lines"}));
    assert!(field("tool_calls", &lines).contains("transform"));
    let mut named = calls(&json!({
        "open_pattern": r"<call (?P<name>\w+)>", "content": "kv-lines", "content_args": {"kv_sep": ""},
        "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
    }));
    named.as_object_mut().unwrap().remove("open");
    assert!(field("tool_calls", &named).contains("kv_sep can't be empty"));
}

#[test]
fn table_tells_the_markers_it_needs_and_what_it_trims() {
    let table = json!({"start_anchor": "A", "fields": {
        "content": {"close": ["<end>", "<eos>"]},
        "thinking": {"open": "<|channel>thought\n", "close": "<channel|>", "content_args": {"strip": false}},
    }});
    let descriptor = ResponseTemplate::describe(&[("response_template".into(), table.to_string())]).unwrap();
    let mut markers = descriptor.markers;
    markers.sort();
    assert_eq!(markers, ["<channel|>", "<end>", "<eos>", "<|channel>"]);
    assert!(descriptor.trim.content && !descriptor.trim.reasoning);
    assert!(descriptor.stops.is_empty());
}

/// The template of this table's grammars, or why it refuses calls that are demanded.
fn demanded(table: &Value) -> Result<String, String> {
    let descriptor = ResponseTemplate::describe(&[("response_template".into(), table.to_string())])?;
    let template = descriptor.grammar.expect("a template");
    let refused = template.lines().find_map(|line| line.strip_prefix("%refuse forced "));
    refused.map_or(Ok(template.clone()), |why| Err(why.to_owned()))
}

#[test]
fn tables_that_no_grammar_describes() {
    let content = json!({"close": "<end>"});
    let plain = json!({"fields": {"content": content}});
    assert!(demanded(&plain).unwrap_err().contains("no calls"));
    let sought = json!({"start_anchor_pattern": "(?=a)", "fields": {"content": content, "tool_calls": calls(&json!({}))}});
    assert!(demanded(&sought).unwrap_err().contains("start_anchor_pattern"));
    let begun = json!({"fields": {
        "content": {"open_pattern": "(?:^|<text>)", "close": "</text>"}, "tool_calls": calls(&json!({})),
    }});
    assert!(demanded(&begun).unwrap_err().contains("without a beginning"));
}

#[test]
fn names_and_keys_that_no_pattern_reads() {
    let named = |close: &str, with: Value| {
        let mut calls = calls(&json!({
            "open_pattern": r"<call>(?P<name>\w+)\n", "close": close,
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
        }));
        calls.as_object_mut().unwrap().remove("open");
        calls.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
        json!({"fields": {"content": {"close": "<end>"}, "tool_calls": calls}})
    };
    let json = named("</call>", json!({}));
    let template = demanded(&json).unwrap();
    assert!(template.contains(r"%name 393 /[[\p{Alphabetic}\p{N}_]]/"), "{template}");
    let tag = r"<p>(?P<key>\w+)=(?P<value>.*?)</p>";
    let words = named("</call>", json!({"content": "xml-inline", "content_args": {"tag_pattern": tag}}));
    assert!(demanded(&words).unwrap_err().contains("keys"));
}
