//! What the framing is judged by, and that a checker goes on after a violation.

use super::{Rule, StreamCheck, Violation, protocol_of};
use crate::Protocol;

fn chunk(delta: &str, reason: &str) -> String {
    format!(
        "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
         \"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{reason}}}]}}\n\n"
    )
}

fn whole() -> [String; 4] {
    [
        chunk(r#"{"role":"assistant","content":""}"#, "null"),
        chunk(r#"{"content":"a"}"#, "null"),
        chunk("{}", "\"stop\""),
        "data: [DONE]\n\n".to_owned(),
    ]
}

fn violations(stream: &str) -> Vec<Violation> {
    let mut check = StreamCheck::new(Protocol::Chat);
    check.read(stream.as_bytes()).into_iter().chain(check.missing()).collect()
}

fn places(stream: &str) -> Vec<(usize, u64, Rule)> {
    violations(stream).iter().map(|found| (found.line, found.event, found.rule)).collect()
}

#[test]
fn violations_have_their_line_event_and_rule() {
    let [first, second, third, done] = whole();
    assert_eq!(places(&[first.as_str(), &second, &third, &done].concat()), []);
    let [loose, unknown] = [second.replace("data: ", "data:"), third.replace("stop", "halt")];
    let spoilt = [": a comment\n\n", &first, &loose, "data: {\n\n", &unknown, &done, &second].concat();
    let expected = [
        (5, 1, Rule::Framing),
        (7, 2, Rule::Framing),
        (9, 3, Rule::Vocabulary),
        (13, 5, Rule::Framing),
        (13, 5, Rule::Lifecycle),
    ];
    assert_eq!(places(&spoilt), expected);
}

#[test]
fn ends_that_are_left_out_are_named() {
    let [first, second, third, done] = whole();
    let what = |parts: &[&str]| -> Vec<String> {
        violations(&parts.concat()).into_iter().map(|found| found.what).collect()
    };
    assert_eq!(what(&[&first, &second, &third]), ["[DONE] is missing at the end"]);
    let finish = "the stream ends, but the chunk with the finish_reason of choice 0 is missing";
    assert_eq!(what(&[&first, &second, &done]), [finish]);
    assert_eq!(
        what(&[&first, &third, done.trim_end()]),
        ["the last event is cut off: no empty line after it"]
    );
}

#[test]
fn other_line_ends_and_bytes_are_one_violation_each() {
    let stream = whole().concat();
    assert_eq!(places(&stream.replace('\n', "\r\n")), [(1, 0, Rule::Framing)]);
    let mut bytes = stream.into_bytes();
    let at = bytes.windows(3).position(|part| part == b"\"a\"").unwrap();
    bytes[at + 1] = 0xff;
    let found = StreamCheck::new(Protocol::Chat).read(&bytes);
    assert_eq!(found.iter().map(|found| (found.line, found.rule)).collect::<Vec<_>>(), [(3, Rule::Framing)]);
}

#[test]
fn a_stream_tells_its_protocol_however_it_is_framed() {
    let events = [
        (r#"{"object":"chat.completion.chunk"}"#, Some(Protocol::Chat)),
        (r#"{"object":"text_completion"}"#, Some(Protocol::Completions)),
        (r#"{"type":"response.created"}"#, Some(Protocol::Responses)),
        (r#"{"type":"message_start"}"#, Some(Protocol::Messages)),
        (r#"{"type":"error"}"#, None),
    ];
    for (data, protocol) in events {
        for stream in [format!(": hi\n\ndata: {data}\n\n"), format!("data:{data}\r\n\r\n")] {
            assert_eq!(protocol_of(stream.as_bytes()), protocol, "{stream}");
        }
    }
}
