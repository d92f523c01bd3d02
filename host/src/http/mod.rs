//! The transport: sockets, connections, limits, keys, routes, server-sent events. Knows protocols only as `api::Machine`s.
//!
//! Invariants: nothing here blocks a thread; every task belongs to the server's tracker; a client can't make the server hold
//! more of its data than the limits say; whatever happens to one connection, the others don't notice.

mod admin;
mod answer;
mod auth;
mod body;
mod connection;
mod count;
mod guard;
mod metrics;
mod packing;
mod routes;
mod server;
mod silence;
mod stream;
mod tokens;

pub use auth::Keys;
pub use server::{App, Server};
