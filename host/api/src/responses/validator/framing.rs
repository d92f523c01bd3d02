//! Tests of the framing: the validator refuses bytes that aren't the strict form of server-sent
//! events.

use serde_json::{Value, json};

use super::samples::{empty, everything};
use super::{Rule, check_sse};
use crate::Protocol;

fn encoded(events: &[Value]) -> Vec<u8> {
    let frame = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    let stream: String = events.iter().map(frame).collect();
    (stream + "data: [DONE]\n\n").into_bytes()
}

#[test]
fn framing_is_checked() {
    let good = encoded(&everything());
    check_sse(&good).unwrap();
    let text = String::from_utf8(good).unwrap();
    let rule = |text: &str| check_sse(text.as_bytes()).map_err(|violation| violation.rule);
    assert_eq!(rule(text.strip_suffix("data: [DONE]\n\n").unwrap()), Err(Rule::Framing));
    assert_eq!(rule(&format!("{text}data: [DONE]\n\n")), Err(Rule::Framing));
    assert_eq!(
        rule(&text.replacen("event: response.created", "event: response.queued", 1)),
        Err(Rule::Framing)
    );
    assert_eq!(rule(&text.replacen("event: response.created\n", "", 1)), Err(Rule::Framing));
    assert_eq!(rule(&text.replace("\n\n", "\r\n\r\n")), Err(Rule::Framing));
    assert_eq!(rule(&format!("data: [DONE]\n\n{text}")), Err(Rule::Lifecycle));
    assert_eq!(rule(&format!(": ping\n\n{text}")), Ok(()));
}

#[test]
fn a_stream_may_be_checked_write_by_write() {
    let mut check = Protocol::Responses.check();
    for event in everything() {
        let whole = encoded(std::slice::from_ref(&event));
        check.feed(whole.strip_suffix(b"data: [DONE]\n\n").unwrap()).unwrap();
    }
    assert!(check.finish().is_err());
    check.feed(b"data: [DONE]\n\n").unwrap();
    check.finish().unwrap();
}

#[test]
fn a_violation_says_where_what_and_which_rule() {
    let mut sample = empty();
    sample[1]["sequence_number"] = json!(0);
    let violation = check_sse(&encoded(&sample)).unwrap_err();
    assert_eq!(
        violation.to_string(),
        "event 1 (response.in_progress), rule Sequence: sequence_number is 0, expected 1"
    );
}
