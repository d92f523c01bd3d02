//! The turns of one request, generated side by side: `n` choices for each of its prompts, counted through prompt by prompt.
//!
//! Invariant: each choice ends once, and a turn that failed ends all that are still under way. Dropping it cancels them.

use std::pin::pin;
use std::task::{Context, Poll};

use engine::SubmitError;

use super::generate::{EndedTurn, TurnStream};
use crate::turn::{TurnEnd, TurnEvents, TurnFailure};

/// See the module.
pub struct Choices {
    turns: Vec<Choice>,
    /// Choices for each prompt.
    per_prompt: usize,
    /// Which is looked at first, so that each has its turn.
    first: usize,
}

struct Choice {
    turn: TurnStream,
    ended: bool,
}

impl Choices {
    pub(super) fn new(turns: Vec<TurnStream>, per_prompt: usize) -> Self {
        let turns = turns.into_iter().map(|turn| Choice { turn, ended: false }).collect();
        Self { turns, per_prompt, first: 0 }
    }

    /// Waits until the engine takes all of them on. They are queued by now: waiting for one holds up none.
    pub(super) async fn started(&mut self) -> Result<(), SubmitError> {
        for choice in &mut self.turns {
            choice.turn.started().await?;
        }
        Ok(())
    }

    /// Waits for the next step of any choice, appends its events to `out`, and says which choice it is, and how it ended if it did.
    /// Not to be called when all have ended. Cancel safe, as a turn's `next` is.
    pub async fn next(&mut self, out: &mut TurnEvents) -> (usize, Option<EndedTurn>) {
        std::future::poll_fn(|cx| self.poll_next(cx, out)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>, out: &mut TurnEvents) -> Poll<(usize, Option<EndedTurn>)> {
        let count = self.turns.len();
        for index in (self.first..count).chain(0..self.first) {
            let choice = &mut self.turns[index];
            if choice.ended {
                continue;
            }
            // A turn that isn't ready has taken nothing, so its future needn't be kept.
            let polled = pin!(choice.turn.next(out)).poll(cx);
            if let Poll::Ready(ended) = polled {
                self.first = (index + 1) % count;
                return Poll::Ready((index, ended.map(|ended| self.end(index, ended))));
            }
        }
        Poll::Pending
    }

    /// Ends what is under way as failed, from outside: as one choice that failed does. Nothing, if all have ended.
    pub fn abort(&mut self, failure: TurnFailure, out: &mut TurnEvents) -> (usize, Option<EndedTurn>) {
        let Some(index) = self.turns.iter().position(|choice| !choice.ended) else { return (0, None) };
        let ended = self.turns[index].turn.abort(failure, out);
        (index, Some(self.end(index, ended)))
    }

    /// Whether all have ended.
    pub fn is_over(&self) -> bool {
        self.turns.iter().all(|choice| choice.ended)
    }

    /// The turn of a choice.
    ///
    /// # Panics
    /// If there is no such choice.
    pub fn turn(&mut self, choice: usize) -> &mut TurnStream {
        &mut self.turns[choice].turn
    }

    /// A prompt's tokens are counted with the first of its choices.
    fn end(&mut self, index: usize, mut ended: EndedTurn) -> EndedTurn {
        self.turns[index].ended = true;
        if matches!(ended.end, TurnEnd::Failed(_) | TurnEnd::Cancelled) {
            for choice in &mut self.turns {
                choice.ended = true;
            }
        }
        if !index.is_multiple_of(self.per_prompt) {
            ended.usage.input_tokens = 0;
            ended.usage.cached_tokens = 0;
        }
        ended
    }
}
