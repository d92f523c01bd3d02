//! The turns of one request, generated concurrently: `n` choices for each of its prompts, numbered
//! prompt by prompt.
//!
//! Invariant: each choice ends once, and a turn that failed or was cancelled ends all that are
//! still running. Dropping [`Choices`] cancels them.

use std::pin::pin;
use std::task::{Context, Poll};

use engine::SubmitError;

use super::generate::{EndedTurn, TurnStream};
use turn::{TurnEnd, TurnEvents, TurnFailure};

/// All choices of one request.
pub struct Choices {
    turns: Vec<Choice>,
    /// Number of choices for each prompt.
    per_prompt: usize,
    /// Index of the choice that is polled first. It moves on with each step, so that no choice
    /// starves.
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

    /// Waits until the engine has accepted all of them. All are queued already, so waiting for one
    /// doesn't delay the others.
    pub(super) async fn started(&mut self) -> Result<(), SubmitError> {
        for choice in &mut self.turns {
            choice.turn.started().await?;
        }
        Ok(())
    }

    /// Waits for the next step of any choice and appends its events to `out`. Returns the index of
    /// the choice, and its end if it ended. May not be called when all have ended. Cancel safe, as
    /// [`TurnStream::next`] is.
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
            // A turn that isn't ready has consumed nothing, so its future can be dropped.
            let polled = pin!(choice.turn.next(out)).poll(cx);
            if let Poll::Ready(ended) = polled {
                self.first = (index + 1) % count;
                return Poll::Ready((index, ended.map(|ended| self.end(index, ended))));
            }
        }
        Poll::Pending
    }

    /// Ends all running choices as failed, as its caller decides. Returns the first of them with
    /// its end, or no end if all have ended.
    pub fn abort(&mut self, failure: TurnFailure, out: &mut TurnEvents) -> (usize, Option<EndedTurn>) {
        let Some(index) = self.turns.iter().position(|choice| !choice.ended) else { return (0, None) };
        let ended = self.turns[index].turn.abort(failure, out);
        (index, Some(self.end(index, ended)))
    }

    /// Whether all choices have ended.
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

    /// Records the end of a choice. A prompt's tokens are counted with the first of its choices
    /// only.
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
