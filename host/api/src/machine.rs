//! What an answer needs of a protocol: a machine that makes the protocol's events of the answer's,
//! and one body at the end.

use super::event_buffer::EventBuffer;
use crate::agent::{Cleared, CompactionEvent, ServerEvent};
use model::{Echo, RawStep, RawTurn};
use turn::{TokenLogprobs, TurnEnd, TurnEvent, Usage};

/// An answer as it is stored: so far, or to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnswer {
    /// The answer's id.
    pub id: String,
    /// How it ended; none while it is under way.
    pub status: Option<store::Status>,
    /// The answer's object, with an empty output.
    pub object: Vec<u8>,
    /// The items of its output.
    pub output: Vec<store::StoredItem>,
}

/// The event machine of one answer. Calls come in this order: `begin`, any `tokens`, `echo`,
/// `turn`, `tokens_over` and `heartbeat`, `raw`, `end`, `body`. Where a request asks for several
/// choices, `choose` names the choice of the next `turn`, `raw` or `end`. Each choice has one
/// `end`; after that of a failed choice nothing follows. Readers of a streaming answer get the
/// events, and a non-streaming one sends `body`: so the two can't differ.
pub trait Machine: Send {
    /// Called before all else with the request's id and the number of the prompt's tokens, by
    /// transports that know them.
    fn accepted(&mut self, _request_id: &str, _prompt_tokens: u32) {}
    /// Writes the opening events.
    fn begin(&mut self, buffer: &mut EventBuffer);
    /// Names the choice, from 0, that the next calls belong to. Until it is called, that is choice 0.
    fn choose(&mut self, _choice: usize) {}
    /// Takes the token ids of an engine step, before the step's events, if the job asked for raw
    /// tokens.
    fn tokens(&mut self, _step: &RawStep<'_>) {}
    /// Writes a choice's prompt before the choice's first event, if the job asked for it.
    fn echo(&mut self, _echo: &Echo, _buffer: &mut EventBuffer) {}
    /// Called after the step's events: ids of tokens that brought no event are sent.
    fn tokens_over(&mut self, _buffer: &mut EventBuffer) {}
    /// Writes the events for one event of the turn.
    fn turn(&mut self, event: &TurnEvent, buffer: &mut EventBuffer);
    /// Writes the events for a tool that the server runs. Called only for protocols whose requests
    /// can ask for such tools.
    fn server(&mut self, _event: &ServerEvent, _buffer: &mut EventBuffer) {}
    /// Takes what was left out of the conversation, before all else but `accepted`.
    fn cleared(&mut self, _cleared: &[Cleared]) {}
    /// Writes the events for a step of the conversation's compaction. Called only for protocols
    /// whose requests can ask for one.
    fn compaction(&mut self, _event: &CompactionEvent, _buffer: &mut EventBuffer) {}
    /// Writes a heartbeat event, sent while a stream is silent (Responses: a repeated
    /// `response.in_progress`).
    fn heartbeat(&mut self, buffer: &mut EventBuffer);
    /// Takes a turn's tokens with their markup, if the job asked for them. Protocols that have no
    /// field for them ignore the call.
    fn raw(&mut self, _turn: RawTurn) {}
    /// Called just before `end` if a stop string of the request ended the turn.
    fn stopped_by(&mut self, _stop: &str) {}
    /// Called just before `end` if a token ended the turn whose log-probabilities the job asked
    /// for.
    fn stopped_at(&mut self, _token: &TokenLogprobs) {}
    /// Writes the closing events. All items are closed by now, but for the reasoning of a steered
    /// answer.
    fn end(&mut self, end: &TurnEnd, usage: Usage, buffer: &mut EventBuffer);
    /// Writes the events that come first where the answer waits to run in the background, in place
    /// of `begin`. Called only for protocols whose requests can ask for that.
    fn queue(&mut self, _buffer: &mut EventBuffer) {}
    /// Whether the answer may end here as steered, so that another one can go on from it: nothing
    /// is open but reasoning, which `end` closes then, and no call is without its result. Asked
    /// only of protocols whose answers can be steered.
    fn may_stop(&self) -> bool {
        false
    }
    /// The answer as it is stored; none in protocols whose answers aren't.
    fn record(&mut self) -> Option<StoredAnswer> {
        None
    }
    /// The finished items of the output from number `first` on, up to one that isn't finished, as they
    /// are stored while the answer is under way; none in protocols whose answers are stored whole.
    fn finished(&self, _first: usize) -> Vec<store::StoredItem> {
        Vec::new()
    }
    /// Called after `end` if the answer's end couldn't be stored, before anybody was told of it:
    /// what `end` wrote is taken back, and the answer fails.
    fn not_stored(&mut self, _buffer: &mut EventBuffer) {}
    /// Whether server-sent events of this protocol end with `[DONE]`.
    fn has_done(&self) -> bool {
        true
    }
    /// The whole answer, as a non-streaming client gets it: HTTP status and JSON text.
    fn body(&self) -> (u16, String);
}
