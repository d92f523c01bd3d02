//! Global functions of templates.

use std::sync::Arc;

use indexmap::IndexMap;

use super::statement::check_attribute;
use super::{Object, Run};
use crate::Origin;
use crate::arguments::Arguments;
use crate::clock;
use crate::error::{Error, ErrorKind, Result};
use crate::value::{Dict, Function, Key, Value, range_len};

/// Maximum length of a range, as in jinja2's sandbox.
const MAX_RANGE: usize = 100_000;

/// The global of this name.
pub(super) fn named(name: &str) -> Option<Value> {
    Some(Value::Function(match name {
        "range" => Function::Range,
        "dict" => Function::Dict,
        "namespace" => Function::Namespace,
        "cycler" => Function::Cycler,
        "joiner" => Function::Joiner,
        "raise_exception" => Function::RaiseException,
        "strftime_now" => Function::StrftimeNow,
        _ => return None,
    }))
}

pub(super) fn range_items(range: &[i64; 3]) -> Vec<Value> {
    let [start, _, step] = *range;
    let count = i64::try_from(range_len(range)).unwrap_or(0);
    (0..count).map(|index| Value::Int(start + index * step)).collect()
}

impl Run<'_> {
    pub(super) fn call_function(&mut self, function: Function, arguments: &Arguments) -> Result<Value> {
        match function {
            Function::Range => range(arguments),
            Function::Dict => Ok(Value::Dict(Arc::new(Dict::new(self.entries("dict", arguments)?)?))),
            Function::Namespace => {
                let entries = self.entries("namespace", arguments)?;
                entries.keys().filter_map(|key| key.0.as_str()).try_for_each(check_attribute)?;
                Ok(self.object(Object::Namespace(entries)))
            }
            Function::Cycler if arguments.positional.is_empty() => {
                Err(Error::runtime("at least one item has to be provided"))
            }
            Function::Cycler => {
                let items = arguments.positional.clone();
                Ok(self.object(Object::Cycler { items, at: 0 }))
            }
            Function::Joiner => {
                let [separator] = arguments.bind("joiner", ["sep"], 0)?;
                let separator = separator.unwrap_or_else(|| Value::text(Origin::Template, ", "));
                let separator = self.str(&separator)?;
                Ok(self.object(Object::Joiner { separator, is_used: false }))
            }
            Function::RaiseException => {
                let [message] = arguments.bind("raise_exception", ["message"], 1)?;
                let message = self.str(&message.unwrap_or(Value::None))?.as_str().to_owned();
                Err(Error { kind: ErrorKind::Raised, message, line: None })
            }
            Function::StrftimeNow => {
                let [format] = arguments.bind("strftime_now", ["format"], 1)?;
                let format = format.and_then(|format| format.as_text().cloned());
                let format = format.ok_or_else(|| Error::runtime("strftime_now() needs a string"))?;
                self.charge_text(format.as_str().len().saturating_mul(9))?;
                Ok(Value::text(Origin::Template, clock::strftime_now(format.as_str())))
            }
        }
    }

    /// Entries that `dict` is called with: a mapping or pairs, and keyword arguments.
    fn entries(&mut self, function: &str, arguments: &Arguments) -> Result<IndexMap<Key, Value>> {
        let mut entries = match arguments.positional.as_slice() {
            [] => IndexMap::new(),
            [Value::Dict(dict)] => dict.entries.clone(),
            [Value::Undefined(missing)] => return Err(missing.error()),
            [pairs] => self.pairs(pairs)?,
            _ => return Err(Error::runtime(format!("{function}() takes at most one positional argument"))),
        };
        for (name, value) in &arguments.keyword {
            entries.insert(Key(Value::Text(name.clone())), value.clone());
        }
        Ok(entries)
    }

    fn pairs(&mut self, pairs: &Value) -> Result<IndexMap<Key, Value>> {
        let mut entries = IndexMap::new();
        for pair in self.iterate(pairs)? {
            let items = self.iterate(&pair)?;
            let [key, value] = <[Value; 2]>::try_from(items)
                .map_err(|_| Error::runtime("a mapping is made from pairs of key and value"))?;
            entries.insert(Key::new(key)?, value);
        }
        Ok(entries)
    }

    /// `dict.fromkeys`.
    pub(super) fn dict_from_keys(&mut self, arguments: &Arguments) -> Result<Value> {
        let [keys, value] = arguments.bind("fromkeys", ["", ""], 1)?;
        let value = value.unwrap_or(Value::None);
        let mut entries = IndexMap::new();
        for key in self.iterate(&keys.unwrap_or(Value::None))? {
            entries.insert(Key::new(key)?, value.clone());
        }
        Ok(Value::Dict(Arc::new(Dict::new(entries)?)))
    }
}

fn range(arguments: &Arguments) -> Result<Value> {
    let integer = |value: Option<Value>| match value {
        None => Ok(None),
        Some(value) => match value {
            Value::Int(number) => Ok(Some(number)),
            Value::Bool(flag) => Ok(Some(i64::from(flag))),
            Value::Undefined(missing) => Err(missing.error()),
            Value::BigInt(_) => Err(range_too_long()),
            other => Err(Error::runtime(format!(
                "'{}' object cannot be interpreted as an integer",
                other.type_name()
            ))),
        },
    };
    let [first, second, third] = arguments.bind("range", ["", "", ""], 1)?;
    let (first, second) = (integer(first)?.unwrap_or(0), integer(second)?);
    let step = integer(third)?.unwrap_or(1);
    if step == 0 {
        return Err(Error::runtime("range() arg 3 must not be zero"));
    }
    let range = match second {
        None => [0, first, 1],
        Some(stop) => [first, stop, step],
    };
    if range_len(&range) > MAX_RANGE {
        return Err(range_too_long());
    }
    Ok(Value::Range(Arc::new(range)))
}

fn range_too_long() -> Error {
    Error::runtime(format!("Range too big. The sandbox blocks ranges larger than MAX_RANGE ({MAX_RANGE})."))
}
