//! Keeping of answers: their ends, and the events of those that run without a client. What is kept
//! is kept before anybody is told of it.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use store::{Chunk, End, Lease, Store};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use api::event_buffer::EventBuffer;

/// Most events in one chunk, and the longest time that an event waits for others.
const CHUNK_EVENTS: usize = 64;
const CHUNK_WAIT: Duration = Duration::from_millis(20);

/// The end couldn't be kept, so nobody may be told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the answer's end couldn't be kept")]
pub struct NotKept;

/// The end of keeping an end.
pub type Keeping = Pin<Box<dyn Future<Output = Result<(), NotKept>> + Send>>;

/// Keeper of one answer's end.
pub trait Keeper: Send {
    /// Keeps the end.
    fn keep(self: Box<Self>, end: End) -> Keeping;
}

/// Log of an answer that runs without a client: its events are stored in chunks, and readers read
/// the store.
pub struct Journal {
    store: Arc<dyn Store>,
    lease: Lease,
    /// Number of stored events, for readers that wait.
    stored: watch::Sender<u64>,
    next: u64,
    waiting: Vec<Vec<u8>>,
    since: Instant,
}

impl Journal {
    /// A journal of the response that is held by `lease`, of which `next` events are stored.
    /// `stored` is told of each further chunk.
    pub fn new(store: Arc<dyn Store>, lease: Lease, next: u64, stored: watch::Sender<u64>) -> Self {
        Self { store, lease, stored, next, waiting: Vec::new(), since: Instant::now() }
    }

    /// Adds events, and empties the buffer.
    pub(super) fn add(&mut self, buffer: &mut EventBuffer) {
        if self.waiting.is_empty() {
            self.since = Instant::now();
        }
        self.waiting.extend(buffer.iter().map(|(_, json)| json.to_vec()));
        buffer.clear();
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= CHUNK_EVENTS
    }

    /// Ready when the oldest event has waited long enough; never ready without one.
    pub(super) async fn due(&self) {
        if self.waiting.is_empty() {
            std::future::pending::<()>().await;
        }
        sleep_until(self.since + CHUNK_WAIT).await;
    }

    /// Stores the events that wait. Those that can't be stored wait on.
    pub(super) async fn flush(&mut self) -> store::Result<()> {
        let Some(chunk) = self.take() else { return Ok(()) };
        let stored = self.store.append(&self.lease, chunk.clone()).await;
        if stored.is_ok() {
            self.stored.send_replace(self.next);
        } else {
            (self.next, self.waiting) = (chunk.first, chunk.events);
        }
        stored
    }

    /// The events that wait, for whoever stores them with the answer's end.
    pub(super) fn take(&mut self) -> Option<Chunk> {
        let events = std::mem::take(&mut self.waiting);
        let first = self.next;
        self.next += events.len() as u64;
        (!events.is_empty()).then_some(Chunk { first, events })
    }
}
