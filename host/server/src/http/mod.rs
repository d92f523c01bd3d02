//! The transport: sockets, connections, limits, keys, routes. Knows protocols only by
//! `api::Protocol`.
//!
//! Invariants: no code here blocks a thread; every task belongs to the server's tracker; a client
//! can't make the server hold more of its data than the limits say; a fault of one connection has
//! no effect on others.
#![doc = include_str!("DESIGN.md")]

mod acceptance;
mod access;
mod admin;
mod admin_parse;
mod answer;
mod answer_body;
mod app;
mod asker;
mod auth;
mod body;
mod caller;
mod capacity;
mod compact;
mod connection;
mod content_encoding;
mod conversations;
mod cors;
mod count;
mod excess;
mod guard;
mod head_fault;
mod held_body;
mod idle;
mod inspector;
mod keys;
mod keys_file;
mod metered_store;
mod metrics;
mod named;
mod path;
mod probes;
mod reads;
mod record_draft;
mod request_log;
mod routes;
mod server;
mod server_info;
mod socket;
mod store_error;
mod store_upkeep;
mod stored;
mod stream;
mod tokens;
mod update;
mod web_socket;

pub use access::{Access, CorsOrigin, HostName};
pub use app::App;
pub use body::largest_body;
pub use keys::{ApiKey, KeyError, Keys};
pub use keys_file::{KeysFileError, read_keys};
pub use metrics::install as install_metrics;
pub use named::Named;
pub use server::Server;
