//! Access to the items of a request's input without opening them.

use super::super::json::{List, Object, Path, Value};

/// Path of a request's own input.
static INPUT: Path<'static> = Path::Field(&Path::Body, "input");

/// The items of a body's `input`; none if `input` isn't a list.
pub(super) fn items<'a>(body: &Object<'a>) -> impl Iterator<Item = Value<'a>> + use<'a> {
    body.get("input").and_then(Value::as_list).into_iter().flat_map(List::iter)
}

/// The items with their paths.
pub(super) fn items_at<'a>(body: &'a Object<'a>) -> impl Iterator<Item = (Path<'a>, Value<'a>)> + use<'a> {
    items(body).enumerate().map(|(index, item)| (INPUT.element(index), item))
}

/// Whether an item has the type `kind`. The item isn't opened.
pub(super) fn is_of(item: Value<'_>, kind: &str) -> bool {
    item.field("type").and_then(Value::as_str) == Some(kind)
}
