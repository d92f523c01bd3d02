//! The fields of requests about conversations.

use super::super::fields::{Field, Shape, Tables};
use super::super::metadata::{METADATA, REPLACED};
use super::super::query::{INCLUDE, PAGE};
use super::super::responses::fields::ITEMS;

/// Fields of a new conversation.
pub(crate) const CREATE_TABLES: Tables =
    &[&[METADATA, Field::supported("items", LIST, "the first ones; at most 20")]];
/// Fields of a conversation's change.
pub(crate) const UPDATE_TABLES: Tables = &[&[REPLACED]];
/// Fields of new items.
pub(crate) const ADD_TABLES: Tables =
    &[&[Field::supported("items", LIST, "at most 20, in this order behind those that are there").required()]];

/// Fields of a query for a page of items.
pub(crate) const PAGE_QUERY: &[Field] = &[PAGE[0], PAGE[1], PAGE[2], INCLUDE];
/// Fields of a query for items.
pub(crate) const ITEM_QUERY: &[Field] = &[INCLUDE];

const LIST: Shape = Shape::List(&Shape::Kinds(&ITEMS));
