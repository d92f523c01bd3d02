//! Tests of the protocols as the transport sees them: bodies in, streams and bodies out.

mod chat_requests;
mod goldens;
mod input_shapes;
mod random_turns;
mod responses_requests;

use serde_json::Value;

use super::error::ApiError;
use super::frames::Frames;
use super::ids::Ids;
use super::machine::Machine;
use super::request::{Defaults, ReadCall};
use crate::model::Job;
use crate::parser::contract::{Payload, Phase};
use crate::turn::{ItemHead, ItemStatus, TurnEnd, TurnEvent, Usage};

/// A turn from beginning to end.
#[derive(Debug, Clone)]
struct Turn {
    events: Vec<TurnEvent>,
    end: TurnEnd,
    usage: Usage,
}

/// An item of a turn.
type Item = (ItemHead, Vec<String>, ItemStatus);

impl Turn {
    fn new(items: Vec<Item>, end: TurnEnd) -> Self {
        let mut events = Vec::new();
        for (head, texts, status) in items {
            events.push(TurnEvent::Open(head));
            events.extend(texts.into_iter().map(TurnEvent::Text));
            events.push(TurnEvent::Close(status));
        }
        let usage = Usage { input_tokens: 20, cached_tokens: 5, output_tokens: 12, reasoning_tokens: 4 };
        Self { events, end, usage }
    }

    /// Through a machine; `heartbeat_after`: one comes after so many events.
    fn run(
        &self,
        machine: &mut dyn Machine,
        mut frames: Frames,
        heartbeat_after: usize,
    ) -> (String, u16, Value) {
        machine.begin(&mut frames);
        for (number, event) in self.events.iter().enumerate() {
            machine.turn(event, &mut frames);
            if number == heartbeat_after {
                machine.heartbeat(&mut frames);
            }
        }
        machine.end(&self.end, self.usage, &mut frames);
        let (status, body) = machine.body();
        let stream = String::from_utf8(frames.take().to_vec()).unwrap();
        (stream, status, serde_json::from_str(&body).unwrap())
    }
}

/// The machine that a request leads to.
fn machine(read: ReadCall, body: &Value) -> Box<dyn Machine> {
    let call = read(body.to_string().as_bytes(), &Defaults::default(), Ids::counted(), || 1_700_000_000);
    call.unwrap_or_else(|error| panic!("{error}")).machine
}

/// The job that a request leads to, and the warnings.
fn job(read: ReadCall, body: &Value) -> (Job, Vec<String>) {
    let call = read(body.to_string().as_bytes(), &Defaults::default(), Ids::counted(), || 0);
    let call = call.unwrap_or_else(|error| panic!("{error}"));
    (call.job, call.warnings)
}

/// How a request is refused.
fn refusal(read: ReadCall, body: &Value) -> ApiError {
    match read(body.to_string().as_bytes(), &Defaults::default(), Ids::counted(), || 0) {
        Ok(_) => panic!("not refused: {body}"),
        Err(error) => error,
    }
}

fn reasoning(texts: &[&str]) -> Item {
    item(ItemHead::Reasoning, texts)
}

fn message(phase: Phase, texts: &[&str]) -> Item {
    item(ItemHead::Message { phase }, texts)
}

fn call(id: &str, name: &str, texts: &[&str]) -> Item {
    let (call_id, name) = (id.to_owned(), name.to_owned());
    item(ItemHead::ToolCall { call_id, name, payload: Payload::Json }, texts)
}

fn item(head: ItemHead, texts: &[&str]) -> Item {
    (head, texts.iter().map(|text| (*text).to_owned()).collect(), ItemStatus::Completed)
}

fn cut((head, texts, _): Item) -> Item {
    (head, texts, ItemStatus::Incomplete)
}
