//! The queue from answers to the thread that writes their records.
//!
//! Invariant: it holds at most [`QUEUE_LINES`] lines and [`QUEUE_BYTES`] bytes, and nobody waits for
//! room. What ends a record is known to the writer even if the queue was full.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Most lines that wait to be written.
const QUEUE_LINES: usize = 8192;
/// Most bytes of the lines that wait to be written.
pub(crate) const QUEUE_BYTES: usize = 16 << 20;

/// How a record ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    /// Its answer was dropped, since its client left.
    Left,
    /// Its answer has ended.
    Ended {
        /// Whether it failed.
        has_failed: bool,
    },
    /// Nothing of it is kept.
    Discarded,
}

/// A record that is to be written.
#[derive(Debug)]
pub(super) struct NewRecord {
    /// Number of its answer in this process.
    pub(super) answer: u64,
    /// Name of its file.
    pub(super) name: String,
    /// Whether it is kept, however its answer ends.
    pub(super) is_sampled: bool,
}

/// A line of a record.
pub(super) struct QueuedLine {
    pub(super) record: Arc<NewRecord>,
    pub(super) text: Vec<u8>,
}

/// The answers' end of the queue.
#[derive(Debug, Clone)]
pub(super) struct RecordQueue {
    lines: SyncSender<QueuedLine>,
    shared: Arc<QueueState>,
}

/// The writer's end of the queue.
pub(super) struct RecordInlet {
    lines: Receiver<QueuedLine>,
    shared: Arc<QueueState>,
}

#[derive(Debug, Default)]
struct QueueState {
    bytes: AtomicUsize,
    is_closing: AtomicBool,
    /// Fates of answers that are over. Each answer has one entry until its record is closed.
    fates: Mutex<HashMap<u64, Fate>>,
}

/// Creates a queue.
pub(super) fn record_queue() -> (RecordQueue, RecordInlet) {
    let (sender, receiver) = sync_channel(QUEUE_LINES);
    let shared = Arc::new(QueueState::default());
    (RecordQueue { lines: sender, shared: Arc::clone(&shared) }, RecordInlet { lines: receiver, shared })
}

impl RecordQueue {
    /// Queues a line; false if there is no room for it.
    pub(super) fn push(&self, record: &Arc<NewRecord>, text: Vec<u8>) -> bool {
        let size = text.len();
        let bytes = &self.shared.bytes;
        if bytes.fetch_add(size, Ordering::Relaxed).saturating_add(size) > QUEUE_BYTES
            || self.lines.try_send(QueuedLine { record: Arc::clone(record), text }).is_err()
        {
            bytes.fetch_sub(size, Ordering::Relaxed);
            return false;
        }
        true
    }

    /// Says that the answer has ended.
    pub(super) fn ended(&self, answer: u64, has_failed: bool) {
        self.shared.decide(answer, Fate::Ended { has_failed });
    }

    /// Says that the answer's record isn't wanted.
    pub(super) fn discard(&self, answer: u64) {
        self.shared.decide(answer, Fate::Discarded);
    }

    /// Tells the writer to end once it has written what waits.
    pub(super) fn close(&self) {
        self.shared.is_closing.store(true, Ordering::Relaxed);
    }

    /// Says that nobody records the answer any more.
    pub(super) fn left(&self, answer: u64) {
        self.shared.decide(answer, Fate::Left);
    }
}

impl RecordInlet {
    /// The next line, if one comes within `time`.
    pub(super) fn next(&self, time: Duration) -> Result<QueuedLine, RecvTimeoutError> {
        let line = self.lines.recv_timeout(time)?;
        self.shared.bytes.fetch_sub(line.text.len(), Ordering::Relaxed);
        Ok(line)
    }

    /// Whether the writer is to end.
    pub(super) fn is_closing(&self) -> bool {
        self.shared.is_closing.load(Ordering::Relaxed)
    }

    /// The next line that waits already.
    pub(super) fn waiting(&self) -> Option<QueuedLine> {
        let line = self.lines.try_recv().ok()?;
        self.shared.bytes.fetch_sub(line.text.len(), Ordering::Relaxed);
        Some(line)
    }

    /// Fates that were decided since the last call. All lines of these answers have been queued
    /// before this call.
    pub(super) fn fates(&self) -> HashMap<u64, Fate> {
        std::mem::take(&mut *self.shared.fates.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl QueueState {
    /// An answer whose fate is known leaves later, which changes nothing.
    fn decide(&self, answer: u64, fate: Fate) {
        let mut fates = self.fates.lock().unwrap_or_else(PoisonError::into_inner);
        let known = fates.entry(answer).or_insert(fate);
        *known = (*known).max(fate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_takes_no_more_than_its_lines_and_bytes() {
        let (queue, inlet) = record_queue();
        let record = |answer| Arc::new(NewRecord { answer, name: String::new(), is_sampled: true });
        let (one, two) = (record(1), record(2));
        assert!(queue.push(&one, vec![0; QUEUE_BYTES]) && !queue.push(&one, vec![0]));
        assert_eq!(inlet.waiting().unwrap().text.len(), QUEUE_BYTES);
        assert!((0..QUEUE_LINES).all(|_| queue.push(&two, vec![0])) && !queue.push(&two, vec![0]));
        queue.ended(2, true);
        queue.left(2);
        queue.left(1);
        let fates = inlet.fates();
        assert_eq!((fates[&1], fates[&2]), (Fate::Left, Fate::Ended { has_failed: true }));
        assert!(inlet.fates().is_empty());
        assert_eq!(std::iter::from_fn(|| inlet.waiting()).count(), QUEUE_LINES);
    }
}
