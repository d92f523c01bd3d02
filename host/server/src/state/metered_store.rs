//! The store with its metrics: how long transactions take, and how they fail.

use std::sync::Arc;
use std::time::Instant;

use store::{
    Budget, Chunk, Claimed, Completion, CompletionTag, Completions, ContextItem, End, Events, Evicted,
    ExportedRecord, Finished, Items, Lease, Link, NewCompletion, NewResponse, Owner, Page, Purge, Reply,
    Response, Stats, Store, StoreError, StoredConversation, StoredItem, Target,
};

/// Time of transactions, from the call to the answer.
pub(crate) const SECONDS: &str = "sluice_store_transaction_seconds";
/// Bounds of its buckets. A commit takes a tenth of a millisecond.
pub(crate) const BUCKETS: [f64; 10] = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 5.0];
const ERRORS: &str = "sluice_store_errors_total";

pub(crate) fn describe() {
    metrics::describe_histogram!(SECONDS, "Time of transactions of the store, by kind.");
    metrics::describe_counter!(ERRORS, "Transactions that the store didn't make, by reason.");
}

/// Store that measures the transactions of another one.
pub(crate) struct MeteredStore(Arc<dyn Store>);

impl MeteredStore {
    /// Wraps a store. Its metrics are there from now on.
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        for kind in [Kind::Read, Kind::Write] {
            let _ = metrics::histogram!(SECONDS, "kind" => kind.word());
        }
        for reason in REASONS {
            let _ = metrics::counter!(ERRORS, "reason" => reason);
        }
        Self(store)
    }
}

/// Whether a transaction writes.
#[derive(Clone, Copy)]
enum Kind {
    Read,
    Write,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

const REASONS: [&str; 8] =
    ["duplicate", "locked", "full", "queue_full", "too_long", "unpaid", "lease_lost", "unavailable"];

/// Word for an error; none where what was asked for isn't there, or is there already, which is an
/// answer.
fn reason(error: &StoreError) -> Option<&'static str> {
    match error {
        StoreError::NotFound | StoreError::DuplicateItem(_) => None,
        StoreError::Duplicate => Some("duplicate"),
        StoreError::Locked | StoreError::Continued { .. } => Some("locked"),
        StoreError::Full(_) => Some("full"),
        StoreError::QueueFull(_) => Some("queue_full"),
        StoreError::TooLong(_) => Some("too_long"),
        StoreError::Unpaid => Some("unpaid"),
        StoreError::LeaseLost | StoreError::Sequence { .. } => Some("lease_lost"),
        StoreError::Unavailable(_) => Some("unavailable"),
    }
}

fn measured<T: 'static>(kind: Kind, reply: Reply<T>) -> Reply<T> {
    Box::pin(async move {
        let begun = Instant::now();
        let result = reply.await;
        metrics::histogram!(SECONDS, "kind" => kind.word()).record(begun.elapsed());
        if let Some(reason) = result.as_ref().err().and_then(reason) {
            metrics::counter!(ERRORS, "reason" => reason).increment(1);
        }
        result
    })
}

fn read<T: 'static>(reply: Reply<T>) -> Reply<T> {
    measured(Kind::Read, reply)
}

fn write<T: 'static>(reply: Reply<T>) -> Reply<T> {
    measured(Kind::Write, reply)
}

impl Store for MeteredStore {
    fn create(&self, owner: &Owner, new: NewResponse) -> Reply<Lease> {
        write(self.0.create(owner, new))
    }

    fn enqueue(&self, owner: &Owner, new: NewResponse, log: Vec<Vec<u8>>) -> Reply<()> {
        write(self.0.enqueue(owner, new, log))
    }

    fn append(&self, lease: &Lease, chunk: Chunk) -> Reply<()> {
        write(self.0.append(lease, chunk))
    }

    fn add_output(&self, lease: &Lease, first: u64, items: Vec<StoredItem>) -> Reply<()> {
        write(self.0.add_output(lease, first, items))
    }

    fn finish(&self, target: Target, end: End) -> Reply<Finished> {
        write(self.0.finish(target, end))
    }

    fn response(&self, owner: &Owner, id: &str, budget: Budget) -> Reply<Response> {
        read(self.0.response(owner, id, budget))
    }

    fn context(&self, owner: &Owner, link: &Link, budget: Budget) -> Reply<Vec<ContextItem>> {
        read(self.0.context(owner, link, budget))
    }

