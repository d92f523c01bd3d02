//! An answer of one turn or of several turns, behind one interface.

use std::fmt;

use super::agent_loop::{AgentLoop, Refusal};
use super::compaction::{Compaction, Occasion, is_worth_it, summary_job};
use super::event::{AnswerEvent, AnswerEventRef};
use super::hosted::Hosted;
use mcp::McpLimits;
use model::{Choices, Echo, EndedTurn, Job, Model, RawStep, RawTurn, StartError, Truncation};
use prompt::{RenderError, Role};
use turn::{TokenLogprobs, TurnEnd, TurnEvent, TurnEvents, TurnFailure, Usage};

/// An answer that is being generated. Dropping it cancels the generation and every call under way.
pub struct AnswerStream(Turns);

enum Turns {
    /// No turn; whether the end was told.
    None(bool),
    One {
        choices: Choices,
        events: TurnEvents,
        /// Whether only the prompt matters.
        prompt_only: bool,
    },
    AgentLoop {
        agent: Box<AgentLoop>,
        events: Vec<AnswerEvent>,
        over: bool,
    },
}

impl AnswerStream {
    /// Begins the answer to `job`: of one turn, or of as many as the calls of `hosted` need, and
    /// with `compaction` first where it applies. If a later turn can't be started, the answer ends
    /// with the failure that `refusal` makes.
    ///
    /// # Errors
    /// The first turn couldn't be started.
    pub async fn begin(
        model: Model,
        job: Job,
        hosted: Option<Hosted>,
        compaction: Option<Compaction>,
        limits: &McpLimits,
        refusal: Refusal,
    ) -> Result<Self, StartError> {
        if let Some(Compaction { occasion, prompt }) = compaction {
            // An approved call is part of what a summary would replace: it runs first.
            let has_approved = hosted.as_ref().is_some_and(|hosted| !hosted.approved.is_empty());
            let applies = match occasion {
                Occasion::Asked => true,
                Occasion::Above(tokens) | Occasion::InPlaceAbove(tokens) => {
                    !has_approved && exceeds(&model, &job, tokens).await?
                }
            };
            if applies {
                // The limit of tokens is that of the answer, not of a summary before it.
                let most = job.max_output_tokens.filter(|_| occasion.is_all());
                let summary = Job { max_output_tokens: most, ..summary_job(job.clone(), &prompt) };
                let turn = model.start(summary).await?;
                let agent = AgentLoop::new(model, job, hosted.unwrap_or_default(), limits, refusal);
                return Ok(Self::of(agent.after_compaction(turn, occasion)));
            }
        }
        match hosted {
            None => Ok(Self::one(model.start_choices(job).await?)),
            Some(hosted) => {
                // The answer begins before its first turn, so a later refusal would be an event;
                // the job is checked now.
                model.check(&job)?;
                Ok(Self::of(AgentLoop::new(model, job, hosted, limits, refusal)))
            }
        }
    }

    /// Makes an answer of one turn, with all its choices.
    pub fn one(choices: Choices) -> Self {
        Self(Turns::One { choices, events: TurnEvents::default(), prompt_only: false })
    }

    /// Makes an empty answer, after which the engine has the prompt of `job` in its cache. Without a
    /// question there is no prompt, since templates render none.
    ///
    /// # Errors
    /// The prompt can't be made, or the engine refuses it.
    pub async fn of_prompt(model: Model, job: Job) -> Result<Self, StartError> {
        if !job.conversation.messages.iter().any(|message| message.role == Role::User) {
            return Ok(Self(Turns::None(false)));
        }
        let choices = model.start_choices(Job { max_output_tokens: Some(1), ..job }).await?;
        Ok(Self(Turns::One { choices, events: TurnEvents::default(), prompt_only: true }))
    }

    fn of(agent: AgentLoop) -> Self {
        Self(Turns::AgentLoop { agent: Box::new(agent), events: Vec::new(), over: false })
    }

    /// Waits for the next events of any choice. Returns the choice, and how it ended if it did; all
    /// its items are closed then. `events` has the events, possibly none. Must not be called when
    /// all choices have ended. Cancel-safe: dropping the future before it is ready loses no event.
    pub async fn next(&mut self) -> (usize, Option<EndedTurn>) {
        self.forget();
        match &mut self.0 {
            Turns::None(over) => {
                *over = true;
                (0, Some(EndedTurn { end: TurnEnd::Completed, usage: Usage::default() }))
            }
            Turns::One { choices, events, prompt_only: false } => choices.next(events).await,
            Turns::One { choices, events, prompt_only: true } => {
                let (choice, ended) = choices.next(events).await;
                events.clear();
                (choice, ended.map(without_output))
            }
            Turns::AgentLoop { agent, events, over } => {
                let ended = agent.next(events).await;
                *over = ended.is_some();
                (0, ended)
            }
        }
    }

