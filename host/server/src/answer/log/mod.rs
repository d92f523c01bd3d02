//! Log of one answer's events, between the task that makes them and its readers.
//!
//! The task appends whole events, numbered from 0; a reader takes new events from any number on.
//! Invariants: a reader gets events in order, each once and whole, or learns that they are gone.
//! The lock is held only while new events are copied, a bounded number of bytes at once, and nobody
//! is woken under it.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use self::state::State;
use api::event_buffer::{EventBuffer, Label};

mod state;

/// What a log does for readers that are slow, leave or come late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// The answer ends when no reader is left, and waits for a reader that is `queue` appends
    /// behind. Events that every reader has taken are dropped.
    Cancel {
        /// Number of appends that may wait to be read.
        queue: usize,
    },
    /// The answer goes on without readers, and waits for none. A reader that is too far behind gets
    /// [`ReadError::Expired`].
    Continue {
        /// Number of bytes of events that are kept; the last append is kept whatever its size.
        kept_bytes: usize,
    },
}

/// Why a reader gets no more events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The next event is gone.
    #[error("the events up to {0} are no longer kept")]
    Expired(u64),
    /// The answer's task ended before the answer.
    #[error("the answer broke off before its end")]
    BrokenOff,
}

/// What came with a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// Events, and more may follow.
    Events,
    /// Events, if any were left, and the answer's end.
    End,
}

/// Signal from readers to the writer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// No reader is left, and the answer isn't wanted without one.
    NoReader,
    /// A reader's client has received no event for a while.
    HeartbeatDue,
}

/// A log. It lives as long as anybody holds it, its writer or a reader.
#[derive(Clone)]
pub struct EventLog(Arc<Shared>);

/// Writer of the log, held by the answer's task. Dropping it before [`Self::finish`] breaks the log
/// off.
pub struct LogWriter(EventLog);

/// Reader of the log. Dropping it tells the writer.
pub struct LogReader {
    log: EventLog,
    id: u64,
}

struct Shared {
    policy: Policy,
    state: Mutex<State>,
}

/// Makes a log, and a reader from its beginning.
pub fn event_log(policy: Policy) -> (LogWriter, LogReader) {
    let mut state = State::default();
    let id = state.join(0).expect("the first event isn't gone before there is one");
    let log = EventLog(Arc::new(Shared { policy, state: Mutex::new(state) }));
    (LogWriter(log.clone()), LogReader { log, id })
}

impl EventLog {
    /// A reader of event `number` and those after it, whether the answer is under way or has ended.
    ///
    /// # Errors
    /// The event is no longer kept.
    pub fn reader_from(&self, number: u64) -> Result<LogReader, ReadError> {
        let id = self.lock().join(number)?;
        Ok(LogReader { log: self.clone(), id })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes the readers that wait.
    fn tell_readers(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let mut waiting = state.readers.iter_mut().filter_map(|reader| reader.waker.take());
        // Most logs have one reader, and an empty vector allocates nothing.
        let (first, others): (Option<Waker>, Vec<Waker>) = (waiting.next(), waiting.collect());
        drop(state);
        first.into_iter().chain(others).for_each(Waker::wake);
    }
}

impl LogWriter {
    /// The log, for readers that come later.
    pub fn log(&self) -> EventLog {
        self.0.clone()
    }

    /// Appends the waiting events as one append, and empties the buffer.
    pub fn append(&self, buffer: &mut EventBuffer) {
        self.0.tell_readers(|state| state.append(buffer, self.0.0.policy));
        buffer.clear();
    }

    /// Appends the last events and ends the log.
    pub fn finish(&self, buffer: &mut EventBuffer) {
        self.0.tell_readers(|state| {
            state.append(buffer, self.0.0.policy);
            state.end = Some(Ok(()));
        });
        buffer.clear();
    }

    /// Whether no reader is a full queue behind.
    pub(crate) fn has_room(&self) -> bool {
        self.0.lock().has_room(self.0.0.policy)
    }

    /// Waits until no reader is a full queue behind.
    pub async fn room(&self) {
        poll_fn(|cx| self.0.lock().poll_room(self.0.0.policy, cx)).await;
    }

    /// Waits until no reader is left. Cancel-safe.
    pub async fn abandoned(&self) {
        while self.signal().await != Signal::NoReader {}
    }

    /// Waits for a signal from the readers. Cancel-safe.
    pub(crate) async fn signal(&self) -> Signal {
        poll_fn(|cx| self.0.lock().poll_signal(self.0.0.policy, cx)).await
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.0.tell_readers(|state| {
            state.end.get_or_insert(Err(ReadError::BrokenOff));
        });
    }
}

impl LogReader {
    /// Passes events that this reader hasn't taken yet to `each`: number, label, and JSON in two
    /// parts. Called under the log's lock.
    pub(crate) fn poll_read(
        &mut self,
        cx: &Context<'_>,
        each: impl FnMut(u64, Label, (&[u8], &[u8])),
    ) -> Poll<Result<Read, ReadError>> {
        let mut state = self.log.lock();
        let read = state.poll_read(self.id, cx, each);
        if read.is_pending() {
            return Poll::Pending;
        }
        state.drop_read(self.log.0.policy);
        let waits = state.waits_for_room.take();
        drop(state);
        waits.into_iter().for_each(Waker::wake);
        read
    }

    /// Asks the writer for a heartbeat event, since the client has received no event for a while.
    pub(crate) fn ask_for_heartbeat(&self) {
        let mut state = self.log.lock();
        state.heartbeat_due = true;
        let waits = state.waits_for_signal.take();
        drop(state);
        waits.into_iter().for_each(Waker::wake);
    }
}

impl Drop for LogReader {
    fn drop(&mut self) {
        let mut state = self.log.lock();
        state.readers.retain(|reader| reader.id != self.id);
        state.drop_read(self.log.0.policy);
        let waits = [state.waits_for_room.take(), state.waits_for_signal.take()];
        drop(state);
        waits.into_iter().flatten().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests;
