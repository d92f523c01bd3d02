//! A turn as a stream of each protocol: the server's own machines and validators, with ids and
//! times that are the same in every run.

use bytes::BytesMut;
use serde_json::Value;

use super::event_buffer::EventBuffer;
use super::frames::Frames;
use super::ids::{Clock, Ids};
use super::machine::Machine;
use super::request::ReadRequest;
use super::{Defaults, Protocol, chat, completions, messages, read_body, responses, sse};
use turn::{TurnEnd, TurnEvent, Usage};

const RESPONSES_BODY: &[u8] =
    br#"{"model": "case", "input": "x", "stream": true, "stream_options": {"include_obfuscation": false}}"#;
const CHAT_BODY: &[u8] =
    br#"{"model": "case", "messages": [{"role": "user", "content": "x"}], "stream": true}"#;
const MESSAGES_BODY: &[u8] = br#"{"model": "case", "max_tokens": 1,
    "messages": [{"role": "user", "content": "x"}], "stream": true}"#;

const COMPLETIONS_BODY: &[u8] = br#"{"model": "case", "prompt": "x", "stream": true}"#;

/// The protocol's machine, made for a small request.
fn machine(protocol: Protocol) -> Box<dyn Machine> {
    let defaults = Defaults::default();
    let (call, body): (ReadRequest, _) = match protocol {
        Protocol::Responses => (responses::read, RESPONSES_BODY),
        Protocol::Chat => (chat::read, CHAT_BODY),
        Protocol::Completions => (completions::read, COMPLETIONS_BODY),
        Protocol::Messages => (messages::read, MESSAGES_BODY),
    };
    read_body(body, &defaults.limits, |body| call(body, &defaults, Ids::counted(), &Clock::at(0)))
        .expect("the request is whole")
        .machine
}

/// Writes a turn as the protocol's stream of server-sent events.
///
/// # Panics
/// Never: events are JSON, as in the functions below.
pub fn stream(protocol: Protocol, events: &[TurnEvent], end: &TurnEnd) -> String {
    let (mut machine, mut buffer) = (machine(protocol), EventBuffer::new());
    machine.begin(&mut buffer);
    for event in events {
        machine.turn(event, &mut buffer);
    }
    machine.end(end, Usage::default(), &mut buffer);
    let (mut frames, mut stream) = (Frames::new(machine.has_done()), BytesMut::new());
    frames.events(&buffer, &mut stream);
    frames.end(&mut stream);
    String::from_utf8(stream.into()).expect("events are JSON")
}

/// The events that the protocol sends for each part of a turn, in order: what comes before the
/// first one is in the first, and what the end adds is in the last.
pub fn frames_of_parts<'a>(
    protocol: Protocol,
    parts: impl IntoIterator<Item = &'a [TurnEvent]>,
    end: &TurnEnd,
) -> Vec<Vec<Value>> {
    let (mut machine, mut buffer) = (machine(protocol), EventBuffer::new());
    machine.begin(&mut buffer);
    let mut parts = parts.into_iter().peekable();
    let mut frames = Vec::new();
    while let Some(part) = parts.next() {
        for event in part {
            machine.turn(event, &mut buffer);
        }
        if parts.peek().is_none() {
            machine.end(end, Usage::default(), &mut buffer);
        }
        let events = buffer.iter().map(|(_, json)| serde_json::from_slice(json).expect("events are JSON"));
        frames.push(events.collect());
        buffer.clear();
    }
    frames
}

/// Parses the events of such a stream as JSON, without `[DONE]`.
pub fn as_values(stream: &str) -> Vec<Value> {
    let events = sse::events(stream.as_bytes()).expect("our own stream");
    let data = events.iter().map(|event| event.data).filter(|data| *data != "[DONE]");
    data.map(|data| serde_json::from_str(data).expect("our own stream")).collect()
}

/// Checks that the turn makes a valid stream of every protocol.
///
/// # Errors
/// What is wrong in which protocol's stream.
pub fn check(events: &[TurnEvent], end: &TurnEnd) -> Result<(), String> {
    for protocol in Protocol::ALL {
        let mut check = protocol.check();
        let stream = stream(protocol, events, end);
        let checked = check.feed(stream.as_bytes()).and_then(|()| check.finish());
        checked.map_err(|what| format!("its {} stream is invalid: {what}", protocol.name()))?;
    }
    Ok(())
}
