//! Input items as they are stored and shown again: each with an id, messages with parts and a
//! status. What the items mean is the reader's (`input`); here they stay JSON.

use serde_json::json;

use super::fields;
use super::input_items::INPUT_PATH;
use crate::error::ApiError;
use crate::ids::Ids;
use crate::json::{Field, JsonObject, List, Value};
use crate::raw::{self, Json};

/// Prefixes of ids, by type of item.
const PREFIXES: [(&str, &str); 17] = [
    ("message", "msg_"),
    ("reasoning", "rs_"),
    ("function_call", "fc_"),
    ("function_call_output", "fco_"),
    ("custom_tool_call", "ctc_"),
    ("custom_tool_call_output", "ctco_"),
    ("mcp_call", "mcp_"),
    ("mcp_approval_response", "mcpr_"),
    ("compaction", "cmp_"),
    ("shell_call", "sh_"),
    ("shell_call_output", "sho_"),
    ("local_shell_call", "lsh_"),
    ("local_shell_call_output", "lsho_"),
    ("apply_patch_call", "apc_"),
    ("apply_patch_call_output", "apco_"),
    ("tool_search_call", "tsc_"),
    ("tool_search_output", "tso_"),
];

/// Types whose items always have a status.
const STATUSED: [&str; 5] =
    ["message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"];

const STATUS: Field<&str> = Field::new("status", "");

/// An item of a request's own input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnItem {
    /// Sent whole, as it is stored.
    Whole(store::StoredItem),
    /// A reference to the stored item with this id.
    Reference(String),
}

/// The items of a body's `input`. Items without an id get one of `ids`.
///
/// # Errors
/// 400 where an item is no object, or its id no text.
pub(crate) fn own_items(body: &JsonObject<'_>, ids: &mut Ids) -> Result<Vec<OwnItem>, ApiError> {
    match body.value(fields::INPUT) {
        Some(Value::String(text)) => Ok(vec![OwnItem::Whole(user_message(text.get(), ids))]),
        Some(Value::List(items)) => {
            List::new(items, INPUT_PATH).objects().map(|own| item(&own?, ids)).collect()
        }
        // The reader of the whole request says what is wrong.
        _ => Ok(Vec::new()),
    }
}

/// Whether an item only refers to a stored one.
pub(super) fn is_reference(item: Value<'_>) -> bool {
    let given = |value: Option<Value<'_>>| value.is_some_and(|value| !value.is_null());
    let (role, id) = (given(item.field(fields::ROLE)), given(item.field(fields::ID)));
    refers(item.field(fields::TYPE).and_then(Value::as_str), role, id)
}

/// Whether an item of this type, if it says one, refers to another: by its type, or by an id
/// without a role.
fn refers(kind: Option<&str>, has_role: bool, has_id: bool) -> bool {
    kind.map_or(!has_role && has_id, |kind| kind == "item_reference")
}

/// Longest id, in bytes: it has to fit into a path, and into an index of the store.
const LONGEST_ID: usize = 256;

/// One item.
///
/// # Errors
/// 400 where its type or id is no text, or its id too long.
pub(crate) fn item(item: &JsonObject<'_>, ids: &mut Ids) -> Result<OwnItem, ApiError> {
    if item.get(fields::ID.optional())?.is_some_and(|id| id.len() > LONGEST_ID) {
        let what = format_args!("an id has at most {LONGEST_ID} bytes");
        return Err(item.at(fields::ID).invalid(what));
    }
    let (role, id) = (item.value(fields::ROLE).is_some(), item.value(fields::ID).is_some());
    if refers(item.get(fields::TYPE.optional())?, role, id) {
        return Ok(OwnItem::Reference(item.require(fields::ID)?.to_owned()));
    }
    whole(item, ids).map(OwnItem::Whole)
}

/// An item as it is stored: with id and type first, a message's text as a part, and a status where
/// the type has one.
///
/// # Errors
/// 400 where its type or id is no text.
pub(crate) fn whole(item: &JsonObject<'_>, ids: &mut Ids) -> Result<store::StoredItem, ApiError> {
    let kind = item.get(fields::TYPE.optional())?.unwrap_or("message");
    let id = match item.get(fields::ID.optional())?.filter(|id| !id.is_empty()) {
        Some(id) => id.to_owned(),
        None => {
            ids.next(PREFIXES.iter().find(|(name, _)| *name == kind).map_or("item_", |(_, prefix)| prefix))
        }
    };
    let mut fields = vec![("id", Json::of(&id)), ("type", Json::of(kind))];
    let rest = item.fields().filter(|(name, value)| !["id", "type"].contains(name) && !value.is_null());
    fields.extend(rest.map(|(name, value)| (name, stored_field(item, kind, name, value))));
    if STATUSED.contains(&kind) && item.value(STATUS).is_none() {
        fields.push(("status", Json::of("completed")));
    }
    Ok(store::StoredItem { id, body: raw::object(fields).into_string().into_bytes() })
}

/// A field's value; the content of a message that is a text becomes a list of one part.
fn stored_field(item: &JsonObject<'_>, kind: &str, name: &str, value: Value<'_>) -> Json {
    match value {
        Value::String(text) if kind == "message" && name == fields::CONTENT.row().name => {
            let by_model = item.value(fields::ROLE).and_then(Value::as_str) == Some("assistant");
            Json::of(&[text_part(text.get(), by_model)])
        }
        other => other.to_json(),
    }
}

fn text_part(text: &str, by_model: bool) -> serde_json::Value {
    if by_model {
        json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
    } else {
        json!({ "type": "input_text", "text": text })
    }
}

/// The message that an input of plain text stands for.
pub(super) fn user_message(text: &str, ids: &mut Ids) -> store::StoredItem {
    let id = ids.next("msg_");
    let body = json!({
        "id": id,
        "type": "message",
        "role": "user",
        "content": [text_part(text, false)],
        "status": "completed",
    });
    store::StoredItem { id, body: body.to_string().into_bytes() }
}
