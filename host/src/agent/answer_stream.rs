//! One answer, of one turn or of several, behind one face.

use std::fmt;

use super::agent_loop::{AgentLoop, Refusal};
use super::event::{RoundEvent, RoundEventRef};
use super::hosted::Hosted;
use crate::limits::McpLimits;
use crate::model::{Choices, Ended, Job, Model, RawTurn};
use crate::turn::{TurnEvent, TurnEvents, TurnFailure};

/// An answer being generated. Dropping it cancels the generation and every call under way.
pub struct AnswerStream(Turns);

enum Turns {
    One { choices: Choices, events: TurnEvents },
    AgentLoop { several: Box<AgentLoop>, events: Vec<RoundEvent>, over: bool },
}

impl AnswerStream {
    /// An answer of one turn, in all its choices.
    pub fn one(choices: Choices) -> Self {
        Self(Turns::One { choices, events: TurnEvents::default() })
    }

    /// An answer of as many turns as `hosted` leads to, in one choice. Nothing is started before `next`; a turn that can't be
    /// started ends the answer with what `refusal` makes of it.
    pub fn several(model: Model, job: Job, hosted: Hosted, limits: &McpLimits, refusal: Refusal) -> Self {
        let several = Box::new(AgentLoop::new(model, job, hosted, limits, refusal));
        Self(Turns::AgentLoop { several, events: Vec::new(), over: false })
    }

    /// Waits for what happens next in any choice, and says which choice it is, and how it ended if it did; every item of it is
    /// closed by then. `events` has what happened, perhaps nothing. Not to be called when all have ended. Cancel safe: dropped
    /// before it is ready, it takes nothing with it.
    pub async fn next(&mut self) -> (usize, Option<Ended>) {
        self.forget();
        match &mut self.0 {
            Turns::One { choices, events } => choices.next(events).await,
            Turns::AgentLoop { several, events, over } => {
                let ended = several.next(events).await;
                *over = ended.is_some();
                (0, ended)
            }
        }
    }

    /// Ends the answer as failed, from outside; open items are closed, calls under way end at once. Nothing, if all have ended.
    pub fn abort(&mut self, failure: TurnFailure) -> (usize, Option<Ended>) {
        self.forget();
        match &mut self.0 {
            Turns::One { choices, events } => choices.abort(failure, events),
            Turns::AgentLoop { over: true, .. } => (0, None),
            Turns::AgentLoop { several, events, over } => {
                *over = true;
                (0, Some(several.abort(failure, events)))
            }
        }
    }

    fn forget(&mut self) {
        match &mut self.0 {
            Turns::One { events, .. } => events.clear(),
            Turns::AgentLoop { events, .. } => events.clear(),
        }
    }

    /// What the last `next` or `abort` brought, in order.
    pub fn events(&self) -> impl Iterator<Item = RoundEventRef<'_>> {
        let (turn, round): (&[TurnEvent], &[RoundEvent]) = match &self.0 {
            Turns::One { events, .. } => (events, &[]),
            Turns::AgentLoop { events, .. } => (&[], events),
        };
        turn.iter().map(RoundEventRef::Turn).chain(round.iter().map(RoundEvent::as_ref))
    }

    /// Whether all choices have ended.
    pub fn is_over(&self) -> bool {
        match &self.0 {
            Turns::One { choices, .. } => choices.is_over(),
            Turns::AgentLoop { over, .. } => *over,
        }
    }

    /// Tokens of the prompt; 0 where that isn't made yet.
    pub fn prompt_tokens(&mut self) -> u32 {
        match &mut self.0 {
            Turns::One { choices, .. } => choices.turn(0).prompt_tokens(),
            Turns::AgentLoop { .. } => 0,
        }
    }

    /// The stop string that ended a choice, if one did.
    pub fn stop_string(&mut self, choice: usize) -> Option<&str> {
        match &mut self.0 {
            Turns::One { choices, .. } => choices.turn(choice).stop_string(),
            Turns::AgentLoop { .. } => None,
        }
    }

    /// The tokens of a choice's turns so far as they are, where the job asked for them; each turn's once.
    pub fn take_raw(&mut self, choice: usize) -> Vec<RawTurn> {
        match &mut self.0 {
            Turns::One { choices, .. } => choices.turn(choice).take_raw().into_iter().collect(),
            Turns::AgentLoop { several, .. } => several.take_raw(),
        }
    }
}

impl fmt::Debug for AnswerStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerStream")
    }
}
