//! Tests of the turn room. This file holds what they share: scripted parsers, and a turn run to its
//! end.

mod call_ids;
mod draft;
mod fault;
mod finish;
mod logprobs;
mod marker;
mod parameters;
mod property;
mod replay;
mod route;
mod routed;
mod stop;
mod string_marker;

use std::collections::VecDeque;
use std::sync::Arc;

use super::oracle::{binding, bytes, call, failure_code, ids, literals, settings};
use super::{
    AllowedCalls, Binding, DraftCalls, FaultPolicy, Flow, FoldedItem, ItemHead, ItemStatus, Phase,
    TokenCounts, TokenText, Turn, TurnEnd, TurnEvent, TurnEvents, TurnSettings, fold,
};
use contract::{
    Fault, FinishReason, HoldUntil, InString, JsonRest, Op, Payload, Route, Step, StreamParser, Until,
};

/// Parser that answers from a list, one step per call; `hold` when the list is used up.
#[derive(Default)]
struct Scripted(VecDeque<Result<Step, Fault>>);

impl Scripted {
    fn answer(&mut self) -> Result<Step, Fault> {
        self.0.pop_front().unwrap_or(Ok(Step::Hold))
    }
}

impl StreamParser for Scripted {
    fn text(&mut self, chunk: &str) -> Result<Step, Fault> {
        assert!(!chunk.is_empty());
        self.answer()
    }
    fn marker(&mut self, _: u32) -> Result<Step, Fault> {
        self.answer()
    }
    fn finish(&mut self, _: FinishReason) -> Result<Step, Fault> {
        self.answer()
    }
}

/// What a turn is made of beside its parser.
struct Setup {
    binding: Arc<Binding>,
    settings: TurnSettings,
}

impl From<TurnSettings> for Setup {
    fn from(settings: TurnSettings) -> Self {
        Self { binding: binding(false, false), settings }
    }
}

/// A setup that drops white space at the ends of items.
fn trimming() -> Setup {
    Setup { binding: binding(false, true), settings: settings() }
}

/// A turn whose parser answers with these steps.
fn scripted(setup: impl Into<Setup>, steps: impl IntoIterator<Item = Step>) -> Turn {
    let Setup { binding, settings } = setup.into();
    Turn::new(&binding, Box::new(Scripted(steps.into_iter().map(Ok).collect())), settings)
}

fn text(text: &str) -> TokenText<'_> {
    TokenText::new(None, text)
}

/// A token that is no marker.
fn token(text: &str) -> TokenText<'_> {
    TokenText::new(Some(1), text)
}

/// Runs a turn to its end, with one step per piece.
fn run(mut turn: Turn, pieces: &[&str], reason: FinishReason) -> (Vec<FoldedItem>, TurnEnd, Turn) {
    let mut out = TurnEvents::default();
    for piece in pieces {
        if turn.step(&[text(piece)], &mut out) == Flow::Stop {
            break;
        }
    }
    let end = turn.finish(reason, None, &mut out);
    (fold(out).unwrap(), end, turn)
}

fn message(text: &str) -> FoldedItem {
    phased(Phase::Unspecified, text)
}

fn phased(phase: Phase, text: &str) -> FoldedItem {
    FoldedItem { head: ItemHead::Message { phase }, text: text.into(), status: ItemStatus::Completed }
}

fn reasoning(text: &str) -> FoldedItem {
    FoldedItem { head: ItemHead::Reasoning, text: text.into(), status: ItemStatus::Completed }
}

fn tool_call(number: usize, name: &str, arguments: &str) -> FoldedItem {
    let head =
        ItemHead::ToolCall { call_id: format!("call_{number}"), name: name.into(), payload: Payload::Json };
    FoldedItem { head, text: arguments.into(), status: ItemStatus::Completed }
}

fn incomplete(item: FoldedItem) -> FoldedItem {
    FoldedItem { status: ItemStatus::Incomplete, ..item }
}
