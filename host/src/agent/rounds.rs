//! One answer, of one turn or of several, behind one face.

use std::fmt;

use super::event::RoundEvent;
use super::hosted::Hosted;
use super::several::Several;
use crate::limits::McpLimits;
use crate::model::{Choices, Ended, Job, Model, RawTurn, StartError};
use crate::turn::{TurnEvent, TurnFailure};

/// How a turn that can't be started is told.
pub type Refusal = Box<dyn Fn(&StartError) -> TurnFailure + Send>;

/// An answer being generated. Dropping it cancels the generation and every call under way.
pub struct Rounds(Kind);

enum Kind {
    One(Choices, Vec<TurnEvent>),
    Several(Box<Several>, bool),
}

impl Rounds {
    /// An answer of one turn, in all its choices.
    pub fn one(choices: Choices) -> Self {
        Self(Kind::One(choices, Vec::new()))
    }

    /// An answer of as many turns as `hosted` leads to, in one choice. Nothing is started before `next`; a turn that can't be
    /// started ends the answer with what `refusal` makes of it.
    pub fn several(model: Model, job: Job, hosted: Hosted, limits: &McpLimits, refusal: Refusal) -> Self {
        Self(Kind::Several(Box::new(Several::new(model, job, hosted, limits, refusal)), false))
    }

    /// Waits for what happens next in any choice, appends its events, and says which choice it is, and how it ended if it did; every
    /// item of it is closed by then. There may be no events. Not to be called when all have ended. Cancel safe: dropped before it
    /// is ready, it takes nothing with it.
    pub async fn next(&mut self, out: &mut Vec<RoundEvent>) -> (usize, Option<Ended>) {
        match &mut self.0 {
            Kind::One(choices, raw) => {
                let next = choices.next(raw).await;
                out.extend(raw.drain(..).map(RoundEvent::Turn));
                next
            }
            Kind::Several(several, over) => {
                let ended = several.next(out).await;
                *over = ended.is_some();
                (0, ended)
            }
        }
    }

    /// Ends the answer as failed, from outside; open items are closed, calls under way end at once. Nothing, if all have ended.
    pub fn abort(&mut self, failure: TurnFailure, out: &mut Vec<RoundEvent>) -> (usize, Option<Ended>) {
        match &mut self.0 {
            Kind::One(choices, raw) => {
                let next = choices.abort(failure, raw);
                out.extend(raw.drain(..).map(RoundEvent::Turn));
                next
            }
            Kind::Several(_, true) => (0, None),
            Kind::Several(several, over) => {
                *over = true;
                (0, Some(several.abort(failure, out)))
            }
        }
    }

    /// Whether all choices have ended.
    pub fn is_over(&self) -> bool {
        match &self.0 {
            Kind::One(choices, _) => choices.is_over(),
            Kind::Several(_, over) => *over,
        }
    }

    /// Tokens of the prompt; 0 where that isn't made yet.
    pub fn prompt_tokens(&mut self) -> u32 {
        match &mut self.0 {
            Kind::One(choices, _) => choices.turn(0).prompt_tokens(),
            Kind::Several(..) => 0,
        }
    }

    /// The stop string that ended a choice, if one did.
    pub fn stop_string(&mut self, choice: usize) -> Option<&str> {
        match &mut self.0 {
            Kind::One(choices, _) => choices.turn(choice).stop_string(),
            Kind::Several(..) => None,
        }
    }

    /// The tokens of a choice's turns so far as they are, where the job asked for them; each turn's once.
    pub fn take_raw(&mut self, choice: usize) -> Vec<RawTurn> {
        match &mut self.0 {
            Kind::One(choices, _) => choices.turn(choice).take_raw().into_iter().collect(),
            Kind::Several(several, _) => several.take_raw(),
        }
    }
}

impl fmt::Debug for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rounds")
    }
}
