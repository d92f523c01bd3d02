//! Attributes, items and slices, with jinja2's order: `x.name` looks for a method first,
//! `x['name']` for an item.

use std::sync::Arc;

use super::bounds::BYTES_PER_STEP;
use super::{Object, Run};
use crate::error::{Error, Result};
use crate::methods;
use crate::strings::byte_of;
use crate::text::{Origin, Text, TextBuilder};
use crate::value::{Dict, Function, MacroValue, Name, Value};

impl Run<'_> {
    /// `owner.name`.
    pub(crate) fn attribute(&mut self, owner: &Value, name: &Arc<str>) -> Result<Value> {
        if let Value::Undefined(missing) = owner {
            return Err(missing.error());
        }
        if let Some(value) = self.own_attribute(owner, name)? {
            return Ok(value);
        }
        if let Value::Dict(dict) = owner
            && let Some(value) = dict.get(name)
        {
            return Ok(value.clone());
        }
        Ok(Value::Undefined(crate::value::Missing {
            owner: Some(self.type_name(owner)),
            name: Arc::clone(name),
        }))
    }

    /// What Python's `getattr` finds.
    fn own_attribute(&mut self, owner: &Value, name: &Arc<str>) -> Result<Option<Value>> {
        if methods::has_method(owner, name) {
            return Ok(Some(Value::Method(Arc::new((owner.clone(), Arc::clone(name))))));
        }
        let is_entry = matches!(owner, Value::Dict(dict) if dict.get(name).is_some());
        let is_internal = name.starts_with("__") && !is_entry && !matches!(owner, Value::Object(_));
        if methods::changes(owner, name) || is_internal {
            let what = self.type_name(owner);
            let message = format!("access to attribute '{name}' of '{what}' object is unsafe.");
            return Ok(Some(Value::undefined("", message)));
        }
        Ok(match owner {
            Value::Macro(called) => self.macro_attribute(*called, name)?,
            Value::Function(Function::Dict) if &**name == "fromkeys" => {
                Some(Value::Method(Arc::new((owner.clone(), Arc::clone(name)))))
            }
            Value::Object(index) => return self.object_attribute(owner, *index, name),
            // Groups of `groupby` have names for their two items.
            Value::Tuple(pair) if pair.items.len() == 2 && matches!(&**name, "grouper" | "list") => {
                Some(pair.items[usize::from(&**name == "list")].clone())
            }
            _ => methods::number_attribute(owner, name),
        })
    }

    fn macro_attribute(&self, called: MacroValue, name: &str) -> Result<Option<Value>> {
        let node = &self.program.macros[called.index];
        let text = |name: &str| Value::text(Origin::Template, name);
        Ok(Some(match name {
            "name" if node.name.is_empty() => Value::None,
            "name" => text(&node.name),
            "arguments" => Value::tuple(node.parameters.iter().map(|(_, name, _)| text(name)).collect())?,
            "catch_kwargs" => Value::Bool(node.takes_kwargs),
            "catch_varargs" => Value::Bool(node.takes_varargs),
            "caller" => Value::Bool(node.takes_caller),
            _ => return Ok(None),
        }))
    }

    fn object_attribute(&mut self, owner: &Value, index: usize, name: &Arc<str>) -> Result<Option<Value>> {
        let method = || Some(Value::Method(Arc::new((owner.clone(), Arc::clone(name)))));
        Ok(match (&self.objects[index], &**name) {
            (Object::Namespace(entries), _) => entries.get(&Name(name)).cloned(),
            (Object::Loop(_), "cycle" | "changed") | (Object::Cycler { .. }, "next" | "reset") => method(),
            (Object::Loop(_), _) => return self.loop_attribute(owner, name),
            (Object::Cycler { items, at }, "current") => Some(items[*at].clone()),
            (Object::Cycler { at, .. }, "pos") => Some(Value::count(*at)),
            (Object::Cycler { items, .. }, "items") => Some(Value::tuple(items.clone())?),
            (Object::Joiner { separator, .. }, "sep") => Some(Value::Text(separator.clone())),
            (Object::Joiner { is_used, .. }, "used") => Some(Value::Bool(*is_used)),
            _ => None,
        })
    }

    /// `owner[key]`.
    pub(crate) fn item(&mut self, owner: &Value, key: &Value) -> Result<Value> {
        self.charge(key.weight() + owner.as_str().map_or(0, |text| text.len() / BYTES_PER_STEP))?;
        let found = match owner {
            Value::Undefined(missing) => return Err(missing.error()),
            Value::Dict(dict) => dict.get_value(key).cloned(),
            Value::List(items) | Value::Tuple(items) => {
                index_of(key, items.items.len()).map(|index| items.items[index].clone())
            }
            Value::Text(text) => index_of(key, text.char_count()).map(|index| {
                let start = byte_of(text.as_str(), index);
                let len = text.as_str()[start..].chars().next().map_or(0, char::len_utf8);
                Value::Text(text.slice(start..start + len))
            }),
            Value::Range(range) => {
                let index = index_of(key, crate::value::range_len(range));
                let [start, _, step] = **range;
                index
                    .and_then(|index| i64::try_from(index).ok())
                    .map(|index| Value::Int(start + index * step))
            }
            Value::Object(index) => match (&self.objects[*index], key.as_str()) {
                (Object::Namespace(entries), Some(name)) => entries.get(&Name(name)).cloned(),
                _ => None,
            },
            _ => None,
        };
        match (found, key) {
            (Some(value), _) => Ok(value),
            (None, Value::Text(name)) => self.attribute(owner, &Arc::from(name.as_str())),
            (None, _) => {
                let what = self.type_name(owner);
                // Only numbers are spelt: other keys may be of any size.
                let key = match key {
                    Value::Int(number) => number.to_string(),
                    _ => format!("for this {}", self.type_name(key)),
                };
                Ok(Value::undefined("", format!("{what} object has no element {key}")))
            }
        }
    }

    /// `owner[start:stop:step]`.
    pub(super) fn slice(&mut self, owner: &Value, bounds: &[Option<Value>; 3]) -> Result<Value> {
        let len = match owner {
            Value::Undefined(missing) => return Err(missing.error()),
            Value::Text(text) => text.char_count(),
            Value::List(items) | Value::Tuple(items) => items.items.len(),
            Value::Range(range) => crate::value::range_len(range),
            Value::Dict(_) => return Err(Error::runtime("unhashable type: 'slice'")),
            other => {
                return Err(Error::runtime(format!(
                    "'{}' object is not subscriptable",
                    self.type_name(other)
                )));
            }
        };
        let slice = Slice::new(bounds, len)?;
        let pick = |items: &[Value]| slice.indices().map(|index| items[index].clone()).collect();
        match owner {
            Value::List(items) => self.list(pick(&items.items)),
            Value::Tuple(items) => Value::tuple(pick(&items.items)),
            Value::Text(text) => {
                let text = slice.of_text(text);
                self.charge_text(text.as_str().len())?;
                Ok(Value::Text(text))
            }
            Value::Range(range) => {
                let [start, _, step] = **range;
                let at = |index: isize| start.saturating_add((index as i64).saturating_mul(step));
                let by = step.saturating_mul(slice.step as i64);
                Ok(Value::Range(Arc::new([at(slice.start), at(slice.stop), by])))
            }
            _ => Ok(Value::None),
        }
    }
}

