//! The store's transactions in SQL, once for all databases: what a database does otherwise stands behind
//! [`database::Database`]. Invariant: everything that changes more than one row is done under its owner's
//! lock, so of one owner nothing happens at once; a database with one writer needs no lock.

mod background;
mod check;
mod completions;
mod context;
mod conversations;
pub(crate) mod database;
pub(crate) mod evict;
pub(crate) mod garbage;
mod hosts;
mod named;
pub(crate) mod queue;
mod read;
mod reasoning;
mod repeat;
mod responses;
mod row;
mod served;
pub(crate) mod session;
pub(crate) mod transactions;
