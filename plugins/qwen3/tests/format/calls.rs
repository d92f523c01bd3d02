//! Tool calls as the model should write them, and text around them.

use crate::turns::{items, tools, turn};
use parser_sdk::FinishReason::{Cancelled, Length, Stop};
use parser_sdk::ToolChoice;
use parser_sdk::testing::{Item, request};

const WEATHER: &str =
    "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\"}}\n</tool_call>";

fn weather() -> Item {
    Item::call("get_weather", r#"{"city": "Zürich"}"#)
}

#[test]
fn a_call_has_its_name_and_its_arguments_verbatim() {
    assert_eq!(turn(&format!("{WEATHER}<|im_end|>")), [weather()]);
}

#[test]
fn white_space_in_arguments_and_strings_is_kept() {
    let arguments = "{ \"city\" :\t\"  New\\n  York \",\n \"n\": [ 1 , 2 ] }";
    let got = turn(&format!(
        "<tool_call>\n{{\"name\": \"get_weather\", \"arguments\": {arguments} }}\n</tool_call>"
    ));
    assert_eq!(got, [Item::call("get_weather", arguments)]);
}

#[test]
fn a_call_ends_reasoning_implicitly() {
    let got = turn(&format!("<think>\nI need the weather.\n{WEATHER}"));
    assert_eq!(got, [Item::reasoning("I need the weather."), weather()]);
}

#[test]
fn text_after_a_call_that_ended_reasoning_is_content() {
    let got = turn(&format!("<think>Hm.{WEATHER}\nThere.</think>"));
    assert_eq!(got, [Item::reasoning("Hm."), weather(), Item::message("There.")]);
}

#[test]
fn white_space_between_reasoning_and_calls_opens_no_message() {
    let got = turn(&format!("<think>Hm.</think>\n\n{WEATHER}\n{WEATHER}\n"));
    assert_eq!(got, [Item::reasoning("Hm."), weather(), weather()]);
}

#[test]
fn text_before_between_and_after_calls_is_kept_in_order() {
    let got = turn(&format!("Before.\n{WEATHER}\nBetween.\n{WEATHER}\nAfter."));
    let text = Item::message;
    assert_eq!(got, [text("Before."), weather(), text("Between."), weather(), text("After.")]);
}

#[test]
fn thinking_again_after_a_call_is_reasoning() {
    let got = turn(&format!("{WEATHER}<think>Hm.</think>Yes."));
    assert_eq!(got, [weather(), Item::reasoning("Hm."), Item::message("Yes.")]);
}

#[test]
fn parameters_are_accepted_for_arguments() {
    let got = turn(r#"<tool_call>{"name": "add", "parameters": {"a": 1}}</tool_call>"#);
    assert_eq!(got, [Item::call("add", r#"{"a": 1}"#)]);
}

#[test]
fn keys_come_in_any_order() {
    let got =
        turn(r#"<tool_call>{"id": 7, "arguments": {"a": 1}, "type": "function", "name": "add"}</tool_call>"#);
    assert_eq!(got, [Item::call("add", r#"{"a": 1}"#)]);
}

#[test]
fn a_name_inside_the_arguments_is_not_the_tools_name() {
    let arguments = r#"{"name": "add", "deep": {"name": ["x"], "arguments": {}}}"#;
    let first = format!(r#"<tool_call>{{"name": "get_weather", "arguments": {arguments}}}</tool_call>"#);
    let last = format!(r#"<tool_call>{{"arguments": {arguments}, "name": "get_weather"}}</tool_call>"#);
    assert_eq!(
        turn(&(first + &last)),
        [Item::call("get_weather", arguments), Item::call("get_weather", arguments)]
    );
}

#[test]
fn the_words_name_and_arguments_as_values_are_no_keys() {
    let got =
        turn(r#"<tool_call>{"type": "name", "name": "add", "x": "arguments", "arguments": {}}</tool_call>"#);
    assert_eq!(got, [Item::call("add", "{}")]);
}

#[test]
fn an_end_marker_inside_a_string_is_text() {
    let arguments = r#"{"html": "a</tool_call>b", "quote": "\"</tool_call>\\"}"#;
    let got = turn(&format!(r#"<tool_call>{{"name": "add", "arguments": {arguments}}}</tool_call>ok"#));
    assert_eq!(got, [Item::call("add", arguments), Item::message("ok")]);
}

#[test]
fn every_other_marker_inside_a_string_is_text_too() {
    let arguments = r#"{"template": "<|im_start|>user\n<think></think><tool_call>"}"#;
    let got = turn(&format!(r#"<tool_call>{{"arguments": {arguments}, "name": "add"}}</tool_call>"#));
    assert_eq!(got, [Item::call("add", arguments)]);
}

#[test]
fn brackets_and_quotes_inside_strings_do_not_count() {
    let arguments = r#"{"code": "}]{[\"}\\", "n": 1}"#;
    let got = turn(&format!(r#"<tool_call>{{"name": "add", "arguments": {arguments}}}</tool_call>"#));
    assert_eq!(got, [Item::call("add", arguments)]);
}

#[test]
fn arguments_given_as_a_string_are_decoded() {
    let inside = r#"{\"city\": \"Z\u00fcrich \ud83d\ude00\", \"path\": \"a\\\\b\"}"#;
    let decoded = r#"{"city": "Zürich 😀", "path": "a\\b"}"#;
    let first = format!(r#"<tool_call>{{"name": "add", "arguments": "{inside}"}}</tool_call>"#);
    let last = format!(r#"<tool_call>{{"arguments": "{inside}", "name": "add"}}</tool_call>"#);
    assert_eq!(turn(&(first + &last)), [Item::call("add", decoded), Item::call("add", decoded)]);
}

#[test]
fn missing_arguments_are_an_empty_object() {
    let empty = Item::call("add", "{}");
    assert_eq!(turn(r#"<tool_call>{"name": "add"}</tool_call>"#), std::slice::from_ref(&empty));
    assert_eq!(
        turn(r#"<tool_call>{"name": "add", "arguments": null}</tool_call>"#),
        std::slice::from_ref(&empty)
    );
    assert_eq!(
        turn(r#"<tool_call>{"name": "add", "arguments": ""}</tool_call>"#),
        std::slice::from_ref(&empty)
    );
    assert_eq!(turn(r#"<tool_call>{"arguments": null, "name": "add"}</tool_call>"#), [empty]);
}

#[test]
fn a_name_may_be_spelt_with_escapes() {
    assert_eq!(turn(r#"<tool_call>{"name": "\u0061dd"}</tool_call>"#), [Item::call("add", "{}")]);
}

#[test]
fn a_name_that_is_not_declared_is_handed_on_as_written() {
    let got = turn(r#"<tool_call>{"name": "ma\u006be.it-so", "arguments": {}}</tool_call>"#);
    assert_eq!(got, [Item::call(r"ma\u006be.it-so", "{}")]);
    let last = turn(r#"<tool_call>{"arguments": {}, "name": "unheard_of"}</tool_call>"#);
    assert_eq!(last, [Item::call("unheard_of", "{}")]);
}

#[test]
fn without_tools_a_call_is_text() {
    let got = items(&request(&[]), "", &format!("Like this: {WEATHER}"), Stop);
    assert_eq!(got, [Item::message(format!("Like this: {WEATHER}"))]);
    let thinking = items(&request(&[]), "<think>\n", &format!("{WEATHER}</think>Yes."), Stop);
    assert_eq!(thinking, [Item::reasoning(WEATHER), Item::message("Yes.")]);
}

#[test]
fn with_tool_choice_none_a_call_is_text() {
    let request = parser_sdk::Request { tool_choice: ToolChoice::None, ..tools() };
    assert_eq!(items(&request, "", WEATHER, Stop), [Item::message(WEATHER)]);
}

#[test]
fn a_call_begun_by_the_prompt_is_where_the_output_begins() {
    let prompt = "<|im_start|>assistant\n<tool_call>\n{\"name\": \"add\", \"arguments\": ";
    assert_eq!(
        items(&tools(), prompt, "{\"a\": 1}}\n</tool_call>", Stop),
        [Item::call("add", r#"{"a": 1}"#)]
    );
}

#[test]
fn a_complete_call_needs_no_end_marker() {
    let whole = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}";
    for reason in [Stop, Length, Cancelled] {
        assert_eq!(items(&tools(), "", whole, reason), [Item::call("add", r#"{"a": 1}"#)]);
    }
    let without_last_brace = &whole[..whole.len() - 1];
    assert_eq!(items(&tools(), "", without_last_brace, Stop), [Item::call("add", r#"{"a": 1}"#)]);
    assert_eq!(turn(&format!("{without_last_brace}<|im_end|>")), [Item::call("add", r#"{"a": 1}"#)]);
}

#[test]
fn an_unclosed_call_is_incomplete() {
    let cut = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": [1, 2";
    let expected = Item::call("add", "{\"a\": [1, 2").incomplete();
    assert_eq!(items(&tools(), "", cut, Stop), std::slice::from_ref(&expected));
    assert_eq!(items(&tools(), "", cut, Length), std::slice::from_ref(&expected));
    assert_eq!(turn(&format!("{cut}<|im_end|>")), [expected]);
}
