//! Texts that are no templates: each is refused in one line that says what is wrong, and where.

use super::GrammarTemplate;

const MARKERS: [&str; 3] = ["<think>", "</think>", "<call>"];
const CALL: &str = "call: marker_2 json_name arguments\n";

fn refusal(text: &str) -> String {
    let error = GrammarTemplate::parse(text, &MARKERS).expect_err("no template").to_string();
    assert!(!error.contains('\n'), "{error:?}");
    error
}

/// Checks that each text, beside a rule `call`, is refused in these words.
fn check(refused: &[(&str, &str)]) {
    for (text, words) in refused {
        let error = refusal(&format!("{CALL}{text}"));
        assert!(error.contains(words), "{text:?}: {error}");
    }
}

#[test]
fn names_that_nothing_defines_are_named() {
    check(&[
        ("before: marker_3", "rule `before`: there is no marker 3: the parser has 3"),
        ("before: token_99999999999999999999", "no number of a marker"),
        ("before: think", "rule `before`: nothing defines `think`, which this server doesn't know"),
        ("before: marker_x", "nothing defines `marker_x`"),
        ("before: name", "`name` can't stand here, only in call, custom"),
        ("before: call", "`call` can't stand here: the server writes it"),
        ("before: calls", "`calls` can't stand here, only in section, forced, free, either"),
        ("before: A\nA: gap", "rule `A`: `gap` can't stand in a terminal"),
        ("raw: marker_0 key value", "rule `raw`: `%value` is missing"),
        ("parameter: marker_0 key value", "rule `parameter`: `%value` is missing"),
    ]);
}

#[test]
fn server_rules_cannot_be_redefined_and_none_twice() {
    check(&[
        ("start: \"a\"", "`start` is defined by the server"),
        ("text: \"a\"", "`text` is defined by the server"),
        ("marker_0: \"a\"", "`marker_0` is defined by the server"),
        ("calls: \"a\"", "`calls` is defined by the server"),
        ("%text gap 0", "`gap` is defined by the server"),
        ("more: \"a\"\nmore: \"b\"", "more is defined twice"),
        ("%text aside 0\nbefore: aside\naside: gap", "both a rule and a text"),
    ]);
}

#[test]
fn rules_lead_somewhere_and_not_in_a_circle() {
    check(&[
        ("before: a\na: b?\nb: \"x\" a", "it leads to itself"),
        ("before: a\na: a", "it leads to itself"),
        ("sektion: gap", "rule `sektion`: nothing leads to it"),
        ("reasoning_end: marker_1", "rule `reasoning_end`: nothing leads to it"),
        ("%text aside 0", "rule `aside`: nothing leads to it"),
    ]);
}

#[test]
fn holes_that_a_rule_needs_are_named() {
    check(&[
        ("section: gap", "rule `section`: `calls` is missing"),
        ("either: calls", "rule `either`: `answer` is missing"),
        ("raw: key", "rule `raw`: `value` is missing"),
        ("object: \"{\" members \"}\"", "needs a rule `pair`"),
        ("true: \"True\"", "needs a rule `object`"),
        ("object: members\npair: key value", "needs a rule `list`"),
    ]);
    assert!(refusal("call: marker_2 arguments").contains("`name` or `json_name` is missing"));
    assert!(refusal("call: name parameters").contains("a rule `raw` or `parameter` is needed"));
    assert!(refusal("before: gap").contains("a rule `call` is missing"));
    assert!(GrammarTemplate::parse("%refuse calls this model calls nothing", &MARKERS).is_ok());
}

#[test]
fn directives_are_read_strictly_and_named_by_line() {
    check(&[
        ("%nmae 64 /a/", "line 2: this server doesn't know `%nmae`"),
        ("\n%value 0 3", "line 3: there is no marker 3"),
        ("%value <think>", "`<think>` is no number"),
        ("%name 64 [a-z]", "expected `MAX /character/`"),
        ("%name 9999 /a/", "expected `MAX /character/`"),
        ("%name 64 /[a-/", "no regular expression"),
        ("%name 64 /a/\n%name 64 /b/", "line 3: `%name` is said twice"),
        ("%single please", "nothing may follow `%single`"),
        ("%refuse sometimes why", "expected `%refuse SHAPE why`"),
        ("%refuse free why\n%refuse calls why", "said twice"),
        ("%input end", "no number of a marker"),
        ("%import common.INT", "doesn't know `%import`"),
    ]);
}

#[test]
fn other_lark_than_rules_and_terminals_is_refused() {
    check(&[
        ("before: <[7]>", "line 2"),
        ("before: %json {}", "%json"),
        ("before: \"a", "line 2"),
        ("before: (\"a\"", ")"),
        ("before: /(?=a)/", "looks around"),
        ("before: \"a\u{7}\"", "line 2: it has a control character"),
    ]);
}

#[test]
fn sizes_are_bounded() {
    let rules = (0..300).map(|at| format!("a{at}: \"x\"\n")).collect::<Vec<_>>().concat();
    check(&[(rules.as_str(), "at most 256"), ("before: \"x\"".repeat(8000).as_str(), "at most 65536")]);
    let directives = (0..300).map(|at| format!("%text a{at} 0\n")).collect::<Vec<_>>().concat();
    assert!(refusal(&directives).contains("line 257: a template has at most 256 directives"));
    let deep = format!("before: {}gap{}", "(".repeat(1000), ")".repeat(1000));
    check(&[(deep.as_str(), "nested more than")]);
}
