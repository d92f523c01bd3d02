//! What is stored of answers and conversations: how a request's references are read and paid for, how
//! an answer's output is kept, background responses that run, and the upkeep of the store.
//!
//! Invariants: nothing of a stored answer leaves before it is committed; the store is reached only as
//! the owner of a request. Every running response of this process is in `Running`, which renews its
//! lease; whoever loses the lease stops.

pub(crate) mod background;
pub(crate) mod elsewhere;
pub(crate) mod ending;
pub(crate) mod exchange;
pub(crate) mod keeping;
mod presence;
pub(crate) mod queue;
pub(crate) mod read_places;
pub(crate) mod reads;
pub(crate) mod references;
pub(crate) mod request;
pub(crate) mod resolve;
pub(crate) mod running;
pub(crate) mod store_error;
pub(crate) mod store_upkeep;
pub(crate) mod threads;
pub(crate) mod upkeep;

pub use presence::Presence;
