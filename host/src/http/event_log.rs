//! Log of one answer's events, between the task that makes them and its readers.
//!
//! The task appends whole events, numbered from 0; a reader takes all new events at once, from any number on. Events that every
//! reader has taken are kept up to a number of bytes, which is 0 for answers that aren't stored. Invariants: a reader gets events
//! in order, each once and whole. The writer waits while a reader is a full queue behind, and learns when no reader is left. The
//! lock is held only while new events are copied.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};

use crate::api::frames::Frames;

/// Largest capacity of an empty buffer that is kept for reuse. A response object at the end of a long answer makes it larger.
const KEPT_CAPACITY: usize = 16 << 10;

/// Writer of the log, held by the answer's task. Dropping it ends the log.
pub(super) struct LogWriter(Arc<Shared>);

/// Reader of the log. Dropping it tells the writer.
pub(super) struct LogReader {
    shared: Arc<Shared>,
    id: u64,
    /// Buffer that events are copied into; its memory is reused after they were sent.
    buffer: BytesMut,
}

/// Signal from readers to the writer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// No reader is left.
    Unread,
    /// A reader's client has received no event for a while.
    HeartbeatDue,
}

/// The requested event is no longer kept.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the events up to {0} are no longer kept")]
pub(super) struct Expired(u64);

struct Shared {
    /// Number of appends that may wait to be read.
    queue: u64,
    /// Number of bytes that are kept of events that all readers have taken.
    kept_bytes: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    bytes: VecDeque<u8>,
    /// End offset of each event, counted in bytes from the log's beginning.
    ends: VecDeque<u64>,
    /// Number of the first event that is kept.
    first: u64,
    /// Offset of that event, counted in bytes from the log's beginning.
    begin: u64,
    appends: u64,
    over: bool,
    heartbeat_due: bool,
    readers: Vec<ReaderPosition>,
    ids: u64,
    /// Waker of the writer, if it waits for a reader that is a full queue behind.
    waits_for_room: Option<Waker>,
    waits_for_signal: Option<Waker>,
}

/// Position of one reader.
struct ReaderPosition {
    id: u64,
    /// Number of the event that the reader takes next.
    next: u64,
    /// Number of appends that the reader has seen.
    seen: u64,
    waker: Option<Waker>,
}

/// Makes a log, and a reader from its beginning. Up to `queue` appends may wait to be read, and up to `kept_bytes` of events that
/// were read are kept.
pub(super) fn event_log(queue: usize, kept_bytes: usize) -> (LogWriter, LogReader) {
    let state = Mutex::new(State::default());
    let shared = Arc::new(Shared { queue: queue.max(1) as u64, kept_bytes, state });
    let reader = LogReader::from(&shared, 0).expect("the first event isn't gone before there is one");
    (LogWriter(shared), reader)
}

impl LogWriter {
    /// Appends the events in `frames` as one append, and empties it.
    pub(super) fn append(&self, frames: &mut Frames) {
        self.0.lock().append(frames);
        self.0.wake_readers();
        frames.clear();
    }

    /// Whether every reader is less than a full queue behind.
    pub(super) fn has_room(&self) -> bool {
        self.0.lock().has_room(self.0.queue)
    }

    /// Waits until every reader is less than a full queue behind, or no reader is left.
    pub(super) async fn room(&self) {
        poll_fn(|cx| self.0.lock().poll_room(self.0.queue, cx)).await;
    }

    /// Waits for a signal from the readers. Cancel-safe.
    pub(super) async fn signal(&self) -> Signal {
        poll_fn(|cx| self.0.lock().poll_signal(cx)).await
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.0.lock().over = true;
        self.0.wake_readers();
    }
}

impl LogReader {
    fn from(shared: &Arc<Shared>, number: u64) -> Result<Self, Expired> {
        let id = shared.lock().join(number)?;
        Ok(Self { shared: Arc::clone(shared), id, buffer: BytesMut::new() })
    }

    /// Another reader of the same log, from event `number` on.
    ///
    /// # Errors
    /// The event is no longer kept.
    #[cfg(test)]
    pub(super) fn another_from(&self, number: u64) -> Result<Self, Expired> {
        Self::from(&self.shared, number)
    }

