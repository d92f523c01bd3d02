//! Objects of conversations, exactly as clients get them.

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;

use crate::raw::Json;
use crate::schema::AnswerSchemas;

/// A conversation, without its items.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Conversation")]
pub(crate) struct Shown<'a> {
    id: &'a str,
    #[schemars(extend("const" = "conversation"))]
    object: &'static str,
    /// Seconds since 1970.
    created_at: u64,
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    metadata: Json,
}

/// A stored conversation as clients get it. Its metadata is JSON that was stored by this server.
pub fn conversation(stored: &store::StoredConversation) -> impl Serialize + '_ {
    let metadata = String::from_utf8_lossy(&stored.metadata).into_owned();
    Shown {
        id: &stored.id,
        object: "conversation",
        created_at: stored.created / 1000,
        metadata: Json::new(metadata),
    }
}

/// Schema of one item, which is any of those that a request may have.
pub(crate) fn item_answer(_: &mut SchemaGenerator) -> AnswerSchemas {
    AnswerSchemas { whole: serde_json::json!({ "type": "object", "required": ["id", "type"] }), events: None }
}
