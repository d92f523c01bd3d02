//! What callers hand to a store and get back: owners, items, responses, leases, event chunks,
//! conversations. Bodies are opaque bytes.
//!
//! What can't be is not a value here: a response has one link at most, a result only once it ended,
//! and only background responses (`Store::enqueue`) have an event log.

use std::sync::Arc;

/// Milliseconds since 1970, by the store's clock.
pub type Millis = u64;

/// The name that everything stored belongs to. Another owner's data is as unknown as what never
/// existed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner(Arc<str>);

impl Owner {
    /// The owner of this name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// Part of a response's input or output, or of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredItem {
    /// Id, chosen by the caller. It may occur again, since clients send items back.
    pub id: String,
    /// The item itself.
    pub body: Vec<u8>,
}

/// Whether an item was given to the model or written by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Given.
    Input,
    /// Written.
    Output,
}

/// What a response continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// Nothing.
    Alone,
    /// The response with this id.
    Parent(String),
    /// The conversation with this id, which gets the response's items when it ends.
    Conversation(String),
    /// Nothing: it is a thread's first turn. Turns of threads are read as what a later one
    /// continues, and in no other way; one that doesn't end well leaves nothing.
    Thread,
    /// The thread's turn with this id, which is continued once.
    Turn(String),
}

/// A response to be stored.
#[derive(Clone, Debug)]
pub struct NewResponse {
    /// Id, unique among its owner's responses.
    pub id: String,
    /// What it continues.
    pub link: Link,
    /// What is needed to run it and to show it: the caller's own format.
    pub request: Vec<u8>,
    /// Its own input, without that of what it continues.
    pub input: Vec<StoredItem>,
}

/// What a background response needs to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Name of its model.
    pub model: String,
    /// Version of the caller's format that its request is in.
    pub version: u64,
}

/// What a host runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Names of its models.
    pub models: Vec<String>,
    /// Newest version of the caller's format that it reads.
    pub version: u64,
}

/// The right to write to one running response. Every write names host and epoch: who lost the lease
/// writes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub(crate) owner: Owner,
    pub(crate) id: String,
    pub(crate) host: Arc<str>,
    pub(crate) epoch: u64,
}

impl Lease {
    /// The response's owner.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The response's id.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// Events of a background response that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Sequence number of the first one. The log has no gaps: it is the number of events before it.
    pub first: u64,
    /// The events, at least one.
    pub events: Vec<Vec<u8>>,
}

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// As the model wanted.
    Completed,
    /// At a limit.
    Incomplete,
    /// By its client.
    Cancelled,
    /// By an error. It can't be continued.
    Failed,
}

/// The end of a response.
#[derive(Clone, Debug)]
pub struct End {
    /// How.
    pub status: Status,
    /// What is shown of it beside its items: the caller's own format.
    pub result: Vec<u8>,
    /// Items that the model wrote. Those that `Store::add_output` stored are the first of them, and
    /// stay as they are.
    pub output: Vec<StoredItem>,
    /// Last events of a background response.
    pub last: Option<Chunk>,
}

/// A response that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedResponse {
    /// How.
    pub status: Status,
    /// When.
    pub at: Millis,
    /// [`End::result`].
    pub result: Vec<u8>,
    /// [`End::output`].
    pub output: Vec<StoredItem>,
}

/// How far a response is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits for a host, or its host hasn't written its first chunk yet.
    Queued,
    /// It runs. A foreground one has the items that `Store::add_output` stored.
    Running(Vec<StoredItem>),
    /// It ended.
    Ended(EndedResponse),
}

/// A stored response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Its id.
    pub id: String,
    /// What it continues.
    pub link: Link,
    /// Whether it has an event log.
    pub background: bool,
    /// When it was created.
    pub created: Millis,
    /// [`NewResponse::request`].
    pub request: Vec<u8>,
    /// How far it is.
    pub state: State,
}

/// What became of `Store::finish`. The first to finish wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finished {
    /// This call ended it.
    Now,
    /// It had ended like this before.
    Before(Response),
}

/// A background response that this host has to run.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// The right to write to it.
    pub lease: Lease,
    /// The response.
    pub response: Response,
}

