//! What is stored of a request: the response as it was when it began, and the body of one that runs
//! in the background.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The stored request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredRequest {
    /// The response before its first item.
    pub(crate) object: Box<RawValue>,
    /// The body without its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<Box<RawValue>>,
}

/// A stored request isn't one of this server's.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the stored request can't be read")]
pub(crate) struct Unreadable;

impl StoredRequest {
    /// Version of the format. It grows with each change that servers from before don't read, which
    /// leave such requests to others.
    pub(crate) const VERSION: u64 = 1;

    /// The bytes to store.
    pub(crate) fn write(object: Vec<u8>, body: Option<Vec<u8>>) -> Vec<u8> {
        let raw = |json: Vec<u8>| {
            let text = String::from_utf8(json).expect("JSON of ours is UTF-8");
            RawValue::from_string(text).expect("JSON of ours is JSON")
        };
        let request = Self { object: raw(object), body: body.map(raw) };
        serde_json::to_vec(&request).expect("JSON serialises")
    }

    /// Reads stored bytes.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Unreadable> {
        serde_json::from_slice(bytes).map_err(|_| Unreadable)
    }

    /// When the response was created, as it says itself.
    pub(crate) fn created_at(&self) -> u64 {
        #[derive(Deserialize)]
        struct Created {
            created_at: u64,
        }
        serde_json::from_str::<Created>(self.object.get()).map_or(0, |object| object.created_at)
    }
}
