//! Answers of Messages: some compared with files byte for byte. For random turns, the stream keeps
//! its grammar, its deltas add up to its blocks, and it agrees with the body.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::goldens::{compare, failed_turn, failure, long_turn, truncated_turn};
use super::random_turns::{cut_finely, events, turns};
use super::{Item, Turn, call, item, machine, message};
use crate::event_buffer::EventBuffer;
use crate::messages;
use contract::Payload;
use turn::{ItemHead, Phase, TurnEnd};

/// An answer: stream, status, body.
type Answer = (String, u16, Value);

fn run(turn: &Turn, max_tokens: u32, stop: Option<&str>, buffer: EventBuffer, heartbeat: usize) -> Answer {
    let messages = json!([{ "role": "user", "content": "Weather?" }]);
    let request =
        json!({ "model": "qwen3-tiny", "max_tokens": max_tokens, "messages": messages, "stream": true });
    let mut machine = machine(messages::read, &request);
    machine.accepted("req_1", turn.usage.input_tokens);
    if let Some(stop) = stop {
        machine.stopped_by(stop);
    }
    turn.run(&mut *machine, buffer, heartbeat)
}

/// Compares stream and body with the files `messages-NAME.sse` and `.json`.
fn golden(name: &str, max_tokens: u32, stop: Option<&str>, items: Vec<Item>, end: TurnEnd) {
    let turn = Turn::new(items, end);
    let (stream, status, json) = run(&turn, max_tokens, stop, EventBuffer::new(), 3);
    messages::validator::check_sse(stream.as_bytes()).unwrap_or_else(|what| panic!("{what}\n{stream}"));
    compare(&format!("messages-{name}.sse"), &stream);
    compare(&format!("messages-{name}.json"), &format!("{status}\n{json:#}\n"));
    assert_eq!(run(&turn, max_tokens, stop, EventBuffer::discarding(), 3), (String::new(), status, json));
}

#[test]
fn thinking_text_and_tools_in_turn() {
    golden("long", 100, None, long_turn(), TurnEnd::Completed);
}

#[test]
fn cut_off_by_the_token_limit() {
    golden("truncated", 12, None, truncated_turn(), TurnEnd::MaxOutputTokens);
}

#[test]
fn cut_off_by_the_end_of_the_context() {
    golden("context", 100, None, truncated_turn(), TurnEnd::MaxOutputTokens);
}

#[test]
fn cut_off_in_a_call() {
    golden("cut-call", 12, None, failed_turn(), TurnEnd::MaxOutputTokens);
}

#[test]
fn stopped_by_a_stop_sequence() {
    golden("stop", 100, Some("END"), vec![message(Phase::Final, &["One."])], TurnEnd::Completed);
}

#[test]
fn failed_in_a_call_ends_with_an_error() {
    golden("failed", 100, None, failed_turn(), failure());
}

#[test]
fn arguments_that_are_no_json_fail_before_being_sent() {
    let items = vec![
        message(Phase::Commentary, &["I look."]),
        call("call_a", "get_weather", &["{", "\"city\": ", "Oslo}"]),
        call("call_b", "get_weather", &["{}"]),
    ];
    golden("malformed", 100, None, items, TurnEnd::Completed);
    for arguments in ["[1]", "12", "{\"a\": 1", "{} {}"] {
        let turn = Turn::new(vec![call("call_a", "f", &[arguments])], TurnEnd::Completed);
        let (stream, _, _) = run(&turn, 100, None, EventBuffer::new(), 3);
        messages::validator::check_sse(stream.as_bytes()).unwrap_or_else(|what| panic!("{what}\n{stream}"));
        let last = events(&stream).pop().unwrap();
        assert_eq!(last["error"]["type"], "api_error", "{arguments}: {last}");
        assert_eq!(run(&turn, 100, None, EventBuffer::discarding(), 3).1, 500, "{arguments}");
    }
}

#[test]
fn cancelled_ends_with_an_error() {
    golden("cancelled", 100, None, truncated_turn(), TurnEnd::Cancelled);
}

#[test]
fn saying_nothing() {
    golden("empty", 100, None, vec![], TurnEnd::Completed);
}

#[test]
fn a_call_without_arguments_has_an_empty_object() {
    golden("no-arguments", 100, None, vec![call("call_a", "now", &[])], TurnEnd::Completed);
}

#[test]
fn text_of_a_custom_tool_is_the_string_input() {
    let head =
        ItemHead::ToolCall { call_id: "call_c".into(), name: "apply_patch".into(), payload: Payload::Text };
    golden("custom", 100, None, vec![item(head, &["*** \"Begin", "\" Patch\n"])], TurnEnd::Completed);
}

/// The message that a client puts together from events.
fn fold(events: &[Value]) -> Value {
    let mut message = events[0]["message"].clone();
    let mut inputs: Vec<String> = Vec::new();
    for event in events {
        let index = event["index"].as_u64().map_or(0, |index| usize::try_from(index).unwrap());
        match event["type"].as_str().unwrap() {
            "content_block_start" => {
                message["content"].as_array_mut().unwrap().push(event["content_block"].clone());
                inputs.push(String::new());
            }
            "content_block_delta" => {
                let delta = event["delta"].as_object().unwrap();
                let (field, more) = delta.iter().find(|(field, _)| *field != "type").unwrap();
                let more = more.as_str().unwrap();
                if field == "partial_json" {
                    inputs[index] += more;
                } else {
                    let block = &mut message["content"][index];
                    block[field] = json!(format!("{}{more}", block[field].as_str().unwrap()));
                }
            }
            "content_block_stop" if message["content"][index]["type"] == "tool_use" => {
                // Input that was cut off is no JSON.
                message["content"][index]["input"] =
                    serde_json::from_str(&inputs[index]).unwrap_or(json!({}));
            }
            "message_delta" => {
                message["usage"] = event["usage"].clone();
                message["stop_reason"] = event["delta"]["stop_reason"].clone();
                message["stop_sequence"] = event["delta"]["stop_sequence"].clone();
            }
            _ => {}
        }
    }
    message
}

proptest! {
    #[test]
    fn streams_are_valid_and_add_up_to_the_body(turn in turns(), stopped: bool, max_tokens in 1_u32..20, heartbeat in 0..20_usize) {
        let stop = stopped.then_some("END");
        let (stream, status, body) = run(&turn, max_tokens, stop, EventBuffer::new(), heartbeat);
        messages::validator::check_sse(stream.as_bytes()).map_err(|what| TestCaseError::fail(what.to_string()))?;
        let events = events(&stream);
        if status == 200 {
            prop_assert_eq!(fold(&events), body.clone());
        } else {
            let error = events.last().unwrap();
            prop_assert_eq!((&error["error"], &error["request_id"]), (&body["error"], &body["request_id"]));
        }
        prop_assert_eq!(run(&turn, max_tokens, stop, EventBuffer::discarding(), 0), (String::new(), status, body));
    }

    #[test]
    fn answers_are_the_same_however_the_text_is_cut(turn in turns()) {
        let (_, status, body) = run(&turn, 5, None, EventBuffer::new(), 0);
        let (fine, fine_status, fine_body) = run(&cut_finely(&turn), 5, None, EventBuffer::new(), 0);
        prop_assert_eq!((status, body), (fine_status, fine_body));
        messages::validator::check_sse(fine.as_bytes()).map_err(|what| TestCaseError::fail(what.to_string()))?;
    }
}
