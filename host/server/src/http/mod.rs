//! The transport: sockets, connections, limits, keys, routes. Knows protocols only by
//! `api::Protocol`.
//!
//! Invariants: no code here blocks a thread; every task belongs to the server's tracker; a client
//! can't make the server hold more of its data than the limits say; a fault of one connection has
//! no effect on others.
#![doc = include_str!("DESIGN.md")]

pub(crate) mod admin;
pub(crate) mod admin_parse;
pub(crate) mod answer;
pub(crate) mod answer_body;
pub(crate) mod asker;
pub(crate) mod auth;
pub(crate) mod compact;
pub(crate) mod connection;
pub(crate) mod conversations;
pub(crate) mod cors;
pub(crate) mod count;
pub(crate) mod event_stream;
pub(crate) mod excess;
pub(crate) mod guard;
pub(crate) mod head_fault;
pub(crate) mod held_body;
pub(crate) mod idle;
pub(crate) mod methods;
pub(crate) mod metrics;
pub(crate) mod own_answers;
pub(crate) mod path;
pub(crate) mod probes;
pub(crate) mod request_log;
pub(crate) mod routes;
pub(crate) mod server;
pub(crate) mod server_info;
pub(crate) mod socket;
pub(crate) mod stored;
pub(crate) mod stream;
pub(crate) mod tokens;
pub(crate) mod update;

pub use metrics::install as install_metrics;
pub use server::Server;
