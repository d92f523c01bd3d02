//! A good stream passes; streams with an event that is missing, repeated, swapped or spoilt don't.

use serde_json::{Value, json};

use super::check_sse;
use crate::Protocol;
use crate::stream_check::Violation;

fn good() -> Vec<Value> {
    let usage = json!({ "input_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 2 });
    let begin = |index: u64, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
    let more =
        |index: u64, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    let end = |index: u64| json!({ "type": "content_block_stop", "index": index });
    vec![
        json!({ "type": "message_start", "message": { "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage } }),
        json!({ "type": "ping" }),
        begin(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
        more(0, json!({ "type": "thinking_delta", "thinking": "a" })),
        more(0, json!({ "type": "signature_delta", "signature": "s" })),
        end(0),
        begin(1, json!({ "type": "text", "text": "" })),
        more(1, json!({ "type": "text_delta", "text": "b" })),
        end(1),
        begin(2, json!({ "type": "tool_use", "id": "c", "name": "f", "input": {} })),
        more(2, json!({ "type": "input_json_delta", "partial_json": "{}" })),
        end(2),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use", "stop_sequence": null }, "usage": usage }),
        json!({ "type": "message_stop" }),
    ]
}

fn check(events: &[Value]) -> Result<(), Violation> {
    check_sse(events.iter().map(encoded).collect::<String>().as_bytes())
}

fn encoded(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
}

/// Events that may come any number of times: ping, and deltas of text and input.
const LOOSE: [usize; 4] = [1, 3, 7, 10];

#[test]
fn good_streams_pass_and_so_do_those_ending_in_error() {
    check(&good()).unwrap();
    let error = json!({ "type": "error", "error": { "type": "api_error", "message": "m" } });
    check(&[&good()[..6], &[error]].concat()).unwrap();
}

#[test]
fn missing_repeated_and_swapped_events_are_noticed() {
    let good = good();
    for at in 0..good.len() {
        if !LOOSE.contains(&at) {
            let mut events = good.clone();
            events.remove(at);
            assert!(check(&events).is_err(), "without {at}");
            events = good.clone();
            events.insert(at, good[at].clone());
            assert!(check(&events).is_err(), "{at} twice");
        }
        if at + 1 < good.len() && at != 1 {
            let mut events = good.clone();
            events.swap(at, at + 1);
            assert!(check(&events).is_err(), "{at} swapped");
        }
    }
    for end in 0..good.len() {
        assert!(check(&good[..end]).is_err(), "cut before {end}");
    }
}

#[test]
fn missing_event_is_named_once_and_nothing_else() {
    let good = good();
    for at in (0..good.len()).filter(|at| !LOOSE.contains(at)) {
        let mut events = good.clone();
        let left_out = events.remove(at);
        let stream: String = events.iter().map(encoded).collect();
        let mut check = Protocol::Messages.check();
        let found: Vec<_> = check.read(stream.as_bytes()).into_iter().chain(check.missing()).collect();
        // The signature has no event of its own type.
        let name = if at == 4 { "signature" } else { left_out["type"].as_str().unwrap() };
        let [violation] = &found[..] else { panic!("without {at}, {name}: {found:#?}") };
        assert!(violation.what.contains(name), "{name}: {violation}");
    }
}

#[test]
fn spoilt_fields_are_noticed() {
    for (at, pointer, value) in [
        (0, "/message/id", json!("")),
        (0, "/message/role", json!("user")),
        (0, "/message/content", json!([{}])),
        (0, "/message/stop_reason", json!("end_turn")),
        (0, "/message/usage/input_tokens", Value::Null),
        (2, "/index", json!(1)),
        (2, "/content_block/type", json!("hologram")),
        (3, "/index", json!(1)),
        (3, "/delta/type", json!("text_delta")),
        (4, "/delta/signature", json!("")),
        (6, "/content_block/text", json!("early")),
        (7, "/delta/text", json!("")),
        (8, "/index", json!(0)),
        (9, "/content_block/id", json!("")),
        (9, "/content_block/input", json!({ "a": 1 })),
        (10, "/delta/partial_json", json!({})),
        (12, "/delta/stop_reason", json!("end_turn")),
        (12, "/delta/stop_reason", Value::Null),
        (12, "/delta/stop_sequence", json!("END")),
        (12, "/usage/output_tokens", json!("2")),
        (13, "/type", json!("message_halt")),
    ] {
        let mut events = good();
        *events[at].pointer_mut(pointer).unwrap() = value;
        assert!(check(&events).is_err(), "{pointer} of {at}");
    }
    let error = json!({ "type": "error", "error": { "type": "odd", "message": "m" } });
    assert!(check(&[&good()[..1], &[error]].concat()).is_err());
    assert!(check_sse(b"data: {\"type\":\"ping\"}\n\n").is_err());
}
