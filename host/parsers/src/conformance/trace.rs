//! Trace of one turn, step by step: input, calls of the parser with their answers, and the events
//! that followed.

use super::play::{Outcome, Session};
use super::recording::Recording;
use crate::trace::{CallLog, ParserCall};
use turn::{TurnEvent, TurnEvents};

/// One step of the engine.
#[derive(Debug, Clone, Default)]
pub struct TracedStep {
    /// Input of the step: text, with the index of the marker where it is one as a token. Empty in
    /// the last step.
    pub came: Vec<(Option<u32>, String)>,
    /// Calls of the parser with their answers; empty where an earlier answer, such as
    /// `until-marker`, routes the text by itself.
    pub calls: Vec<ParserCall>,
    /// Events of the turn.
    pub events: Vec<TurnEvent>,
}

/// Plays a case in its own chunks. The first step is the generation prompt, the last one the end.
pub fn trace(recording: &Recording) -> (Vec<TracedStep>, Outcome) {
    let Recording { subject, request, prompt, tape, .. } = recording;
    let log = CallLog::default();
    let (mut events, mut all) = (TurnEvents::default(), TurnEvents::default());
    let mut steps = Vec::new();
    let mut tell = |came: Vec<(Option<u32>, String)>, events: &mut TurnEvents| {
        steps.push(TracedStep { came, calls: log.take(), events: events.to_vec() });
        all.extend(events.drain());
    };
    let mut session = Session::start(subject, request, prompt, tape, Some(&log), &mut events);
    tell(owned(&prompt.pieces(0..prompt.len())), &mut events);
    for atoms in tape.groups(&recording.cuts) {
        let pieces = tape.pieces(atoms);
        session.step(&pieces, &mut events);
        tell(owned(&pieces), &mut events);
    }
    let before = all.len();
    let outcome = session.finish(recording.finish, None, all);
    let last = outcome.events[before..].to_vec();
    steps.push(TracedStep { came: Vec::new(), calls: log.take(), events: last });
    (steps, outcome)
}

fn owned(pieces: &[turn::TokenText<'_>]) -> Vec<(Option<u32>, String)> {
    pieces.iter().map(|piece| (piece.id, piece.text.to_owned())).collect()
}
