//! The answer to a deletion of what is stored.

use schemars::JsonSchema;
use serde::Serialize;

/// The answer, exactly as clients get it.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Deleted")]
pub struct Deletion<'a> {
    id: &'a str,
    /// What it was, and `.deleted`.
    object: &'static str,
    deleted: bool,
}

impl<'a> Deletion<'a> {
    /// A response.
    pub fn of_response(id: &'a str) -> Self {
        Self { id, object: "response.deleted", deleted: true }
    }

    /// A chat completion.
    pub fn of_completion(id: &'a str) -> Self {
        Self { id, object: "chat.completion.deleted", deleted: true }
    }

    /// A conversation.
    pub fn of_conversation(id: &'a str) -> Self {
        Self { id, object: "conversation.deleted", deleted: true }
    }
}
