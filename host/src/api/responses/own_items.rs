//! Input items as they are stored and shown again: each with an id, messages with parts and a status. What the items mean is the reader's
//! (`input`); here they stay JSON.

use serde_json::json;

use super::super::error::ApiError;
use super::super::ids::Ids;
use super::super::json::{Object, Value};
use super::super::raw::{self, Json};

/// Prefixes of ids, by type of item.
const PREFIXES: [(&str, &str); 9] = [
    ("message", "msg_"),
    ("reasoning", "rs_"),
    ("function_call", "fc_"),
    ("function_call_output", "fco_"),
    ("custom_tool_call", "ctc_"),
    ("custom_tool_call_output", "ctco_"),
    ("mcp_call", "mcp_"),
    ("mcp_approval_response", "mcpr_"),
    ("compaction", "cmp_"),
];

/// An item of a request's own input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OwnItem {
    /// Sent whole; it is stored as it stands here.
    Whole(store::Item),
    /// A reference to a stored item with this id.
    Reference(String),
}

/// One item: whole, or a reference.
///
/// # Errors
/// 400 where its type, role or id is no text.
pub(crate) fn item(item: &Object<'_>, ids: &mut Ids) -> Result<OwnItem, ApiError> {
    let refers = match item.string("type")? {
        Some(kind) => kind == "item_reference",
        None => item.get("role").is_none() && item.get("id").is_some(),
    };
    if refers {
        Ok(OwnItem::Reference(item.required_string("id")?.to_owned()))
    } else {
        whole(item, ids).map(OwnItem::Whole)
    }
}

/// An item as it is stored: with its id and type first, a message's text as a part, and a message's status.
///
/// # Errors
/// 400 where its type, role or id is no text.
pub(crate) fn whole(item: &Object<'_>, ids: &mut Ids) -> Result<store::Item, ApiError> {
    let kind = item.string("type")?.unwrap_or("message");
    let prefix = PREFIXES.iter().find(|(name, _)| *name == kind).map_or("item_", |(_, prefix)| prefix);
    let id = match item.string("id")?.filter(|id| !id.is_empty()) {
        Some(id) => id.to_owned(),
        None => ids.next(prefix),
    };
    let mut fields = vec![("id", Json::of(&id)), ("type", Json::of(kind))];
    let rest = item.fields().filter(|(name, value)| !["id", "type"].contains(name) && !value.is_null());
    fields.extend(rest.map(|(name, value)| (name, field(item, kind, name, value))));
    if kind == "message" && item.get("status").is_none() {
        fields.push(("status", Json::of("completed")));
    }
    Ok(store::Item { id, body: raw::object(fields).into_string().into_bytes() })
}

/// A field's value; the content of a message that is a text becomes a list of one part.
fn field(item: &Object<'_>, kind: &str, name: &str, value: Value<'_>) -> Json {
    match value {
        Value::String(text) if kind == "message" && name == "content" => {
            let part = if item.get("role").and_then(Value::as_str) == Some("assistant") {
                json!({ "type": "output_text", "text": text.get(), "annotations": [], "logprobs": [] })
            } else {
                json!({ "type": "input_text", "text": text.get() })
            };
            Json::of(&[part])
        }
        other => other.to_json(),
    }
}
