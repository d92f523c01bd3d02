//! Plays one turn to its end through the real [`Turn`].

use parser_kit::Item;
use parser_kit::case::{CaseEnd, CaseItem, CasePayload, CaseStatus};
use serde::de::IgnoredAny;

use super::recording::Recording;
use super::subject::Subject;
use super::tape::Tape;
use crate::FailedParser;
use crate::trace::CallLog;
use contract::{Fault, FinishReason, Request};
use turn::{ByteCounts, Flow, FoldError, ItemHead, TokenText, Turn, TurnEnd, TurnEvent, TurnEvents, fold};

/// Result of a turn.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The turn's items in the types of cases, or what is wrong with its events.
    pub items: Result<Vec<CaseItem>, FoldError>,
    /// How the turn ended.
    pub end: TurnEnd,
    /// Fault of the parser, if it had one.
    pub fault: Option<Fault>,
    /// All events of the turn.
    pub events: Vec<TurnEvent>,
    /// Arguments of each call before the turn was finished.
    pub(super) shown: Vec<String>,
    /// Whether a call inside reasoning was held.
    pub(super) held_draft: bool,
    pub(super) bytes: ByteCounts,
    /// Number of bytes that were fed.
    pub(super) fed: u64,
}

impl Outcome {
    /// How the response of this turn ends.
    pub fn end(&self) -> CaseEnd {
        CaseEnd::of(&self.end)
    }

    /// Why the turn or one of its calls failed, a line each.
    pub fn why(&self) -> Vec<String> {
        let fault = self.fault.as_ref().map(|fault| format!("the parser failed: {}", fault.in_full()));
        let end = match &self.end {
            TurnEnd::Failed(failure) => Some(format!("the response fails: {}", failure.message)),
            _ => None,
        };
        let items = self.items.as_deref().unwrap_or_default().iter().enumerate();
        let calls = items.filter_map(|(index, item)| Some(format!("item {index}: {}", why_broken(item)?)));
        fault.into_iter().chain(end).chain(calls).collect()
    }

    /// Checks that each byte that was fed was routed, dropped or left behind the end exactly once.
    pub(super) fn balance(&self) -> Result<(), String> {
        let ByteCounts { taken, routed, dropped, aside } = self.bytes;
        if taken == self.fed && routed + dropped + aside == taken {
            return Ok(());
        }
        let fed = self.fed;
        Err(format!(
            "{fed} bytes in, {taken} taken, {routed} routed, {dropped} dropped, {aside} behind the end"
        ))
    }

    /// Whether both outcomes have the same items and the same end, and either both or none has a
    /// fault.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        self.items == other.items
            && self.end() == other.end()
            && self.fault.is_some() == other.fault.is_some()
    }
}

/// Why a call can't be run; `None` for calls that can be, and other items.
fn why_broken(item: &CaseItem) -> Option<String> {
    let CaseItem::ToolCall { name, arguments, status, payload } = item else { return None };
    let error = match payload {
        CasePayload::Json => serde_json::from_str::<IgnoredAny>(arguments).err(),
        CasePayload::Text => None,
    };
    match (status, error) {
        (CaseStatus::Completed, None) => None,
        (CaseStatus::Completed, Some(error)) => {
            Some(format!("the call of {name:?} is complete, but its arguments are no JSON: {error}"))
        }
        (CaseStatus::Incomplete, Some(error)) => {
            Some(format!("the call of {name:?} was broken off, its arguments are no whole JSON: {error}"))
        }
        (CaseStatus::Incomplete, None) => Some(format!(
            "the call of {name:?} was broken off behind its arguments: the parser never closed it"
        )),
    }
}

/// A running turn.
pub(super) struct Session {
    turn: Turn,
    fed: u64,
    flow: Flow,
}

impl Session {
    /// Starts a turn and feeds it the generation prompt. With a log, the parser's calls and its use
    /// of resources are recorded.
    pub(super) fn start(
        subject: &Subject,
        request: &Request,
        prompt: &Tape,
        tape: &Tape,
        log: Option<&CallLog>,
        out: &mut TurnEvents,
    ) -> Self {
        let parser = subject.start(request).unwrap_or_else(|fault| Box::new(FailedParser(fault)));
        let parser = match log {
            Some(log) => log.of(parser),
            None => parser,
        };
        let mut turn = Turn::new(subject.binding(tape.mode()), parser, subject.settings(request));
        let pieces = prompt.pieces(0..prompt.len());
        let flow = turn.replay(&pieces, out);
        Self { turn, fed: bytes(&pieces), flow }
    }

