//! Readers of bodies: a new conversation, its metadata, items to add. An item that no response
//! could read is refused where it is added.

use serde_json::{Map, Value};

use super::fields;
use crate::error::ApiError;
use crate::ids::Ids;
use crate::json::{JsonObject, List};
use crate::metadata;
use crate::raw::Json;
use crate::request::Defaults;
use crate::responses::check_item;
use crate::responses::own_items::{self, OwnItem};
use crate::warnings::Warnings;

/// Most items of one request.
const MOST_ITEMS: usize = 20;

/// A conversation to be stored.
#[derive(Debug)]
pub struct NewConversation {
    /// Metadata as JSON.
    pub metadata: Vec<u8>,
    /// Its first items.
    pub items: NewItems,
}

/// Items to be stored, in their order.
#[derive(Debug)]
pub struct NewItems {
    /// The items, and references to stored ones, of which copies are stored.
    pub items: Vec<OwnItem>,
    /// A line for each field that was ignored.
    pub warnings: Vec<String>,
}

/// Reads a new conversation; its items get `ids` where they have none.
pub fn create(
    body: &JsonObject<'_>,
    defaults: &Defaults,
    ids: &mut Ids,
) -> Result<NewConversation, ApiError> {
    let metadata = to_bytes(&metadata::read(body, defaults.limits.metadata)?);
    let warnings = Warnings::of_fields(body, fields::CREATE_TABLES)?;
    Ok(NewConversation { metadata, items: items(body.list(fields::FIRST_ITEMS)?, warnings, defaults, ids)? })
}

/// Reads items to be added.
pub fn add(body: &JsonObject<'_>, defaults: &Defaults, ids: &mut Ids) -> Result<NewItems, ApiError> {
    items(body.require(fields::ITEMS)?, Warnings::of_fields(body, fields::ADD_TABLES)?, defaults, ids)
}

/// Reads new metadata, as JSON, and warnings.
pub fn update(body: &JsonObject<'_>, defaults: &Defaults) -> Result<(Vec<u8>, Vec<String>), ApiError> {
    let (metadata, warnings) = metadata::replacement(body, fields::UPDATE_TABLES, defaults.limits.metadata)?;
    Ok((to_bytes(&metadata), warnings))
}

fn to_bytes(metadata: &Map<String, Value>) -> Vec<u8> {
    Json::of(metadata).into_string().into_bytes()
}

fn items(
    list: List<'_>,
    mut warnings: Warnings,
    defaults: &Defaults,
    ids: &mut Ids,
) -> Result<NewItems, ApiError> {
    if list.elements.is_longer_than(MOST_ITEMS) {
        let what = format_args!(
            "at most {MOST_ITEMS} at a time, got {}: send several requests",
            list.elements.len()
        );
        return Err(list.path.invalid(what));
    }
    let mut items = Vec::new();
    for own in list.objects() {
        items.push(item(&own?, defaults, ids, &mut warnings)?);
    }
    Ok(NewItems { items, warnings: warnings.into_lines() })
}

fn item(
    item: &JsonObject<'_>,
    defaults: &Defaults,
    ids: &mut Ids,
    warnings: &mut Warnings,
) -> Result<OwnItem, ApiError> {
    let read = own_items::item(item, ids)?;
    if let OwnItem::Whole(_) = &read {
        check_item(*item, defaults, warnings)?;
    }
    Ok(read)
}
