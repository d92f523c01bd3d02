//! Replay files: which rule is chosen, what it plays, and what is refused.

use std::time::Duration;

use engine::{PlayedEnd, PlayedOutput};
use serde_json::{Value, json};

use super::{NoRule, ReplayScript, Vocabulary};
use prompt::{ChatMessage, Conversation, Role, ToolDeclaration};

const DOCUMENTATION: &str = include_str!("../../../../docs/replay.md");

fn conversation(messages: &[(Role, &str)], tools: &[&str]) -> Conversation {
    let declare = |name: &&str| ToolDeclaration { name: (*name).to_string(), declaration: "null".to_owned() };
    Conversation {
        messages: messages.iter().map(|(role, text)| ChatMessage::text(*role, *text)).collect(),
        tools: tools.iter().map(declare).collect(),
    }
}

fn script(file: &Value) -> ReplayScript {
    ReplayScript::parse("test.json", &file.to_string(), &BYTES).unwrap()
}

/// Vocabulary in which each byte is a token.
const BYTES: Vocabulary<'_> =
    Vocabulary { encode: &|text| Ok(text.bytes().map(u32::from).collect()), size: 256 };

fn played(script: &ReplayScript, conversation: &Conversation) -> Result<String, NoRule> {
    let output = script.select(conversation)?.clone();
    Ok(output.tokens.into_iter().map(|id| char::from_u32(id).unwrap()).collect())
}

fn refused(file: &Value) -> String {
    ReplayScript::parse("test.json", &file.to_string(), &BYTES).unwrap_err().to_string()
}

#[test]
fn conditions_decide_and_first_matching_rule_plays() {
    let script = script(&json!({"rules": [
        {"when": {"last_role": "tool", "tool_results": 2}, "text": "two results"},
        {"when": {"last_role": "tool"}, "text": "a result"},
        {"when": {"tool_declared": "find", "contains": "where"}, "text": "a call"},
        {"when": {"last_user_contains": "where"}, "text": "no tool for that"},
        {"when": {"last_role": "user"}, "text": "talk"},
    ]}));
    let ask = |messages: &[(Role, &str)], tools: &[&str]| played(&script, &conversation(messages, tools));
    let (user, tool, assistant) = (Role::User, Role::Tool, Role::Assistant);
    assert_eq!(ask(&[(user, "hi")], &["find"]).unwrap(), "talk");
    assert_eq!(ask(&[(user, "where is it")], &["other", "find"]).unwrap(), "a call");
    assert_eq!(ask(&[(user, "where is it")], &["other"]).unwrap(), "no tool for that");
    assert_eq!(ask(&[(user, "where"), (assistant, ""), (tool, "x")], &["find"]).unwrap(), "a result");
    assert_eq!(ask(&[(user, "where"), (tool, "x"), (tool, "y")], &["find"]).unwrap(), "two results");
    assert_eq!(ask(&[(user, "where"), (assistant, "so")], &["find"]).unwrap(), "no tool for that");
    assert_eq!(ask(&[(user, "hi"), (assistant, "so")], &[]), Err(NoRule));
    assert_eq!(ask(&[], &[]), Err(NoRule));
}

#[test]
fn unconditional_rule_holds_for_empty_conversations() {
    let script = script(&json!({"rules": [{"when": {"contains": ""}, "text": "a"}, {"text": "b"}]}));
    assert_eq!(played(&script, &Conversation::default()).unwrap(), "b");
}

#[test]
fn playing_is_set_by_rule_else_file_else_one_per_step() {
    let output = |file: Value| script(&file).select(&Conversation::default()).unwrap().clone();
    let plain = PlayedOutput { tokens: vec![97, 98], tokens_per_step: 1, pace: None, end: PlayedEnd::Stop };
    assert_eq!(output(json!({"rules": [{"text": "ab"}]})), plain);
    let file =
        |rule: Value| json!({"tokens_per_step": 3, "pace_ms": 20, "finish": "length", "rules": [rule]});
    let pace = Some(Duration::from_millis(20));
    let paced = PlayedOutput { tokens_per_step: 3, pace, end: PlayedEnd::Length, ..plain.clone() };
    assert_eq!(output(file(json!({"tokens": [97, 98]}))), paced);
    let rule = json!({"text": "ab", "tokens_per_step": 0, "pace_ms": 0, "finish": "hang"});
    assert_eq!(output(file(rule)), PlayedOutput { tokens_per_step: 0, end: PlayedEnd::Hang, ..plain });
}

