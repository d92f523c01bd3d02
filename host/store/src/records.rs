//! What an operator asks of a store: figures, purges, exported records.

use std::ops::AddAssign;

use crate::{Completion, Millis, Owner, Response, StoredConversation, StoredItem};

/// What is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Responses and chat completions that can be read.
    pub responses: u64,
    /// Background responses that wait.
    pub queued: u64,
    /// Responses that run.
    pub running: u64,
    /// Background responses among them.
    pub running_background: u64,
    /// Deleted responses whose items a living one needs.
    pub kept: u64,
    /// Conversations.
    pub conversations: u64,
    /// Counted bytes of each owner.
    pub owners: Vec<(Owner, u64)>,
    /// Bytes of the database's pages that are in use.
    pub file_bytes: u64,
    /// What was evicted since it was opened, for space and for age.
    pub evicted: Evicted,
}

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evicted {
    /// Responses.
    pub responses: u64,
    /// Conversations.
    pub conversations: u64,
    /// Event logs.
    pub logs: u64,
}

impl AddAssign for Evicted {
    fn add_assign(&mut self, more: Self) {
        self.responses += more.responses;
        self.conversations += more.conversations;
        self.logs += more.logs;
    }
}

/// What an operator wants gone. Both given: what fits both; none: everything.
#[derive(Clone, Debug, Default)]
pub struct Purge {
    /// Of this owner.
    pub owner: Option<Owner>,
    /// Unused since then.
    pub unused_since: Option<Millis>,
    /// Whether it is only counted.
    pub count_only: bool,
}

/// An exported record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportedRecord {
    /// A response with its own input.
    Response(Owner, Response, Vec<StoredItem>),
    /// A chat completion with its messages.
    Completion(Owner, Completion, Vec<StoredItem>),
    /// A conversation with its items.
    Conversation(Owner, StoredConversation, Vec<StoredItem>),
}

/// The schema of a database: a number that migrations raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemaVersions {
    /// Number before it was opened; 0 of a new one.
    pub before: usize,
    /// Number since then.
    pub now: usize,
}
