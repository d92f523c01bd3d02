//! Answers under way: the task that makes one, the log of its events, and the readers of the log.
//!
//! An [`Answer`] drives a generation through a protocol's machine. It writes a log ([`event_log`]),
//! ends as one body ([`Answer::whole`]), or is stored while it runs ([`Journal`]). A [`Keeper`]
//! keeps its end before anybody is told of it. Readers take the log's events from any number on:
//! [`SseBody`] frames them for HTTP, [`EventReader`] hands them out as they are. Invariants: every
//! reader gets the same events with the same numbers; framing, padding and comments are each
//! reader's own. Nothing in here knows sockets, routes or keys.

mod answering;
mod figures;
mod framed_check;
mod idle_timer;
mod keeper;
mod log;
mod sse_body;
mod tap;
mod unframed;

pub use answering::{Answer, Replay, ReplayError};
pub use keeper::{Journal, Keeper, Keeping, Kept, StoreProgress, Unstored};
pub use log::{EventLog, LogReader, LogWriter, Policy, ReadError, event_log};
pub use sse_body::SseBody;
pub(crate) use tap::TapReader;
pub use tap::Taps;
pub use unframed::{EventReader, LogEvent};

#[cfg(test)]
mod tests;
