//! Methods that look for strings in a string.

use std::ops::Range;

use crate::arguments::Arguments;
use crate::error::{Error, Result};
use crate::strings::byte_of;
use crate::text::Text;
use crate::value::Value;

/// Bound of a slice, from the end if it is negative, within `len`.
pub(super) fn bound(value: Option<&Value>, len: usize, default: usize) -> Result<usize> {
    match value {
        None | Some(Value::None) => Ok(default),
        Some(value) => {
            let index = value.as_index().ok_or_else(|| {
                Error::runtime("slice indices must be integers or None or have an __index__ method")
            })?;
            let index =
                if index < 0 { len.saturating_sub(index.unsigned_abs()) } else { index.unsigned_abs() };
            Ok(index.min(len))
        }
    }
}

/// Bytes between two positions in characters; `None` if the first is behind the string or behind
/// the second.
fn range(text: &Text, start: Option<&Value>, end: Option<&Value>) -> Result<Option<Range<usize>>> {
    let len = text.char_count();
    let is_behind =
        start.and_then(Value::as_index).is_some_and(|start| start > 0 && start.unsigned_abs() > len);
    let (start, end) = (bound(start, len, 0)?, bound(end, len, len)?);
    if is_behind || start > end {
        return Ok(None);
    }
    let string = text.as_str();
    Ok(Some(byte_of(string, start)..byte_of(string, end)))
}

pub(super) fn call(text: &Text, name: &str, arguments: &Arguments) -> Result<Value> {
    let [needle, start, end] = arguments.bind(name, ["", "", ""], 1)?;
    let needle = needle.unwrap_or(Value::None);
    let range = range(text, start.as_ref(), end.as_ref())?;
    let part = range.clone().map(|range| &text.as_str()[range]);
    if matches!(name, "startswith" | "endswith") {
        return affix(part, name, &needle);
    }
    let needle = string(&needle)?;
    let offset = range.map_or(0, |range| range.start);
    let position = |at: Option<usize>| at.map(|at| text.as_str()[..offset + at].chars().count());
    let found = match name {
        "count" => {
            let count = match part {
                None => 0,
                Some(part) if needle.is_empty() => part.chars().count() + 1,
                Some(part) => part.matches(needle).count(),
            };
            return Ok(Value::count(count));
        }
        "find" | "index" => position(part.and_then(|part| part.find(needle))),
        _ => position(part.and_then(|part| part.rfind(needle))),
    };
    match found {
        Some(at) => Ok(Value::count(at)),
        None if name.ends_with("find") => Ok(Value::Int(-1)),
        None => Err(Error::runtime("substring not found")),
    }
}

fn affix(part: Option<&str>, name: &str, affixes: &Value) -> Result<Value> {
    let fits = |affix: &Value| -> Result<bool> {
        let affix = affix.as_str().ok_or_else(|| {
            let found = affix.type_name();
            Error::runtime(format!("{name} first arg must be str or a tuple of str, not {found}"))
        })?;
        let has =
            |part: &str| if name == "startswith" { part.starts_with(affix) } else { part.ends_with(affix) };
        Ok(part.is_some_and(has))
    };
    let Value::Tuple(affixes) = affixes else { return fits(affixes).map(Value::Bool) };
    for affix in &affixes.items {
        if fits(affix)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

/// The string that a method needs.
pub(super) fn string(value: &Value) -> Result<&str> {
    if let Value::Undefined(missing) = value {
        return Err(missing.error());
    }
    value.as_str().ok_or_else(|| Error::runtime(format!("must be str, not {}", value.type_name())))
}
