//! The fields of requests about conversations.

pub(super) use crate::fields::*;
use crate::metadata::{METADATA, REPLACED};
use crate::query::{AFTER, LIMIT, ORDER};
use crate::responses::fields::{ITEM_KINDS, ITEM_PARTS};

/// Fields of a new conversation.
pub(crate) const CREATE_TABLES: Tables = &[&[METADATA.row(), FIRST_ITEMS.row()]];
/// Fields of a conversation's change.
pub(crate) const UPDATE_TABLES: Tables = &[&[REPLACED.row()]];
/// Fields of new items.
pub(crate) const ADD_TABLES: Tables = &[&[ITEMS.row()]];

/// Fields of a query for a page of items.
pub(crate) const PAGE_QUERY: &[Row] = &[AFTER.row(), LIMIT.row(), ORDER.row(), ITEM_PARTS];
/// Fields of a query for items.
pub(crate) const ITEM_QUERY: &[Row] = &[ITEM_PARTS];
pub(super) const FIRST_ITEMS: Field<List<'_>> = Field::new("items", "the first ones; at most 20").of(LIST);
/// `items` that are added.
pub(super) const ITEMS: Required<List<'_>> =
    Field::new("items", "at most 20, appended in this order").of(LIST).required_as("a list of items");

const LIST: Shape = Shape::List(&Shape::Kinds(&ITEM_KINDS));
