//! Trait [`Store`]: each method is one transaction, made as a whole or not at all. When it returns,
//! what it did is committed. Whoever doesn't learn whether it was makes it again: new responses and
//! conversations, chunks, output items and ends that are stored just so are a success, and other ones
//! under their ids and numbers an error.
//!
//! Ids and names have no NUL character: one with it is unknown, and isn't stored. Bodies may.
//!
//! Invariant: nothing of one owner is visible to another; foreign ids are
//! [`StoreError::NotFound`](crate::StoreError::NotFound) like unknown ones.

use crate::records::{Evicted, ExportedRecord, Purge, Stats};
use crate::{
    Budget, Chunk, Claimed, Completion, CompletionTag, Completions, ContextItem, End, Events, Finished,
    Items, Lease, Link, LogPosition, Needs, NewCompletion, NewResponse, OtherHost, Owner, Page,
    ReasoningOutcome, Reply, Response, Served, StoredConversation, StoredItem, Swept,
};

/// Responses, conversations and event logs. What is read for somebody is paid for by a [`Budget`] before
/// it is read; one that can't is [`StoreError::Unpaid`](crate::StoreError::Unpaid).
///
/// ```
/// # use store::{Sqlite, Options, Store, Owner, NewResponse, Link, End, Status, Finished};
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let store = Sqlite::memory(&Options::default()).unwrap();
/// let owner = Owner::new("local");
/// let new = NewResponse { id: "resp_1".into(), link: Link::Alone, request: b"{}".to_vec(), input: vec![] };
/// let lease = store.create(&owner, new).await.unwrap();
/// let end = End { status: Status::Completed, result: b"{}".to_vec(), output: vec![], last: None };
/// assert_eq!(store.finish(lease, end).await, Ok(Finished::Now));
/// # });
/// ```
pub trait Store: Send + Sync {
    /// Stores a foreground response, which runs at once, and claims its conversation.
    fn create(&self, owner: &Owner, new: NewResponse) -> Reply<Lease>;
    /// Stores a background response with the first events of its log; some host claims it that serves
    /// what it `needs`, as this one does.
    fn enqueue(&self, owner: &Owner, needs: &Needs, new: NewResponse, log: Vec<Vec<u8>>) -> Reply<()>;
    /// Adds events to the log of a background response, which runs from its first chunk on.
    fn append(&self, lease: &Lease, chunk: Chunk) -> Reply<()>;
    /// Adds finished items to the output of a foreground response that runs, behind the `first` that
    /// it has. They are its output if its host is lost.
    fn add_output(&self, lease: &Lease, first: u64, items: Vec<StoredItem>) -> Reply<()>;
    /// Ends a response. A conversation gets its items if it completed or is incomplete, and is free
    /// again.
    fn finish(&self, lease: Lease, end: End) -> Reply<Finished>;
    /// Takes a response that waits or runs from whoever has it, who writes nothing to it from then on:
    /// for somebody who ends it from elsewhere. None where it has ended.
    fn fence(&self, owner: &Owner, id: &str) -> Reply<Option<Lease>>;

    /// A response.
    fn response(&self, owner: &Owner, id: &str, budget: Budget) -> Reply<Response>;
    /// All items before those of a new response that is linked like this.
    fn context(&self, owner: &Owner, link: &Link, budget: Budget) -> Reply<Vec<ContextItem>>;
    /// A response's input, with everything before it.
    fn items(&self, owner: &Owner, id: &str, page: Page, budget: Budget) -> Reply<Items>;
    /// For each id the newest item that has it in the owner's responses, else in the owner's
    /// conversations; none where it is unknown. An id that is named again is paid for again.
    fn items_by_id(&self, owner: &Owner, ids: Vec<String>, budget: Budget) -> Reply<Vec<Option<StoredItem>>>;
    /// Events behind this number, or from the first on. At most a few chunks: ask again until
    /// `end`.
    fn events_after(&self, owner: &Owner, id: &str, after: Option<u64>) -> Reply<Events>;
    /// Deletes a response, which stops if it runs. Its items stay for the responses that continue
    /// it, and go with the last of them.
    fn delete(&self, owner: &Owner, id: &str) -> Reply<()>;