/// A response that this host has to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// The right to write to it.
    pub lease: Lease,
    /// Why nobody else does.
    pub why: Orphaned,
}

/// Why a response is nobody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orphaned {
    /// Its host was lost, or the last of those that claimed it.
    Lost,
    /// It waits, and no host has served what it needs for `Bounds::unserved`.
    Unserved,
}

/// One item of a context: a response's, with its side, or a conversation's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextItem {
    /// Whether it was input or output; none for a conversation's entry.
    pub side: Option<Side>,
    /// The item.
    pub item: StoredItem,
}

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Oldest first.
    Ascending,
    /// Newest first.
    Descending,
}

/// Which part of a list is asked for.
#[derive(Clone, Debug)]
pub struct Page {
    /// Order of the whole list.
    pub order: Order,
    /// At most so many items.
    pub limit: usize,
    /// At most so many bytes of bodies. The first item comes whatever its size.
    pub bytes: u64,
    /// Behind the item with this id, in that order. Unknown: `NotFound`.
    pub after: Option<String>,
}

impl Page {
    /// The whole list, oldest first.
    pub fn whole() -> Self {
        Self { order: Order::Ascending, limit: usize::MAX, bytes: u64::MAX, after: None }
    }

    /// Rows that tell whether more follow, as a parameter of SQLite.
    pub(crate) fn rows(&self) -> i64 {
        i64::try_from(self.limit).unwrap_or(i64::MAX).saturating_add(1)
    }

    /// Whether an element of `next` bytes still belongs to it, behind `elements` that have `bytes`.
    pub(crate) fn has_room(&self, elements: usize, bytes: u64, next: u64) -> bool {
        elements < self.limit && (elements == 0 || bytes.saturating_add(next) <= self.bytes)
    }
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Items {
    /// Its items.
    pub data: Vec<StoredItem>,
    /// Whether more follow.
    pub more: bool,
}

/// Answer to "which events follow number N".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Events {
    /// Some of those that follow, in order.
    Log {
        /// The events and the number of the first. Without events it is the number of the next one.
        chunk: Chunk,
        /// Whether the response ended and nothing follows these.
        end: bool,
        /// Where the log was read to.
        position: LogPosition,
    },
    /// The log is gone: it is kept for a time after the end only.
    Expired,
    /// A foreground response has no log.
    Unlogged,
}

/// How far a reader is in a response's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LogPosition {
    pub(crate) response: i64,
    /// Number of the next event.
    pub(crate) next: u64,
}

/// Another host that shares the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherHost {
    /// Its name in leases.
    pub name: String,
    /// What it says of itself, in the caller's format.
    pub settings: String,
}

/// What came of asking a host to end the reasoning of a response that it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasoningOutcome {
    /// Its reasoning ends.
    Ends,
    /// It isn't reasoning.
    NotReasoning,
    /// Its reasoning can't be ended.
    NotEndable,
}

/// A stored conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredConversation {
    /// Its id.
    pub id: String,
    /// When it was created.
    pub created: Millis,
    /// The caller's own format.
    pub metadata: Vec<u8>,
}

/// A name and value by which a chat completion is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionTag {
    /// The name. A completion has each name once.
    pub name: String,
    /// The value.
    pub value: String,
}

/// A chat completion to be stored. It continues nothing; whoever has the lease ends it as a
/// response. It can be read once it completed or is incomplete; otherwise nothing of it stays.
#[derive(Clone, Debug)]
pub struct NewCompletion {
    /// Id, unique among its owner's responses and completions.
    pub id: String,
    /// What it is listed by.
    pub tags: Vec<CompletionTag>,
    /// Its messages.
    pub input: Vec<StoredItem>,
}

/// A stored chat completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Its id.
    pub id: String,
    /// What it is listed by.
    pub tags: Vec<CompletionTag>,
    /// [`End::result`].
    pub result: Vec<u8>,
}

/// A part of a list of chat completions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completions {
    /// The completions.
    pub data: Vec<Completion>,
    /// Whether more follow.
    pub more: bool,
}