#[test]
fn errors_name_file_place_and_what_belongs_there() {
    let rule = |rule: Value| refused(&json!({"rules": [{"text": "fine"}, rule]}));
    assert_eq!(
        rule(json!({"text": "x", "when": {"last_role": "robot"}})),
        "replay file test.json: rules[1].when.last_role: \"robot\" is none of system, developer, user, assistant, tool"
    );
    assert_eq!(
        rule(json!({"text": "x", "when": {"containz": "y"}})),
        "replay file test.json: rules[1].when.containz: unknown field \
         (known: last_role, contains, last_user_contains, tool_declared, tool_results)"
    );
    for (bad, expected) in [
        (json!({"text": 5}), "rules[1].text: invalid type: integer `5`, expected a string"),
        (json!({"text": null}), "rules[1].text: invalid type: null, expected a string"),
        (json!({"tokens": [1, -1]}), "rules[1].tokens: invalid value: integer `-1`, expected u32"),
        (json!({"text": "x", "pace_ms": 1.5}), "rules[1].pace_ms: invalid type"),
        (json!({"text": "x", "tokens": [1]}), "rules[1]: needs either `text` or `tokens`, and not both"),
        (json!({}), "rules[1]: needs either `text` or `tokens`, and not both"),
        (json!([]), "rules[1]: is not a JSON object"),
        (json!({"text": "x", "when": []}), "rules[1].when: is not a JSON object"),
        (
            json!({"text": "x", "finish": "later"}),
            "rules[1].finish: \"later\" is none of stop, length, error, hang",
        ),
    ] {
        let error = rule(bad);
        assert!(error.starts_with(&format!("replay file test.json: {expected}")), "{error}");
    }
}

#[test]
fn files_that_are_no_scripts_are_refused() {
    assert!(refused(&json!([])).contains("is not a JSON object"));
    assert!(refused(&json!({})).contains("rules: is missing"));
    assert!(refused(&json!({"rules": []})).contains("rules: is empty"));
    assert!(refused(&json!({"rules": [{"text": ""}], "speed": 1})).contains("speed: unknown field"));
    assert!(
        ReplayScript::parse("x", "{", &BYTES)
            .unwrap_err()
            .to_string()
            .starts_with("replay file x: is not JSON: EOF")
    );
}

#[test]
fn file_loads_from_disk_and_a_missing_one_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("script.json");
    let error = ReplayScript::load(&path, &BYTES).unwrap_err().to_string();
    assert!(error.contains("script.json: cannot be read: "), "{error}");
    std::fs::write(&path, r#"{"rules": [{"text": "hello"}]}"#).unwrap();
    assert_eq!(
        played(&ReplayScript::load(&path, &BYTES).unwrap(), &Conversation::default()).unwrap(),
        "hello"
    );
}

#[test]
fn token_ids_are_checked_against_the_vocabulary() {
    script(&json!({"rules": [{"text": "x"}, {"tokens": [5, 99, 255]}]}));
    assert_eq!(
        refused(&json!({"rules": [{"text": "x"}, {"tokens": [5, 99, 256]}]})),
        "replay file test.json: rules[1].tokens[2]: the model has no token 256, only ids below 256"
    );
}

#[test]
fn documented_example_plays_a_tools_round_trip() {
    let (_, rest) = DOCUMENTATION.split_once("```json\n").unwrap();
    let script = ReplayScript::parse("docs/replay.md", rest.split_once("```").unwrap().0, &BYTES).unwrap();
    let tools = ["get_weather"];
    let question = (Role::User, "What is the weather in Lisbon?");
    let call = played(&script, &conversation(&[question], &tools)).unwrap();
    assert!(call.starts_with("<think>\n") && call.ends_with("</tool_call>"), "{call}");
    let answered = [question, (Role::Assistant, ""), (Role::Tool, "{\"celsius\": 21}")];
    assert!(played(&script, &conversation(&answered, &tools)).unwrap().contains("sunny"));
    let count = script.select(&conversation(&[(Role::User, "Count!")], &[])).unwrap().clone();
    assert_eq!((count.tokens_per_step, count.pace), (4, Some(Duration::from_millis(50))));
    assert!(
        played(&script, &conversation(&[(Role::User, "Hi")], &[])).is_ok(),
        "the last rule takes the rest"
    );
}