    /// Stores a conversation with its first items.
    fn conversation_create(
        &self,
        owner: &Owner,
        id: &str,
        metadata: Vec<u8>,
        items: Vec<StoredItem>,
    ) -> Reply<StoredConversation>;
    /// A conversation.
    fn conversation_get(&self, owner: &Owner, id: &str, budget: Budget) -> Reply<StoredConversation>;
    /// Replaces a conversation's metadata.
    fn conversation_update(&self, owner: &Owner, id: &str, metadata: Vec<u8>) -> Reply<StoredConversation>;
    /// Deletes a conversation and its entries. Its responses stay.
    fn conversation_delete(&self, owner: &Owner, id: &str) -> Reply<()>;
    /// Adds items at a conversation's end.
    fn conversation_append(&self, owner: &Owner, id: &str, items: Vec<StoredItem>) -> Reply<()>;
    /// A conversation's items.
    fn conversation_items(&self, owner: &Owner, id: &str, page: Page, budget: Budget) -> Reply<Items>;
    /// Number of a conversation's items.
    fn conversation_len(&self, owner: &Owner, id: &str) -> Reply<u64>;
    /// The newest item of this id in a conversation.
    fn conversation_item(&self, owner: &Owner, id: &str, item: &str, budget: Budget) -> Reply<StoredItem>;
    /// Removes that item.
    fn conversation_remove(&self, owner: &Owner, id: &str, item: &str) -> Reply<StoredConversation>;

    /// Stores a chat completion, which runs at once. Responses never see it, nor its messages.
    fn completion_create(&self, owner: &Owner, new: NewCompletion) -> Reply<Lease>;
    /// A chat completion.
    fn completion_get(&self, owner: &Owner, id: &str, budget: Budget) -> Reply<Completion>;
    /// Chat completions that have all these tags, in the order in which they were created.
    fn completion_list(
        &self,
        owner: &Owner,
        tags: Vec<CompletionTag>,
        page: Page,
        budget: Budget,
    ) -> Reply<Completions>;
    /// Replaces a chat completion's tags.
    fn completion_retag(&self, owner: &Owner, id: &str, tags: Vec<CompletionTag>) -> Reply<()>;
    /// A chat completion's messages.
    fn completion_items(&self, owner: &Owner, id: &str, page: Page, budget: Budget) -> Reply<Items>;
    /// Deletes a chat completion.
    fn completion_delete(&self, owner: &Owner, id: &str) -> Reply<()>;

    /// Claims the background response that waits longest of those that need what is served, of an
    /// owner with fewer than `Bounds::running`. A host asks every few seconds: so others know what is
    /// served.
    fn claim(&self, served: &Served) -> Reply<Option<Claimed>>;
    /// Gives back a background response that was claimed and not begun: it can be claimed at once,
    /// as if it hadn't been.
    fn release(&self, lease: Lease) -> Reply<()>;
    /// Renews leases. Returns those that were lost: their runners must stop.
    fn renew(&self, leases: Vec<Lease>) -> Reply<Vec<Lease>>;
    /// Takes over responses whose host was lost, and those that wait for what nobody serves, at most 64
    /// a call. They aren't run again: the caller ends them.
    fn sweep(&self) -> Reply<Vec<Swept>>;
    /// Removes what is too old, and then what is too much. At most a few hundred rows a call: ask
    /// again while it removed some.
    fn evict(&self) -> Reply<Evicted>;

    /// Notes that this host is there, and what it says of itself: every few seconds. Returns the others
    /// that were there within `Bounds::lease`.
    fn enter(&self, settings: &str) -> Reply<Vec<OtherHost>>;
    /// Forgets this host, which ends.
    fn leave(&self) -> Reply<()>;
    /// Those of these logs that have events behind the position, that have ended, or that are gone: one
    /// question for all followers of a host.
    fn grown(&self, logs: Vec<LogPosition>) -> Reply<Vec<LogPosition>>;
    /// Asks the host that runs a response to end its reasoning. False where no other host runs it.
    fn ask_end_of_reasoning(&self, owner: &Owner, id: &str) -> Reply<bool>;
    /// The responses that this host runs and whose reasoning it is asked to end.
    fn asked_ends_of_reasoning(&self) -> Reply<Vec<(Owner, String)>>;
    /// Says what came of being asked.
    fn answer_end_of_reasoning(&self, owner: &Owner, id: &str, outcome: ReasoningOutcome) -> Reply<()>;
    /// What came of asking; none while its host hasn't said.
    fn end_of_reasoning(&self, owner: &Owner, id: &str) -> Reply<Option<ReasoningOutcome>>;

    /// What is stored.
    fn stats(&self) -> Reply<Stats>;
    /// Deletes what an operator names, running or not.
    fn purge(&self, what: Purge) -> Reply<Evicted>;
    /// What is wrong in the stored data: a line each, none if it is whole.
    fn check(&self) -> Reply<Vec<String>>;
    /// The stored records one by one: the first one behind `after`, which is 0 at first. Returns
    /// its number, to ask with again.
    fn export(&self, owner: Option<&Owner>, after: u64) -> Reply<Option<(u64, ExportedRecord)>>;
}
