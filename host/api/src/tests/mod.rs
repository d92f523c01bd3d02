//! Tests of the protocols as the transport sees them: bodies in, streams and bodies out.

mod agents;
mod answers;
mod chat_choices;
mod chat_requests;
mod compaction;
mod completions;
mod configuration;
mod constraints;
mod fold;
mod goldens;
mod hosted;
mod input_shapes;
mod layers;
mod messages_input;
mod messages_requests;
mod messages_turns;
mod nul;
mod random_turns;
mod responses_requests;
mod thinking;
mod tokenize;
mod tools;
mod typed;

use std::sync::Arc;

use bytes::BytesMut;
use serde_json::Value;

use super::error::ApiError;
use super::event_buffer::EventBuffer;
use super::frames::Frames;
use super::ids::{Clock, Ids};
use super::machine::Machine;
use super::messages::THINKING;
use super::request::{ApiRequest, Defaults, ReadRequest, read_body};
use super::seal::{KEY_BYTES, Seal};
use contract::Payload;
use model::{Job, RawTurn};
use turn::{
    Delta, DeltaToken, ItemHead, ItemStatus, Phase, TokenLogprob, TokenLogprobs, TurnEnd, TurnEvent, Usage,
};

/// All events of a turn, and its end.
#[derive(Debug, Clone)]
struct Turn {
    events: Vec<TurnEvent>,
    end: TurnEnd,
    usage: Usage,
    raw: Option<RawTurn>,
}

/// An item of a turn: head, pieces of its text, status.
type Item = (ItemHead, Vec<String>, ItemStatus);

impl Turn {
    fn new(items: Vec<Item>, end: TurnEnd) -> Self {
        let mut events = Vec::new();
        for (head, texts, status) in items {
            events.push(TurnEvent::Open(head));
            events.extend(texts.into_iter().map(|text| TurnEvent::Text(text.into())));
            events.push(TurnEvent::Close(status));
        }
        let usage = Usage { input_tokens: 20, cached_tokens: 5, output_tokens: 12, reasoning_tokens: 4 };
        Self { events, end, usage, raw: None }
    }

    /// Hands the turn to a machine, with a heartbeat after the event `heartbeat_after`, from 0.
    /// Returns stream, status and body.
    fn run(
        &self,
        machine: &mut dyn Machine,
        mut buffer: EventBuffer,
        heartbeat_after: usize,
    ) -> (String, u16, Value) {
        machine.begin(&mut buffer);
        for (number, event) in self.events.iter().enumerate() {
            machine.turn(event, &mut buffer);
            if number == heartbeat_after {
                machine.heartbeat(&mut buffer);
            }
        }
        if let Some(raw) = &self.raw {
            machine.raw(raw.clone());
        }
        machine.end(&self.end, self.usage, &mut buffer);
        let (status, body) = machine.body();
        let stream = sse_of(machine, &buffer);
        (stream, status, serde_json::from_str(&body).unwrap())
    }
}

/// The events as the protocol's stream.
fn sse_of(machine: &dyn Machine, events: &EventBuffer) -> String {
    let mut stream = BytesMut::new();
    let mut frames = Frames::with_seed(machine.has_done(), 1);
    frames.events(events, &mut stream);
    if !events.is_empty() {
        frames.end(&mut stream);
    }
    String::from_utf8(stream.into()).unwrap()
}

/// Gives each text of a turn's messages one token with log-probabilities.
fn give_logprobs(turn: &mut Turn) {
    let mut in_message = false;
    for event in &mut turn.events {
        match event {
            TurnEvent::Open(head) => in_message = matches!(head, ItemHead::Message { .. }),
            TurnEvent::Text(delta) if in_message => *delta = with_token(&delta.text),
            _ => {}
        }
    }
}

/// A text of one token, with one alternative.
fn with_token(text: &str) -> Delta {
    let token = |bytes: &[u8], logprob| TokenLogprob { id: 1, bytes: bytes.to_vec(), logprob };
    let chosen = token(text.as_bytes(), -0.25);
    let top = vec![chosen.clone(), token(b"\xf0\x9f", f32::NEG_INFINITY)];
    let logprobs = Arc::new(TokenLogprobs { chosen, top });
    Delta { text: text.into(), tokens: vec![DeltaToken { offset: 0, logprobs }] }
}

/// Default settings with fixed keys.
fn defaults() -> Defaults {
    Defaults { seal: Seal::new(&[[7; KEY_BYTES]]), ..Defaults::default() }
}

/// The signature of thinking as Messages has it.
fn sign(thinking: &str) -> String {
    defaults().seal.sign(THINKING, thinking)
}

/// Reads a body with `call`.
fn read(call: ReadRequest, body: &[u8], defaults: &Defaults, now: &Clock) -> Result<ApiRequest, ApiError> {
    read_body(body, &defaults.limits, |body| call(body, defaults, Ids::counted(), now))
}

/// The machine that answers a request.
fn machine(call: ReadRequest, body: &Value) -> Box<dyn Machine> {
    let call = read(call, body.to_string().as_bytes(), &defaults(), &Clock::at(1_700_000_000_000));
    call.unwrap_or_else(|error| panic!("{error}")).machine
}

/// The job of a request, and the warnings.
fn job(call: ReadRequest, body: &Value) -> (Job, Vec<String>) {
    let call = read(call, body.to_string().as_bytes(), &defaults(), &Clock::at(0));
    let call = call.unwrap_or_else(|error| panic!("{error}"));
    (call.job, call.warnings)
}

/// The refusal of a request.
fn refusal(call: ReadRequest, body: &Value) -> ApiError {
    match read(call, body.to_string().as_bytes(), &defaults(), &Clock::at(0)) {
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

#[test]
fn a_message_that_quotes_the_request_is_cut() {
    let error = ApiError::invalid("ü".repeat(1 << 20), "ü".repeat(1 << 20));
    assert!(error.body().len() < 4096, "{} bytes", error.body().len());
    let error = ApiError::internal("ü".repeat(1 << 20)).into_failure();
    assert_eq!(error.message.len(), net::printable::MESSAGE_BYTES + "…".len());
}
