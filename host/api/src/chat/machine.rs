//! Event machine of Chat Completions: makes chunks of a stream, and the answer in one piece, from
//! one turn for each choice.

use store::Status;

use super::choice::ChoiceMachine;
use super::chunks::Completion;
use super::stream::{OutputOptions, Stream};
use crate::error::{ApiError, cancelled, not_stored};
use crate::event_buffer::EventBuffer;
use crate::ids::Ids;
use crate::machine::{Machine, StoredAnswer};
use model::{RawStep, RawTurn};
use turn::{TurnEnd, TurnEvent, TurnFailure, Usage};

/// The chunk machine of one completion.
#[derive(Debug)]
pub struct ChatMachine {
    stream: Stream,
    choices: Vec<ChoiceMachine>,
    /// Index of the choice that the next event belongs to.
    current: usize,
    /// Number of choices whose turn hasn't ended.
    open: usize,
    /// Usage of all choices together.
    usage: Usage,
    failure: Option<TurnFailure>,
    /// Number of events that the answer's end wrote.
    closing: usize,
}

impl ChatMachine {
    /// A machine for an answer to a request for `model`.
    pub(super) fn new(mut ids: Ids, created: u64, model: String, asked: OutputOptions) -> Self {
        let choices: Vec<ChoiceMachine> =
            (0..asked.n).map(|index| ChoiceMachine::new(index, asked)).collect();
        Self {
            stream: Stream {
                id: ids.next("chatcmpl-"),
                created,
                model,
                include_usage: asked.include_usage,
                padded: asked.obfuscate,
            },
            open: choices.len(),
            choices,
            current: 0,
            usage: Usage::default(),
            failure: None,
            closing: 0,
        }
    }

    fn fail(&mut self, failure: TurnFailure, buffer: &mut EventBuffer) {
        buffer.push(None, &ApiError::turn(&failure).envelope());
        self.failure = Some(failure);
    }
}

impl Machine for ChatMachine {
    fn begin(&mut self, buffer: &mut EventBuffer) {
        for choice in &self.choices {
            choice.begin(&self.stream, buffer);
        }
    }

    fn choose(&mut self, choice: usize) {
        debug_assert!(choice < self.choices.len(), "as many turns as choices");
        self.current = choice;
    }

    fn tokens(&mut self, step: &RawStep<'_>) {
        self.choices[self.current].tokens(step);
    }

    fn tokens_over(&mut self, buffer: &mut EventBuffer) {
        self.choices[self.current].tokens_over(&self.stream, buffer);
    }

    fn turn(&mut self, event: &TurnEvent, buffer: &mut EventBuffer) {
        self.choices[self.current].turn(event, &self.stream, buffer);
    }

    /// Writes nothing: the protocol has no heartbeat event, and the transport's comments keep the
    /// connection open.
    fn heartbeat(&mut self, _buffer: &mut EventBuffer) {}

    fn raw(&mut self, turn: RawTurn) {
        self.choices[self.current].raw = Some(turn);
    }

    fn end(&mut self, end: &TurnEnd, usage: Usage, buffer: &mut EventBuffer) {
        self.usage += usage;
        let before = buffer.len();
        match end {
            TurnEnd::Failed(failure) => return self.fail(failure.clone(), buffer),
            TurnEnd::Cancelled => return self.fail(cancelled(), buffer),
            TurnEnd::Completed | TurnEnd::MaxOutputTokens => {
                self.choices[self.current].end(end, &self.stream, buffer);
            }
        }
        self.open -= 1;
        if self.open == 0 {
            self.stream.usage(self.usage, buffer);
            self.closing = buffer.len() - before;
        }
    }

    fn record(&mut self) -> Option<StoredAnswer> {
        let status = match (&self.failure, self.open) {
            (Some(_), _) => Some(Status::Failed),
            (None, 0) if self.choices.iter().any(ChoiceMachine::is_cut) => Some(Status::Incomplete),
            (None, 0) => Some(Status::Completed),
            (None, _) => None,
        };
        let object = status.map(|_| self.body().1.into_bytes()).unwrap_or_default();
        Some(StoredAnswer { id: self.stream.id.clone(), status, object, output: Vec::new() })
    }

    fn not_stored(&mut self, buffer: &mut EventBuffer) {
        if self.failure.is_none() {
            (0..self.closing).for_each(|_| buffer.take_back());
            self.fail(not_stored(), buffer);
        }
    }

    fn body(&self) -> (u16, String) {
        if let Some(failure) = &self.failure {
            let error = ApiError::turn(failure);
            return (error.status, error.body());
        }
        let Stream { id, created, model, .. } = &self.stream;
        let completion = Completion {
            id,
            object: "chat.completion",
            created: *created,
            model,
            choices: self.choices.iter().map(ChoiceMachine::whole).collect(),
            usage: self.usage.into(),
        };
        (200, serde_json::to_string(&completion).expect("protocol types serialise"))
    }
}