    /// Ends the answer as failed. Open items are closed, and calls under way end at once. Returns
    /// no end if all choices have ended.
    pub fn abort(&mut self, failure: TurnFailure) -> (usize, Option<EndedTurn>) {
        self.forget();
        match &mut self.0 {
            Turns::None(true) | Turns::AgentLoop { over: true, .. } => (0, None),
            Turns::None(over) => {
                *over = true;
                (0, Some(EndedTurn { end: TurnEnd::Failed(failure), usage: Usage::default() }))
            }
            Turns::One { choices, events, prompt_only: false } => choices.abort(failure, events),
            Turns::One { choices, events, prompt_only: true } => {
                let aborted = choices.abort(failure, events);
                events.clear();
                aborted
            }
            Turns::AgentLoop { agent, events, over } => {
                *over = true;
                (0, Some(agent.abort(failure, events)))
            }
        }
    }

    fn forget(&mut self) {
        match &mut self.0 {
            Turns::None(_) => {}
            Turns::One { events, .. } => events.clear(),
            Turns::AgentLoop { events, .. } => events.clear(),
        }
    }

    /// Events of the last `next` or `abort`, in order.
    pub fn events(&self) -> impl Iterator<Item = AnswerEventRef<'_>> + Clone {
        let (turn, round): (&[TurnEvent], &[AnswerEvent]) = match &self.0 {
            Turns::None(_) => (&[], &[]),
            Turns::One { events, .. } => (events, &[]),
            Turns::AgentLoop { events, .. } => (&[], events),
        };
        turn.iter().map(AnswerEventRef::Turn).chain(round.iter().map(AnswerEvent::as_ref))
    }

    /// Whether all choices have ended.
    pub fn is_over(&self) -> bool {
        match &self.0 {
            Turns::One { choices, .. } => choices.is_over(),
            Turns::None(over) | Turns::AgentLoop { over, .. } => *over,
        }
    }

    /// Number of prompt tokens; 0 if the prompt isn't made yet.
    pub fn prompt_tokens(&mut self) -> u32 {
        match &mut self.0 {
            Turns::One { choices, .. } => choices.turn(0).prompt_tokens(),
            Turns::None(_) | Turns::AgentLoop { .. } => 0,
        }
    }

    /// Stop string that ended the choice, if one did.
    pub fn stop_string(&mut self, choice: usize) -> Option<&str> {
        match &mut self.0 {
            Turns::One { choices, .. } => choices.turn(choice).stop_string(),
            Turns::AgentLoop { agent, .. } => agent.stop_string(),
            Turns::None(_) => None,
        }
    }

    /// Token that ended the choice, with its log-probabilities, if they are known.
    pub fn stop_token(&mut self, choice: usize) -> Option<&TokenLogprobs> {
        match &mut self.0 {
            Turns::One { choices, .. } => choices.turn(choice).stop_token(),
            Turns::None(_) | Turns::AgentLoop { .. } => None,
        }
    }

    /// The choice's prompt, once, if the job asked for it.
    pub fn take_echo(&mut self, choice: usize) -> Option<Echo> {
        match &mut self.0 {
            Turns::One { choices, .. } => choices.turn(choice).take_echo(),
            Turns::None(_) | Turns::AgentLoop { .. } => None,
        }
    }

    /// Raw tokens of the choice's only turn since the last call, if the job asked for them.
    pub fn next_raw(&mut self, choice: usize) -> Option<RawStep<'_>> {
        match &mut self.0 {
            Turns::One { choices, .. } => choices.turn(choice).next_raw(),
            Turns::None(_) | Turns::AgentLoop { .. } => None,
        }
    }

    /// Raw tokens of the choice's turns that have ended, if the job asked for them. Each turn's
    /// tokens are returned once.
    pub fn take_raw(&mut self, choice: usize) -> Vec<RawTurn> {
        match &mut self.0 {
            Turns::One { choices, .. } => choices.turn(choice).take_raw().into_iter().collect(),
            Turns::None(_) => Vec::new(),
            Turns::AgentLoop { agent, .. } => agent.take_raw(),
        }
    }
}

/// The end of a turn whose output is left out.
fn without_output(ended: EndedTurn) -> EndedTurn {
    let EndedTurn { end, usage } = ended;
    let end = match end {
        TurnEnd::MaxOutputTokens => TurnEnd::Completed,
        end => end,
    };
    EndedTurn { end, usage: Usage { output_tokens: 0, reasoning_tokens: 0, ..usage } }
}

/// Whether a summary would shorten the conversation of `job`, and its prompt has more than `most`
/// tokens. Tools of tool servers aren't counted: they are listed later.
async fn exceeds(model: &Model, job: &Job, most: u32) -> Result<bool, StartError> {
    if !is_worth_it(&job.conversation.messages) {
        return Ok(false);
    }
    let whole = Job { truncation: Truncation::Disabled, ..job.clone() };
    match model.count_prompt(whole).await {
        Ok(tokens) => Ok(tokens > most as usize),
        Err(StartError::Prompt(RenderError::TooLong(_))) => Ok(true),
        Err(error) => Err(error),
    }
}

impl fmt::Debug for AnswerStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerStream")
    }
}
