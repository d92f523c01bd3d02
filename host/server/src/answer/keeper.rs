//! Keeping of answers: their ends, and the events of those that run without a client. What is kept
//! is kept before anybody is told of it.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use store::{Chunk, End, Lease, Store, StoredItem};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use api::event_buffer::EventBuffer;

/// Most events in one chunk, and the longest time that an event waits for others.
const CHUNK_EVENTS: usize = 64;
const CHUNK_WAIT: Duration = Duration::from_millis(20);

/// What became of an answer's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// It is kept.
    Here,
    /// Whoever cancelled or deleted the answer has ended it already.
    ByOthers,
    /// Somebody else has ended the answer otherwise, ends it, or has deleted it, so nobody may be
    /// told of this end.
    Late,
    /// It couldn't be kept, so nobody may be told of it.
    Not,
}

/// The end of keeping an end.
pub type Keeping = Pin<Box<dyn Future<Output = Kept> + Send>>;

/// Keeper of one answer's end, and of its items before that.
pub trait Keeper: Send {
    /// Keeps finished items, of which the answer's output begins with `first` others. Returns whether
    /// more are wanted: a keeper that needs none before the end keeps none.
    fn keep_items(&self, _first: usize, _items: Vec<StoredItem>) -> BoxFuture<'static, bool> {
        Box::pin(std::future::ready(false))
    }
    /// Keeps the end.
    fn keep(self: Box<Self>, end: End) -> Keeping;
}

/// What readers of the store can know of an answer that runs without a client.
#[derive(Debug, Clone)]
pub enum StoreProgress {
    /// So many events are stored, and others may follow.
    Stored(u64),
    /// The answer has ended, and its last events aren't stored: it was deleted, or the store failed.
    Unstored(Arc<Chunk>),
}

/// The last events of an answer, which aren't stored.
#[derive(Debug)]
pub struct Unstored {
    /// The events.
    pub last: Chunk,
    /// Whether nobody else has ended the answer, so that the store says that it runs.
    pub is_open: bool,
}

/// Log of an answer that runs without a client: its events are stored in chunks, and readers read
/// the store.
pub struct Journal {
    store: Arc<dyn Store>,
    lease: Lease,
    /// For readers that wait.
    progress: watch::Sender<StoreProgress>,
    next: u64,
    waiting: Vec<Vec<u8>>,
    since: Instant,
    /// A chunk that was sent to the store, which may have it: the same is sent again, and nothing else in
    /// its place.
    sent: Option<Chunk>,
}

impl Journal {
    /// A journal of the response that is held by `lease`, of which `next` events are stored.
    /// `progress` is told of each further chunk.
    pub fn new(
        store: Arc<dyn Store>,
        lease: Lease,
        next: u64,
        progress: watch::Sender<StoreProgress>,
    ) -> Self {
        Self { store, lease, progress, next, waiting: Vec::new(), since: Instant::now(), sent: None }
    }

    /// Adds events, and empties the buffer.
    pub(crate) fn add(&mut self, buffer: &mut EventBuffer) {
        if self.waiting.is_empty() {
            self.since = Instant::now();
        }
        self.waiting.extend(buffer.iter().map(|(_, json)| json.to_vec()));
        buffer.clear();
    }

    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() >= CHUNK_EVENTS
    }

    /// Ready when the oldest event has waited long enough; never ready without one.
    pub(crate) async fn due(&self) {
        if self.waiting.is_empty() {
            std::future::pending::<()>().await;
        }
        sleep_until(self.since + CHUNK_WAIT).await;
    }

    /// Stores the events that wait. Those that can't be stored are the first of the next time.
    pub(crate) async fn flush(&mut self) -> store::Result<()> {
        if self.sent.is_none() {
            self.sent = self.take();
        }
        let Some(chunk) = self.sent.clone() else { return Ok(()) };
        let next = chunk.first + chunk.events.len() as u64;
        self.store.append(&self.lease, chunk).await?;
        self.sent = None;
        self.progress.send_replace(StoreProgress::Stored(next));
        Ok(())
    }

    /// Stores what couldn't be stored before: what comes behind it can't be otherwise.
    pub(crate) async fn send_again(&mut self) {
        if self.sent.is_some() {
            // Its failure is that of what comes behind it.
            let _ = self.flush().await;
        }
    }

    /// The events that wait, for whoever stores them with the answer's end.
    pub(crate) fn take(&mut self) -> Option<Chunk> {
        let events = std::mem::take(&mut self.waiting);
        let first = self.next;
        self.next += events.len() as u64;
        (!events.is_empty()).then_some(Chunk { first, events })
    }

    /// The answer's last events, where `taken` ones couldn't be stored and those of the buffer were
    /// written instead of the very last of them.
    pub(crate) fn rest(&self, taken: Option<Chunk>, instead: &EventBuffer) -> Chunk {
        let mut last = taken.unwrap_or(Chunk { first: self.next, events: Vec::new() });
        if !instead.is_empty() {
            last.events.pop();
        }
        last.events.extend(instead.iter().map(|(_, json)| json.to_vec()));
        match self.sent.clone() {
            Some(Chunk { first, mut events }) => {
                events.append(&mut last.events);
                Chunk { first, events }
            }
            None => last,
        }
    }
}
