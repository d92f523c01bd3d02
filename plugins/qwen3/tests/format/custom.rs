//! Custom tools: the model sees a function with one string `input`, and the client gets the decoded
//! content of that string.

use crate::turns::{items, tools, turn};
use parser_kit::{Head, Item};
use parser_sdk::FinishReason::{Length, Stop};
use parser_sdk::{Payload, ToolCall};
use qwen3_parser::Qwen3;

fn text(text: &str) -> Item {
    let call = ToolCall::new("apply_patch", Payload::Text);
    Item { head: Head::ToolCall(call), text: text.into(), complete: true }
}

fn block(arguments: &str) -> String {
    format!("<tool_call>\n{{\"name\": \"apply_patch\", \"arguments\": {arguments}}}\n</tool_call>")
}

fn block_with_the_name_last(arguments: &str) -> String {
    format!("<tool_call>\n{{\"arguments\": {arguments}, \"name\": \"apply_patch\"}}\n</tool_call>")
}

/// Checks that a block with `arguments` gives a call whose text is `expected`, with the name first
/// or last.
fn check(arguments: &str, expected: &str) {
    assert_eq!(turn(&block(arguments)), [text(expected)]);
    assert_eq!(turn(&block_with_the_name_last(arguments)), [text(expected)]);
}

#[test]
fn the_string_input_is_decoded() {
    check(r#"{"input": "*** Begin\n+\t\"a\\b\" \u00fc \ud83d\ude00"}"#, "*** Begin\n+\t\"a\\b\" ü 😀");
    check(r#"{ "input" : "" }"#, "");
    check(r#"{"\u0069nput":"x"}"#, "x");
}

#[test]
fn what_stands_behind_it_makes_the_call_incomplete() {
    for arguments in [
        r#"{"input": "x", "input": "y", "more": {"input": "z"}}"#,
        r#"{"input": "x", "note": "mind it"}"#,
        r#"{"input": "x" mind it}"#,
    ] {
        assert_eq!(turn(&block(arguments)), [text("x").incomplete()]);
        assert_eq!(turn(&block_with_the_name_last(arguments)), [text("x").incomplete()]);
    }
}

#[test]
fn an_object_with_another_member_before_it_goes_out_as_it_is() {
    let arguments = r#"{"path": ["a"], "input": "x"}"#;
    check(arguments, arguments);
}

#[test]
fn arguments_without_it_go_out_as_they_are() {
    for arguments in [
        "{}",
        r#"{"input": 5}"#,
        r#"{"input": ["x"]}"#,
        r#"{"patch": "x", "deep": {"input": "y"}}"#,
        r#"["input"]"#,
        "5",
        "{\"input\"]",
    ] {
        check(arguments, arguments);
    }
}

#[test]
fn a_string_input_that_comes_late_is_not_waited_for() {
    let arguments = format!(r#"{{"patch": "{}", "input": "y"}}"#, "x".repeat(100));
    check(&arguments, &arguments);
}

#[test]
fn arguments_given_as_a_string_are_decoded_once() {
    check(r#""*** Begin\n""#, "*** Begin\n");
}

#[test]
fn missing_arguments_are_no_text() {
    assert_eq!(turn("<tool_call>{\"name\": \"apply_patch\"}</tool_call>"), [text("")]);
    check("null", "");
}

#[test]
fn markers_in_the_text_are_text() {
    check(r#"{"input": "a</tool_call>\"<think>"}"#, "a</tool_call>\"<think>");
}

#[test]
fn ended_text_is_whole_without_braces_and_marker() {
    let cut = "<tool_call>{\"name\": \"apply_patch\", \"arguments\": {\"input\": \"x\"";
    assert_eq!(turn(&format!("{cut}<|im_end|>")), [text("x")]);
    assert_eq!(items(&tools(), "", cut, Stop), [text("x")]);
    assert_eq!(turn(&format!("{cut}</tool_call>ok")), [text("x"), Item::message("ok")]);
}

#[test]
fn a_text_cut_off_is_incomplete() {
    let cut = "<tool_call>{\"name\": \"apply_patch\", \"arguments\": {\"input\": \"x";
    for reason in [Stop, Length] {
        assert_eq!(items(&tools(), "", cut, reason), [text("x").incomplete()]);
    }
    assert_eq!(turn(&format!("{cut}<|im_end|>")), [text("x").incomplete()]);
}

#[test]
fn arguments_cut_before_their_text_go_out_unchanged() {
    let cut = "<tool_call>{\"name\": \"apply_patch\", \"arguments\": {\"inp";
    assert_eq!(items(&tools(), "", cut, Length), [text("{\"inp").incomplete()]);
    assert_eq!(turn(&format!("{cut}<|im_end|>")), [text("{\"inp").incomplete()]);
    let broken = "<tool_call>{\"name\": \"apply_patch\", \"arguments\": {\"a\": </tool_call>";
    assert_eq!(turn(broken), [text("{\"a\": ")]);
}

#[test]
fn the_text_comes_out_with_every_chunk() {
    let head = "{\"name\": \"apply_patch\", \"arguments\": {\"input\": \"x";
    parser_kit::check_input_flows::<Qwen3>(&tools(), &["<tool_call>", head]);
}