    /// Feeds one engine step, unless the turn has ended.
    pub(super) fn step(&mut self, pieces: &[TokenText<'_>], out: &mut TurnEvents) {
        if self.flow == Flow::Continue {
            self.fed += bytes(pieces);
            self.flow = self.turn.step(pieces, out);
        }
    }

    /// Whether the turn has ended by a stop marker or by its parser.
    pub(super) fn is_over(&self) -> bool {
        self.flow == Flow::Stop
    }

    /// Ends the turn. `ended_by` is the token that ended it, if it wasn't fed. A turn that its
    /// parser or a stop marker ended counts as one that the model ended.
    pub(super) fn finish(
        mut self,
        reason: FinishReason,
        ended_by: Option<TokenText<'_>>,
        mut events: TurnEvents,
    ) -> Outcome {
        let shown = arguments(&events);
        let over = self.flow == Flow::Stop;
        let ended_by = ended_by.filter(|_| !over);
        self.fed += ended_by.map_or(0, |piece| piece.text.len() as u64);
        let reason = if over { FinishReason::Stop } else { reason };
        let mut last = TurnEvents::default();
        let end = self.turn.finish(reason, ended_by, &mut last);
        events.extend(last.drain());
        let items = fold(events.iter().cloned());
        Outcome {
            items: items.map(|items| items.into_iter().map(|item| Item::from(item).into()).collect()),
            end,
            fault: self.turn.fault().cloned(),
            shown,
            held_draft: self.turn.held_draft(),
            bytes: self.turn.bytes(),
            fed: self.fed,
            events: events.into_iter().collect(),
        }
    }
}

/// How a played turn ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ending {
    /// The turn ends for this reason after all atoms were fed.
    Reason(FinishReason),
    /// The last group of atoms is the token that ended the turn, which is passed at the end and not
    /// fed.
    LastToken,
}

/// Plays `tape` in steps that are split at `cuts`.
pub(super) fn play(recording: &Recording, tape: &Tape, cuts: &[usize], ending: Ending) -> Outcome {
    let Recording { subject, request, prompt, .. } = recording;
    let mut events = TurnEvents::default();
    let markers = &subject.descriptor().markers;
    let other;
    let prompt = if prompt.mode() == tape.mode() {
        prompt
    } else {
        other = prompt.in_mode(tape.mode(), markers).unwrap_or_else(|| prompt.clone());
        &other
    };
    let mut session = Session::start(subject, request, prompt, tape, None, &mut events);
    let groups = tape.groups(cuts);
    let (last, fed) = match ending {
        Ending::Reason(_) => (None, groups.as_slice()),
        Ending::LastToken => {
            let (last, fed) = groups.split_last().expect("a last token");
            (tape.pieces(last.clone()).pop(), fed)
        }
    };
    for group in fed {
        session.step(&tape.pieces(group.clone()), &mut events);
    }
    let reason = if let Ending::Reason(reason) = ending { reason } else { FinishReason::Stop };
    session.finish(reason, last, events)
}

/// Plays a case in its own chunks.
pub fn play_case(recording: &Recording) -> Outcome {
    play(recording, &recording.tape, &recording.cuts, Ending::Reason(recording.finish))
}

/// Arguments of each call in these events.
fn arguments(events: &[TurnEvent]) -> Vec<String> {
    let mut calls: Vec<String> = Vec::new();
    let mut in_call = false;
    for event in events {
        match event {
            TurnEvent::Open(ItemHead::ToolCall { .. }) => {
                in_call = true;
                calls.push(String::new());
            }
            TurnEvent::Open(_) => in_call = false,
            TurnEvent::Text(text) if in_call => calls.last_mut().expect("it is open").push_str(text),
            _ => {}
        }
    }
    calls
}

fn bytes(pieces: &[TokenText<'_>]) -> u64 {
    pieces.iter().map(|piece| piece.text.len() as u64).sum()
}
