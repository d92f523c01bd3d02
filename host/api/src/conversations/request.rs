//! Readers of bodies: a new conversation, its metadata, items to add. An item that no response could read is refused where it is added.

use serde_json::{Map, Value};

use super::super::error::ApiError;
use super::super::fields::Tables;
use super::super::ids::Ids;
use super::super::json::{Object, Path};
use super::super::metadata;
use super::super::raw::Json;
use super::super::request::Defaults;
use super::super::responses::check_item;
use super::super::responses::own_items::{self, OwnItem};
use super::super::warnings::Warnings;
use super::fields;

/// Most items of one request.
const ITEMS: usize = 20;

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
pub fn create(body: &Object<'_>, defaults: &Defaults, ids: &mut Ids) -> Result<NewConversation, ApiError> {
    let metadata = to_bytes(&metadata::read(body, defaults.limits.metadata)?);
    Ok(NewConversation { metadata, items: items(body, fields::CREATE_TABLES, defaults, ids)? })
}

/// Reads items to be added.
pub fn add(body: &Object<'_>, defaults: &Defaults, ids: &mut Ids) -> Result<NewItems, ApiError> {
    if body.get("items").is_none() {
        return Err(body.at("items").missing("a list of items"));
    }
    items(body, fields::ADD_TABLES, defaults, ids)
}

/// Reads new metadata, as JSON, and warnings.
pub fn update(body: &Object<'_>, defaults: &Defaults) -> Result<(Vec<u8>, Vec<String>), ApiError> {
    let (metadata, warnings) = metadata::replacement(body, fields::UPDATE_TABLES, defaults.limits.metadata)?;
    Ok((to_bytes(&metadata), warnings))
}

fn to_bytes(metadata: &Map<String, Value>) -> Vec<u8> {
    Json::of(metadata).into_string().into_bytes()
}

fn items(
    body: &Object<'_>,
    tables: Tables,
    defaults: &Defaults,
    ids: &mut Ids,
) -> Result<NewItems, ApiError> {
    let warnings = Warnings::of_fields(body, tables);
    let (list, path) = (body.list_or_empty("items")?, body.at("items"));
    if list.is_longer_than(ITEMS) {
        return Err(path
            .invalid(format_args!("at most {ITEMS} at a time, got {}: send several requests", list.len())));
    }
    let mut items = Vec::new();
    for (index, value) in list.iter().enumerate() {
        items.push(item(&Object::new(value, path.element(index))?, defaults, ids)?);
    }
    Ok(NewItems { items, warnings: warnings.into_lines() })
}

fn item(item: &Object<'_>, defaults: &Defaults, ids: &mut Ids) -> Result<OwnItem, ApiError> {
    let read = own_items::item(item, ids)?;
    if let OwnItem::Whole(_) = &read {
        check_item(*item, defaults)?;
    }
    check_id(item.at("id"), &read)?;
    Ok(read)
}

/// Longest id, in bytes: it has to fit into a path.
const ID: usize = 256;

fn check_id(path: Path<'_>, item: &OwnItem) -> Result<(), ApiError> {
    let (OwnItem::Whole(store::Item { id, .. }) | OwnItem::Reference(id)) = item;
    if id.len() > ID {
        return Err(path.invalid(format_args!("an id has at most {ID} bytes")));
    }
    Ok(())
}
