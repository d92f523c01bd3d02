//! Log of one answer's events, between the task that makes them and its readers.
//!
//! The task appends whole events, numbered from 0; a reader takes new events from any number on.
//! Invariants: a reader gets events in order, each once and whole, or learns that they are gone.
//! The lock is held only while new events are copied, a bounded number of bytes at once, and nobody
//! is woken under it.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use api::event_buffer::{EventBuffer, Label};

/// Largest capacity of an empty ring that is kept for reuse. A response object at the end of a long
/// answer makes it larger.
const KEPT_CAPACITY: usize = 16 << 10;

/// Number of bytes after which a read ends, so that a reader that comes late holds the lock for
/// some microseconds only.
const READ_BYTES: usize = 64 << 10;

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

/// What a log's lock guards: the events that are kept, in one ring of bytes, and where each reader
/// stands.
#[derive(Default)]
struct State {
    /// JSON of the events that are kept.
    json: VecDeque<u8>,
    entries: VecDeque<Entry>,
    /// Number of the first event that is kept.
    first: u64,
    /// Offset of that event, counted in bytes from the log's beginning.
    begin: u64,
    appends: u64,
    /// How the log ended, if it has.
    end: Option<Result<(), ReadError>>,
    heartbeat_due: bool,
    readers: Vec<ReaderPosition>,
    ids: u64,
    /// Waker of the writer, if it waits for a reader that is a full queue behind.
    waits_for_room: Option<Waker>,
    waits_for_signal: Option<Waker>,
}

/// One event.
struct Entry {
    /// Offset of the end of its JSON, counted in bytes from the log's beginning.
    end: u64,
    label: Label,
}

/// Position of one reader.
struct ReaderPosition {
    id: u64,
    /// Number of the event that the reader takes next.
    next: u64,
    /// Number of appends that the reader has taken.
    seen: u64,
    waker: Option<Waker>,
}

impl State {
    /// Offset at which a kept event begins, or at which the next event will begin.
    fn begin_of(&self, number: u64) -> u64 {
        let before = (number - self.first).checked_sub(1);
        before.map_or(self.begin, |before| self.entries[index(before)].end)
    }

    /// The number of the next event to be appended.
    fn next(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    fn append(&mut self, buffer: &EventBuffer, policy: Policy) {
        if buffer.is_empty() {
            return;
        }
        let (begin, next) = (self.begin + self.json.len() as u64, self.next());
        self.json.extend(buffer.json());
        self.entries.extend(buffer.ends().map(|(end, label)| Entry { end: begin + end as u64, label }));
        self.appends += 1;
        if let Policy::Continue { kept_bytes } = policy {
            self.drop_before(next, kept_bytes);
        }
    }

    fn join(&mut self, number: u64) -> Result<u64, ReadError> {
        if number < self.first {
            return Err(ReadError::Expired(self.first - 1));
        }
        self.ids += 1;
        self.readers.push(ReaderPosition { id: self.ids, next: number, seen: self.appends, waker: None });
        Ok(self.ids)
    }

    fn position(&mut self, id: u64) -> &mut ReaderPosition {
        self.readers.iter_mut().find(|reader| reader.id == id).expect("it leaves when it is dropped")
    }

    fn poll_read(
        &mut self,
        id: u64,
        cx: &Context<'_>,
        each: impl FnMut(u64, Label, (&[u8], &[u8])),
    ) -> Poll<Result<Read, ReadError>> {
        let from = self.position(id).next;
        if from < self.first {
            return Poll::Ready(Err(ReadError::Expired(self.first - 1)));
        }
        let to = self.read(from, each).max(from);
        let (next, appends, end) = (self.next(), self.appends, self.end);
        let position = self.position(id);
        position.next = to;
        if to >= next {
            position.seen = appends;
        }
        match end {
            Some(Ok(())) if to >= next => Poll::Ready(Ok(Read::End)),
            _ if to > from => Poll::Ready(Ok(Read::Events)),
            Some(end) => Poll::Ready(end.map(|()| Read::End)),
            None => {
                store(&mut position.waker, cx);
                Poll::Pending
            }
        }
    }

    /// Passes the events from `from` on to `each`, up to a number of bytes. Returns the number of
    /// the next event.
    fn read(&self, from: u64, mut each: impl FnMut(u64, Label, (&[u8], &[u8]))) -> u64 {
        let next = self.next();
        if from >= next {
            return from;
        }
        let (older, newer) = self.json.as_slices();
        let part = |from: usize, to: usize| {
            let (cut, cut_to) = (from.min(older.len()), to.min(older.len()));
            (&older[cut..cut_to], &newer[from - cut..to - cut_to])
        };
        let first_begin = index(self.begin_of(from) - self.begin);
        let mut begin = first_begin;
        for (number, entry) in (from..).zip(self.entries.range(index(from - self.first)..)) {
            let end = index(entry.end - self.begin);
            each(number, entry.label, part(begin, end));
            begin = end;
            if end - first_begin >= READ_BYTES {
                return number + 1;
            }
        }
        next
    }

    /// Drops the events that every reader has taken, if the policy keeps none of them.
    fn drop_read(&mut self, policy: Policy) {
        if let Policy::Cancel { .. } = policy {
            let next = self.next();
            let read = self.readers.iter().map(|reader| reader.next).min().unwrap_or(next);
            self.drop_before(read, 0);
        }
    }

    /// Drops the oldest events before event `number`, beyond `kept` bytes.
    fn drop_before(&mut self, number: u64, kept: usize) {
        let end = self.begin + self.json.len() as u64;
        let mut begin = self.begin;
        let size = |entries: usize, begin: u64| index(end - begin) + entries * size_of::<Entry>();
        while self.first < number && size(self.entries.len(), begin) > kept {
            let Some(entry) = self.entries.pop_front() else { break };
            begin = entry.end;
            self.first += 1;
        }
        self.json.drain(..index(begin - self.begin));
        self.begin = begin;
        if self.json.is_empty() && self.json.capacity() > KEPT_CAPACITY {
            self.json = VecDeque::new();
        }
    }

    fn has_room(&self, policy: Policy) -> bool {
        match policy {
            Policy::Cancel { queue } => {
                let queue = queue.max(1) as u64;
                self.readers.iter().all(|reader| self.appends - reader.seen < queue)
            }
            Policy::Continue { .. } => true,
        }
    }

    fn poll_room(&mut self, policy: Policy, cx: &Context<'_>) -> Poll<()> {
        if self.has_room(policy) {
            return Poll::Ready(());
        }
        store(&mut self.waits_for_room, cx);
        Poll::Pending
    }

    fn poll_signal(&mut self, policy: Policy, cx: &Context<'_>) -> Poll<Signal> {
        if matches!(policy, Policy::Cancel { .. }) && self.readers.is_empty() {
            return Poll::Ready(Signal::NoReader);
        }
        if std::mem::take(&mut self.heartbeat_due) {
            return Poll::Ready(Signal::HeartbeatDue);
        }
        store(&mut self.waits_for_signal, cx);
        Poll::Pending
    }

    /// Bytes and number of the events that are kept.
    #[cfg(test)]
    fn kept(&self) -> (usize, usize) {
        (self.json.len(), self.entries.len())
    }
}

/// Stores the waker of the current task.
fn store(slot: &mut Option<Waker>, cx: &Context<'_>) {
    match slot {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *slot = Some(cx.waker().clone()),
    }
}

/// Converts a number or a byte offset of kept events to an index.
fn index(number: u64) -> usize {
    usize::try_from(number).expect("what is in memory has an address")
}

#[cfg(test)]
mod tests;
