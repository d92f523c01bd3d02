//! What the transport needs of a protocol: a machine that turns one turn's events into frames, and into one body at the end.

use super::frames::Frames;
use crate::turn::{TurnEnd, TurnEvent, Usage};

/// The event machine of one answer. Calls come in this order: `begin`, any `turn` and `heartbeat`, `end`, `body`.
/// A streaming answer sends the frames; a non-streaming one discards them and sends `body`: so the two can't differ.
pub trait Machine: Send {
    /// The opening events.
    fn begin(&mut self, frames: &mut Frames);
    /// One event of the turn.
    fn turn(&mut self, event: &TurnEvent, frames: &mut Frames);
    /// Something that clients count as life, while nothing else is said (Responses: a repeated `response.in_progress`).
    fn heartbeat(&mut self, frames: &mut Frames);
    /// The closing events. Items are all closed by now.
    fn end(&mut self, end: &TurnEnd, usage: Usage, frames: &mut Frames);
    /// The whole answer, as a non-streaming client gets it: HTTP status and JSON text.
    fn body(&self) -> (u16, String);
}
