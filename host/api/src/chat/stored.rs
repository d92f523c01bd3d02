//! Stored completions: what a request wants stored, the completion and its messages as they are
//! read again, and what they are listed by.

use schemars::SchemaGenerator;
use serde_json::{Map, Value as Metadata};
use store::{CompletionTag, NewCompletion, StoredItem};

use super::chunks::Completion;
use super::fields::{self, Row, Shape, Tables, table};
use crate::error::ApiError;
use crate::json::{Field, JsonObject, OneOf, Value};
use crate::metadata::{self, REPLACED};
use crate::query::{AFTER, LIMIT, ORDER, Query};
use crate::raw::{self, Json};
use crate::request::Defaults;
use crate::schema::AnswerSchemas;

/// Name of the tag that says a completion's model; those of metadata begin with `METADATA_TAG`.
const MODEL_TAG: &str = "model";
const METADATA_TAG: &str = "metadata.";

/// Fields of a completion's change.
pub(crate) const UPDATE_TABLES: Tables = &[&[REPLACED.row()]];
/// Fields of a query for messages.
pub(crate) const MESSAGES_QUERY: &[Row] = &[AFTER.row(), LIMIT.row(), OLDEST_FIRST.row()];

const OLDEST_FIRST: Field<OneOf> = ORDER.note("`asc` (oldest first) unless given");

table! {
    pub(crate) LIST_QUERY {
        AFTER;
        LIMIT;
        OLDEST_FIRST;
        OF_MODEL: Field<&str> = Field::new("model", "completions of this model only");
        OF_METADATA: Field<JsonObject<'_>> =
            Field::new("metadata", "completions with these entries only: `metadata[KEY]=VALUE`")
                .of(Shape::Map(&Shape::Text));
    }
}

/// A completion that is to be stored.
#[derive(Debug)]
pub struct Wish {
    tags: Vec<CompletionTag>,
    /// The messages as JSON, without their ids: each is an object with at least one field.
    messages: Vec<String>,
}

/// What a request wants stored, if anything; at most `max` keys of metadata.
///
/// # Errors
/// 400 where `store` is no boolean, or the metadata or a message of a completion to be stored is
/// wrong.
pub fn wish(body: &JsonObject<'_>, max: usize) -> Result<Option<Wish>, ApiError> {
    if !body.get(fields::STORE)?.unwrap_or(false) {
        return Ok(None);
    }
    let tags = tags(body.get(fields::MODEL.optional())?.unwrap_or_default(), &metadata::read(body, max)?);
    let list = body.list(fields::MESSAGES.optional())?;
    let messages = list.objects().map(|object| Ok(message(&object?)));
    Ok(Some(Wish { tags, messages: messages.collect::<Result<_, ApiError>>()? }))
}

/// A message as it is stored: content that was sent as parts stands in a field of its own.
fn message(message: &JsonObject<'_>) -> String {
    let (content, parts) = match message.value(fields::CONTENT) {
        Some(parts @ Value::List(_)) => (Json::null(), parts.to_json()),
        Some(content) => (content.to_json(), Json::null()),
        None => (Json::null(), Json::null()),
    };
    let rest = message
        .fields()
        .filter(|(name, value)| !["id", "content", "content_parts"].contains(name) && !value.is_null());
    let rest = rest.map(|(name, value)| (name, value.to_json()));
    raw::object(rest.chain([("content", content), ("content_parts", parts)])).into_string()
}

impl Wish {
    /// Bytes that it holds.
    pub fn size(&self) -> usize {
        self.messages.iter().map(String::len).sum()
    }

    /// The completion with this id, to be stored.
    pub fn completion(self, id: String) -> NewCompletion {
        let item = |(number, message): (usize, String)| {
            let item = format!("{id}-{number}");
            let body = format!(r#"{{"id":{},{}"#, Json::of(&item).into_string(), &message[1..]);
            StoredItem { id: item, body: body.into_bytes() }
        };
        let input = self.messages.into_iter().enumerate().map(item).collect();
        NewCompletion { tags: self.tags, input, id }
    }
}

fn tags(model: &str, metadata: &Map<String, Metadata>) -> Vec<CompletionTag> {
    let tag = |name: String, value: &str| CompletionTag { name, value: value.to_owned() };
    let entries = metadata
        .iter()
        .map(|(key, value)| tag(format!("{METADATA_TAG}{key}"), value.as_str().unwrap_or_default()));
    std::iter::once(tag(MODEL_TAG.to_owned(), model)).chain(entries).collect()
}

/// Reads new metadata, and warnings.
pub fn update(
    body: &JsonObject<'_>,
    defaults: &Defaults,
) -> Result<(Map<String, Metadata>, Vec<String>), ApiError> {
    metadata::replacement(body, UPDATE_TABLES, defaults.limits.metadata)
}

/// The tags of a stored completion with other metadata.
pub fn retagged(stored: &store::Completion, metadata: &Map<String, Metadata>) -> Vec<CompletionTag> {
    let model = stored.tags.iter().find(|tag| tag.name == MODEL_TAG);
    tags(model.map_or("", |tag| &tag.value), metadata)
}

/// The tags that the completions of a list have, as the query says; at most `max` of metadata.
///
/// # Errors
/// 400 where there are more: no completion has so many.
pub fn listed_by(query: &Query, max: usize) -> Result<Vec<CompletionTag>, ApiError> {
    let mut tags = Vec::new();
    if let Some(model) = query.get(OF_MODEL) {
        tags.push(CompletionTag { name: MODEL_TAG.to_owned(), value: model.to_owned() });
    }
    for (key, value) in query.map(OF_METADATA) {
        tags.push(CompletionTag { name: format!("{METADATA_TAG}{key}"), value: value.to_owned() });
    }
    if tags.len() > max + 1 {
        let what = format!("metadata: at most {max} keys, got more");
        return Err(ApiError::invalid("metadata".to_owned(), what).with_code("invalid_value"));
    }
    Ok(tags)
}

/// A stored completion as clients get it: the one that was sent, with its metadata.
pub fn shown(stored: store::Completion) -> StoredItem {
    let entry = |tag: &CompletionTag| {
        let key = tag.name.strip_prefix(METADATA_TAG)?;
        Some((key.to_owned(), Metadata::String(tag.value.clone())))
    };
    let metadata: Map<String, Metadata> = stored.tags.iter().filter_map(entry).collect();
    let mut body = stored.result;
    // The object's last bracket.
    body.pop();
    body.extend_from_slice(br#","metadata":"#);
    body.extend_from_slice(Json::of(&metadata).into_string().as_bytes());
    body.push(b'}');
    StoredItem { id: stored.id, body }
}

/// Schema of a stored completion.
pub(crate) fn stored_answer(generator: &mut SchemaGenerator) -> AnswerSchemas {
    let completion = generator.subschema_for::<Completion<'_>>().to_value();
    let metadata = serde_json::json!({
        "type": "object",
        "required": ["metadata"],
        "properties": { "metadata": { "type": "object", "additionalProperties": { "type": "string" } } },
    });
    AnswerSchemas { whole: serde_json::json!({ "allOf": [completion, metadata] }), events: None }
}
