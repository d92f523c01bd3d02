//! The items of a request's input, before anybody has read them.

use super::super::json::{List, Object, Value};

/// The items of a body's input; none where it is no list.
pub(super) fn items<'a>(body: &Object<'a>) -> impl Iterator<Item = Value<'a>> + use<'a> {
    body.get("input").and_then(Value::as_list).into_iter().flat_map(List::iter)
}

/// Whether an item, which nobody has read yet, is of this type.
pub(super) fn is_of(item: Value<'_>, kind: &str) -> bool {
    item.field("type").and_then(Value::as_str) == Some(kind)
}