    fn items(&self, owner: &Owner, id: &str, page: Page, budget: Budget) -> Reply<Items> {
        read(self.0.items(owner, id, page, budget))
    }

    fn items_by_id(&self, owner: &Owner, ids: Vec<String>, budget: Budget) -> Reply<Vec<Option<StoredItem>>> {
        read(self.0.items_by_id(owner, ids, budget))
    }

    fn events_after(&self, owner: &Owner, id: &str, after: Option<u64>) -> Reply<Events> {
        read(self.0.events_after(owner, id, after))
    }

    fn delete(&self, owner: &Owner, id: &str) -> Reply<()> {
        write(self.0.delete(owner, id))
    }

    fn conversation_create(
        &self,
        owner: &Owner,
        id: &str,
        metadata: Vec<u8>,
        items: Vec<StoredItem>,
    ) -> Reply<StoredConversation> {
        write(self.0.conversation_create(owner, id, metadata, items))
    }

    fn conversation_get(&self, owner: &Owner, id: &str, budget: Budget) -> Reply<StoredConversation> {
        read(self.0.conversation_get(owner, id, budget))
    }

    fn conversation_update(&self, owner: &Owner, id: &str, metadata: Vec<u8>) -> Reply<StoredConversation> {
        write(self.0.conversation_update(owner, id, metadata))
    }

    fn conversation_delete(&self, owner: &Owner, id: &str) -> Reply<()> {
        write(self.0.conversation_delete(owner, id))
    }

    fn conversation_append(&self, owner: &Owner, id: &str, items: Vec<StoredItem>) -> Reply<()> {
        write(self.0.conversation_append(owner, id, items))
    }

    fn conversation_items(&self, owner: &Owner, id: &str, page: Page, budget: Budget) -> Reply<Items> {
        read(self.0.conversation_items(owner, id, page, budget))
    }

    fn conversation_len(&self, owner: &Owner, id: &str) -> Reply<u64> {
        read(self.0.conversation_len(owner, id))
    }

    fn conversation_item(&self, owner: &Owner, id: &str, item: &str, budget: Budget) -> Reply<StoredItem> {
        read(self.0.conversation_item(owner, id, item, budget))
    }

    fn conversation_remove(&self, owner: &Owner, id: &str, item: &str) -> Reply<StoredConversation> {
        write(self.0.conversation_remove(owner, id, item))
    }

    fn completion_create(&self, owner: &Owner, new: NewCompletion) -> Reply<Lease> {
        write(self.0.completion_create(owner, new))
    }

    fn completion_get(&self, owner: &Owner, id: &str, budget: Budget) -> Reply<Completion> {
        read(self.0.completion_get(owner, id, budget))
    }

    fn completion_list(
        &self,
        owner: &Owner,
        tags: Vec<CompletionTag>,
        page: Page,
        budget: Budget,
    ) -> Reply<Completions> {
        read(self.0.completion_list(owner, tags, page, budget))
    }

    fn completion_retag(&self, owner: &Owner, id: &str, tags: Vec<CompletionTag>) -> Reply<()> {
        write(self.0.completion_retag(owner, id, tags))
    }

    fn completion_items(&self, owner: &Owner, id: &str, page: Page, budget: Budget) -> Reply<Items> {
        read(self.0.completion_items(owner, id, page, budget))
    }

    fn completion_delete(&self, owner: &Owner, id: &str) -> Reply<()> {
        write(self.0.completion_delete(owner, id))
    }

    fn claim(&self) -> Reply<Option<Claimed>> {
        write(self.0.claim())
    }

    fn release(&self, lease: Lease) -> Reply<()> {
        write(self.0.release(lease))
    }

    fn renew(&self, leases: Vec<Lease>) -> Reply<Vec<Lease>> {
        write(self.0.renew(leases))
    }

    fn sweep(&self) -> Reply<Vec<Claimed>> {
        write(self.0.sweep())
    }

    fn evict(&self) -> Reply<Evicted> {
        write(self.0.evict())
    }

    fn stats(&self) -> Reply<Stats> {
        read(self.0.stats())
    }

    fn purge(&self, what: Purge) -> Reply<Evicted> {
        write(self.0.purge(what))
    }

    fn check(&self) -> Reply<Vec<String>> {
        read(self.0.check())
    }

    fn export(&self, owner: Option<&Owner>, after: u64) -> Reply<Option<(u64, ExportedRecord)>> {
        read(self.0.export(owner, after))
    }
}