/// Index of an item, counted from the end if it is negative; `None` if there is no such item.
fn index_of(key: &Value, len: usize) -> Option<usize> {
    let index = key.as_index()?;
    let index = if index < 0 { len.checked_sub(index.unsigned_abs())? } else { index.unsigned_abs() };
    (index < len).then_some(index)
}

/// Slice of a sequence of known length. `start` and `stop` are within it, or one before it for
/// negative steps.
struct Slice {
    start: isize,
    stop: isize,
    step: isize,
}

impl Slice {
    fn new(bounds: &[Option<Value>; 3], len: usize) -> Result<Self> {
        let bound = |value: &Option<Value>| match value {
            None | Some(Value::None) => Ok(None),
            Some(Value::Undefined(missing)) => Err(missing.error()),
            Some(value) => value.as_index().map(Some).ok_or_else(|| {
                Error::runtime("slice indices must be integers or None or have an __index__ method")
            }),
        };
        let step = bound(&bounds[2])?.unwrap_or(1);
        if step == 0 {
            return Err(Error::runtime("slice step cannot be zero"));
        }
        let len = isize::try_from(len).unwrap_or(isize::MAX);
        let (low, high) = if step < 0 { (-1, len - 1) } else { (0, len) };
        let clamp =
            |index: isize| (if index < 0 { index.saturating_add(len) } else { index }).clamp(low, high);
        let (first, last) = if step < 0 { (high, low) } else { (low, high) };
        let start = bound(&bounds[0])?.map_or(first, clamp);
        let stop = bound(&bounds[1])?.map_or(last, clamp);
        Ok(Self { start, stop, step })
    }

    fn indices(&self) -> impl Iterator<Item = usize> {
        let (step, stop) = (self.step, self.stop);
        let is_before = move |at: &isize| if step > 0 { *at < stop } else { *at > stop };
        std::iter::successors(Some(self.start), move |at| at.checked_add(step))
            .take_while(is_before)
            .map(isize::unsigned_abs)
    }

    fn of_text(&self, text: &Text) -> Text {
        let string = text.as_str();
        if self.step == 1 {
            let start = byte_of(string, self.start.unsigned_abs());
            let count = (self.stop - self.start).max(0).unsigned_abs();
            let end = start + byte_of(&string[start..], count);
            return text.slice(start..end);
        }
        let starts: Vec<usize> = string.char_indices().map(|(at, _)| at).chain([string.len()]).collect();
        let mut out = TextBuilder::new(text.is_markup);
        self.indices().for_each(|index| out.push_slice(text, starts[index]..starts[index + 1]));
        out.finish()
    }
}

impl Dict {
    /// Entries as pairs, for filters that walk mappings.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&Value, &Value)> {
        self.entries.iter().map(|(key, value)| (&key.0, value))
    }
}
