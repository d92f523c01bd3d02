//! Responses, conversations and event logs, kept in transactions (`docs/state.md`). Bodies are
//! bytes of the caller's format; this crate knows nothing of HTTP, protocols or models.
//!
//! - [`Store`]: the trait; each method is a transaction
//! - [`Sqlite`]: a file that one process owns, or memory
//! - [`Postgres`]: a database that hosts share
#![doc = include_str!("../DESIGN.md")]

mod bounds;
mod budget;
mod chunk;
mod clock;
mod error;
mod limits;
mod postgres;
mod records;
mod reply;
mod sql;
mod sqlite;
mod store;
mod types;

pub use self::bounds::{ITEM_BYTES, ROW_BYTES};
pub use budget::{Budget, Payer};
pub use clock::TimeSource;
pub use error::{Full, OpenCause, OpenError, Result, StoreError, TooLong};
pub use limits::Bounds;
pub use postgres::{Postgres, PostgresOptions};
pub use records::{Evicted, ExportedRecord, Purge, SchemaVersions, Stats};
pub use reply::{METRICS, Reply, TRANSACTIONS, register_metrics};
pub use sqlite::{Options, Sqlite, Synchronous, backup, is_in_use};
pub use store::Store;
pub use types::{
    Chunk, Claimed, Completion, CompletionTag, Completions, ContextItem, End, EndedResponse, Events,
    Finished, Items, Lease, Link, LogPosition, Millis, Needs, NewCompletion, NewResponse, Order, Orphaned,
    OtherHost, Owner, Page, ReasoningOutcome, Response, Served, Side, State, Status, StoredConversation,
    StoredItem, Swept,
};
