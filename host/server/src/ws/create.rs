//! A request of a socket's client.

use crate::accept::body::CheckedBody;
use crate::ws::lanes::Lane;

/// A request of the client: a `response.create` whose body was checked.
pub(crate) struct Create {
    pub(crate) lane: Lane,
    /// Whether the model answers.
    pub(crate) generate: bool,
    /// The response that it continues.
    pub(crate) parent: Option<String>,
    /// Whether the response is to be stored, if the client says so.
    pub(crate) store: Option<bool>,
    pub(crate) body: CheckedBody,
}
