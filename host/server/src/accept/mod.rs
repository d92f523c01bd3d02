//! What must be true before an answer begins: who asks and may ask, what the body says, which model
//! answers, and what the request pays. Knows no route and no socket.
//!
//! Invariant: nothing of a request is read that its account hasn't paid for; a handler gets a body
//! that was checked whole.

pub(crate) mod acceptance;
pub(crate) mod access;
pub(crate) mod app;
pub(crate) mod body;
pub(crate) mod caller;
pub(crate) mod capacity;
pub(crate) mod content_encoding;
pub(crate) mod cors_layer;
pub(crate) mod keys;
pub(crate) mod keys_file;
pub(crate) mod named;
pub(crate) mod origins;
pub(crate) mod record_draft;
pub(crate) mod tls;

pub use access::Access;
pub use app::App;
pub use body::largest_body;
pub use keys::{ApiKey, KeyError, Keys};
pub use keys_file::{KeysFileError, read_keys};
pub use named::Named;
pub use origins::{CorsOrigin, HostName};
pub use tls::{Identity, IdentityError, Tls};