    /// All events that this reader hasn't taken yet; none at the end of the log.
    pub(super) fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = self.shared.lock();
        if !state.read(self.id, &mut self.buffer) {
            if state.over {
                return Poll::Ready(None);
            }
            store(&mut state.position(self.id).waker, cx);
            return Poll::Pending;
        }
        state.drop_read(self.shared.kept_bytes);
        let waits_for_room = state.waits_for_room.take();
        drop(state);
        waits_for_room.into_iter().for_each(Waker::wake);
        let events = self.buffer.split().freeze();
        if self.buffer.capacity() > KEPT_CAPACITY {
            self.buffer = BytesMut::new();
        }
        Poll::Ready(Some(events))
    }

    /// Asks the writer for a heartbeat event, since the client has received no event for a while.
    pub(super) fn ask_for_heartbeat(&self) {
        let mut state = self.shared.lock();
        state.heartbeat_due = true;
        let waits = state.waits_for_signal.take();
        drop(state);
        waits.into_iter().for_each(Waker::wake);
    }
}

impl Drop for LogReader {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.readers.retain(|reader| reader.id != self.id);
        state.drop_read(self.shared.kept_bytes);
        let waits = [state.waits_for_room.take(), state.waits_for_signal.take()];
        drop(state);
        waits.into_iter().flatten().for_each(Waker::wake);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the tasks that wait for events, outside of the lock.
    fn wake_readers(&self) {
        let wait = |state: &mut State| state.readers.iter_mut().find_map(|reader| reader.waker.take());
        while let Some(waker) = wait(&mut self.lock()) {
            waker.wake();
        }
    }
}

impl State {
    /// Offset at which event `number` begins, or at which the next event will begin.
    fn begin_of(&self, number: u64) -> u64 {
        let before = (number - self.first).checked_sub(1);
        before.map_or(self.begin, |before| self.ends[index(before)])
    }

    /// The number of the next event to be appended.
    fn next(&self) -> u64 {
        self.first + self.ends.len() as u64
    }

    fn append(&mut self, frames: &Frames) {
        let begin = self.begin + self.bytes.len() as u64;
        self.bytes.extend(frames.bytes());
        self.ends.extend(frames.ends().iter().map(|end| begin + *end as u64));
        self.appends += 1;
    }

    fn join(&mut self, number: u64) -> Result<u64, Expired> {
        if number < self.first {
            return Err(Expired(self.first - 1));
        }
        self.ids += 1;
        let next = number.min(self.next());
        self.readers.push(ReaderPosition { id: self.ids, next, seen: self.appends, waker: None });
        Ok(self.ids)
    }

    fn position(&mut self, id: u64) -> &mut ReaderPosition {
        self.readers.iter_mut().find(|reader| reader.id == id).expect("it leaves when it is dropped")
    }

    /// Copies the events that reader `id` hasn't taken; false if there are none.
    fn read(&mut self, id: u64, buffer: &mut BytesMut) -> bool {
        let (next, seen) = (self.next(), self.appends);
        let position = self.position(id);
        let from = std::mem::replace(&mut position.next, next);
        position.seen = seen;
        if from == next {
            return false;
        }
        let skipped = index(self.begin_of(from) - self.begin);
        let (older, newer) = self.bytes.as_slices();
        buffer.extend_from_slice(&older[skipped.min(older.len())..]);
        buffer.extend_from_slice(&newer[skipped.saturating_sub(older.len())..]);
        true
    }

    /// Drops the oldest events that every reader has taken, beyond `kept` bytes.
    fn drop_read(&mut self, kept: usize) {
        let read = self.readers.iter().map(|reader| reader.next).min().unwrap_or_else(|| self.next());
        let end = self.begin + self.bytes.len() as u64;
        let mut begin = self.begin;
        while self.first < read && end - begin > kept as u64 {
            begin = self.ends.pop_front().expect("as many as events kept");
            self.first += 1;
        }
        self.bytes.drain(..index(begin - self.begin));
        self.begin = begin;
        if self.bytes.is_empty() && self.bytes.capacity() > KEPT_CAPACITY {
            self.bytes = VecDeque::new();
        }
    }

    fn has_room(&self, queue: u64) -> bool {
        self.readers.iter().all(|reader| self.appends - reader.seen < queue)
    }

    fn poll_room(&mut self, queue: u64, cx: &Context<'_>) -> Poll<()> {
        if self.has_room(queue) {
            return Poll::Ready(());
        }
        store(&mut self.waits_for_room, cx);
        Poll::Pending
    }

    fn poll_signal(&mut self, cx: &Context<'_>) -> Poll<Signal> {
        if self.readers.is_empty() {
            return Poll::Ready(Signal::Unread);
        }
        if std::mem::take(&mut self.heartbeat_due) {
            return Poll::Ready(Signal::HeartbeatDue);
        }
        store(&mut self.waits_for_signal, cx);
        Poll::Pending
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
