//! What the transport needs of a protocol: a machine that turns one turn's events into frames, and into one body at the end.

use super::frames::Frames;
use crate::agent::ServerEvent;
use crate::model::RawTurn;
use crate::turn::{TurnEnd, TurnEvent, Usage};

/// The event machine of one answer. Calls come in this order: `begin`, any `turn` and `heartbeat`, `raw`, `end`, `body`. Where a
/// request asks for several choices, `choose` says whose `turn`, `raw` or `end` follows, and each has its `end`; a failed one is the last.
/// A streaming answer sends the frames; a non-streaming one discards them and sends `body`: so the two can't differ.
pub trait Machine: Send {
    /// Before all else: the request's id, and the prompt's tokens, where the transport knows them.
    fn accepted(&mut self, _request_id: &str, _prompt_tokens: u32) {}
    /// The opening events.
    fn begin(&mut self, frames: &mut Frames);
    /// What follows is of this choice; the first before any call of it.
    fn choose(&mut self, _choice: usize) {}
    /// One event of the turn.
    fn turn(&mut self, event: &TurnEvent, frames: &mut Frames);
    /// Something happened with a tool that the server runs. Only protocols whose requests can ask for such tools hear of it.
    fn server(&mut self, _event: &ServerEvent, _frames: &mut Frames) {}
    /// Something that clients count as life, while nothing else is said (Responses: a repeated `response.in_progress`).
    fn heartbeat(&mut self, frames: &mut Frames);
    /// A turn's tokens as they are; only where the job asked for them. Most protocols have no place for them.
    fn raw(&mut self, _turn: RawTurn) {}
    /// Just before `end`: this stop string of the request ended the turn.
    fn stopped_by(&mut self, _stop: &str) {}
    /// The closing events. Items are all closed by now.
    fn end(&mut self, end: &TurnEnd, usage: Usage, frames: &mut Frames);
    /// The whole answer, as a non-streaming client gets it: HTTP status and JSON text.
    fn body(&self) -> (u16, String);
}
