//! Trace of one turn, step by step: input, calls of the parser with their answers, and the events that followed.

use serde_json::Value;

use super::call_log::{CallLog, ParserCall};
use super::play::{Outcome, Session};
use super::protocols::machine;
use super::recording::Recording;
use crate::api::Protocol;
use crate::api::event_buffer::EventBuffer;
use turn::{TurnEvent, TurnEvents, Usage};

/// One step of the engine.
#[derive(Debug, Clone, Default)]
pub struct TracedStep {
    /// Input of the step: text, with the index of the marker where it is one as a token. Empty in the last step.
    pub came: Vec<(Option<u32>, String)>,
    /// Calls of the parser with their answers; empty where an earlier answer, such as `until-marker`, routes the text by itself.
    pub calls: Vec<ParserCall>,
    /// Events of the turn.
    pub events: Vec<TurnEvent>,
    /// The same events as the protocol sends them, if one was asked for.
    pub frames: Vec<Value>,
}

/// Plays a case in its own chunks. The first step is the generation prompt, the last one the end.
pub fn trace(recording: &Recording, protocol: Option<Protocol>) -> (Vec<TracedStep>, Outcome) {
    let Recording { subject, request, prompt, tape, .. } = recording;
    let mut machine = protocol.map(machine);
    let mut buffer = EventBuffer::new();
    if let Some(machine) = &mut machine {
        machine.begin(&mut buffer);
    }
    let log = CallLog::default();
    let (mut events, mut all) = (TurnEvents::default(), TurnEvents::default());
    let mut steps = Vec::new();
    let mut tell = |came: Vec<(Option<u32>, String)>, events: &mut TurnEvents, buffer: &mut EventBuffer| {
        if let Some(machine) = &mut machine {
            for event in events.iter() {
                machine.turn(event, buffer);
            }
        }
        let step =
            TracedStep { came, calls: log.take(), events: events.to_vec(), frames: take_events(buffer) };
        all.extend(events.drain());
        steps.push(step);
    };
    let mut session = Session::start(subject, request, prompt, tape, Some(&log), &mut events);
    tell(owned(&prompt.pieces(0..prompt.len())), &mut events, &mut buffer);
    for atoms in tape.groups(&recording.cuts) {
        let pieces = tape.pieces(atoms);
        session.step(&pieces, &mut events);
        tell(owned(&pieces), &mut events, &mut buffer);
    }
    let before = all.len();
    let outcome = session.finish(recording.finish, None, all);
    if let Some(machine) = &mut machine {
        for event in &outcome.events[before..] {
            machine.turn(event, &mut buffer);
        }
        machine.end(&outcome.end, Usage::default(), &mut buffer);
    }
    steps.push(TracedStep {
        came: Vec::new(),
        calls: log.take(),
        events: outcome.events[before..].to_vec(),
        frames: take_events(&mut buffer),
    });
    (steps, outcome)
}

fn take_events(buffer: &mut EventBuffer) -> Vec<Value> {
    let taken =
        buffer.iter().map(|(_, json)| serde_json::from_slice(json).expect("events are JSON")).collect();
    buffer.clear();
    taken
}

fn owned(pieces: &[turn::TokenText<'_>]) -> Vec<(Option<u32>, String)> {
    pieces.iter().map(|piece| (piece.id, piece.text.to_owned())).collect()
}
