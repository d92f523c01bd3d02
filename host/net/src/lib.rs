//! What is shared by all that speaks with other servers (engines, the hub, tool servers, servers
//! that are measured): certificates, URLs and keys, event streams, bodies within a bound, text that
//! is safe to show, and the trace that a call belongs to.
//!
//! Invariants: nothing that another server sends is read without a bound or shown as it came; a key
//! goes to its own server only.
#![doc = include_str!("../DESIGN.md")]

pub mod api_client;
mod failure;
pub mod printable;
mod server_url;
mod span_context;
pub mod sse;
pub mod tls;
pub mod trace;

pub use api_client::{ApiClient, ListedModel};
pub use failure::{connection_words, read_body};
pub use server_url::{ServerKey, ServerUrl};
