//! What a log's lock guards: the events that are kept, in one ring of bytes, and where each reader
//! stands. Only `log` uses it.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use super::{Policy, Read, ReadError, Signal};
use api::event_buffer::{EventBuffer, Label};

/// Largest capacity of an empty ring that is kept for reuse. A response object at the end of a long
/// answer makes it larger.
const KEPT_CAPACITY: usize = 16 << 10;

/// Number of bytes after which a read ends, so that a reader that comes late holds the lock for
/// some microseconds only.
const READ_BYTES: usize = 64 << 10;

#[derive(Default)]
pub(crate) struct State {
    /// JSON of the events that are kept.
    json: VecDeque<u8>,
    entries: VecDeque<Entry>,
    /// Number of the first event that is kept.
    first: u64,
    /// Offset of that event, counted in bytes from the log's beginning.
    begin: u64,
    appends: u64,
    /// How the log ended, if it has.
    pub(crate) end: Option<Result<(), ReadError>>,
    pub(crate) heartbeat_due: bool,
    pub(crate) readers: Vec<ReaderPosition>,
    ids: u64,
    /// Waker of the writer, if it waits for a reader that is a full queue behind.
    pub(crate) waits_for_room: Option<Waker>,
    pub(crate) waits_for_signal: Option<Waker>,
}

/// One event.
struct Entry {
    /// Offset of the end of its JSON, counted in bytes from the log's beginning.
    end: u64,
    label: Label,
}

/// Position of one reader.
pub(crate) struct ReaderPosition {
    pub(crate) id: u64,
    /// Number of the event that the reader takes next.
    next: u64,
    /// Number of appends that the reader has taken.
    seen: u64,
    pub(crate) waker: Option<Waker>,
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

    pub(crate) fn append(&mut self, buffer: &EventBuffer, policy: Policy) {
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

    pub(crate) fn join(&mut self, number: u64) -> Result<u64, ReadError> {
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

    pub(crate) fn poll_read(
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
    pub(crate) fn drop_read(&mut self, policy: Policy) {
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

    pub(crate) fn has_room(&self, policy: Policy) -> bool {
        match policy {
            Policy::Cancel { queue } => {
                let queue = queue.max(1) as u64;
                self.readers.iter().all(|reader| self.appends - reader.seen < queue)
            }
            Policy::Continue { .. } => true,
        }
    }

    pub(crate) fn poll_room(&mut self, policy: Policy, cx: &Context<'_>) -> Poll<()> {
        if self.has_room(policy) {
            return Poll::Ready(());
        }
        store(&mut self.waits_for_room, cx);
        Poll::Pending
    }

    pub(crate) fn poll_signal(&mut self, policy: Policy, cx: &Context<'_>) -> Poll<Signal> {
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
    pub(crate) fn kept(&self) -> (usize, usize) {
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
