//! Responses, conversations and event logs, kept in transactions (`docs/state.md`). Bodies are
//! bytes of the caller's format; this crate knows nothing of HTTP, protocols or models.
//!
//! - [`Store`]: the trait; each method is a transaction
//! - [`Sqlite`]: a file that one process owns, or memory
#![doc = include_str!("../DESIGN.md")]

mod bounds;
mod budget;
mod chunk;
mod error;
mod limits;
mod records;
mod sqlite;
mod store;
mod types;

pub use self::bounds::{Bounds, Clock, ITEM_BYTES, ROW_BYTES};
pub use budget::{Budget, Payer};
pub use error::{Error, Full, OpenCause, OpenError, Result, TooLong};
pub use limits::StoreLimits;
pub use records::{Evicted, Purge, Record, Stats};
pub use sqlite::{Options, Schema, Sqlite, Synchronous, backup, is_in_use};
pub use store::{Reply, Store};
pub use types::{
    Chunk, Claimed, Completion, Completions, ContextItem, Conversation, End, Events, Finished, Item, Items,
    Lease, Link, Millis, NewCompletion, NewResponse, Order, Outcome, Owner, Page, Response, Side, State,
    Status, Tag, Target,
};
