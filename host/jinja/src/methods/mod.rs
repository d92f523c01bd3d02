//! Methods of values, as Python has them. What changes a list or a mapping is refused, as in
//! jinja2's immutable sandbox.

mod cases;
mod classes;
mod format;
mod search;
mod shapes;
mod split;

pub(crate) mod percent;

use std::sync::Arc;

use crate::arguments::Arguments;
use crate::arithmetic;
use crate::error::{Error, Result};
use crate::eval::Run;
use crate::markup::{self, escape, escape_again};
use crate::number::Number;
use crate::text::Text;
use crate::value::{Dict, Value, View};

pub(crate) use classes::holds_case;
pub(crate) use split::lines;

/// Methods of Python that are refused when a template is parsed: templates have no bytes.
pub(crate) const UNSUPPORTED: [&str; 8] =
    ["encode", "translate", "maketrans", "hex", "as_integer_ratio", "to_bytes", "from_bytes", "fromhex"];

const TEXT: [&str; 44] = [
    "capitalize",
    "casefold",
    "center",
    "count",
    "endswith",
    "expandtabs",
    "find",
    "format",
    "format_map",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "isidentifier",
    "islower",
    "isnumeric",
    "isprintable",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "upper",
    "zfill",
];
const MARKUP: [&str; 3] = ["striptags", "unescape", "escape"];
const LIST: [&str; 3] = ["copy", "count", "index"];
const TUPLE: [&str; 2] = ["count", "index"];
const DICT: [&str; 6] = ["copy", "fromkeys", "get", "items", "keys", "values"];
const LIST_CHANGES: [&str; 8] = ["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"];
const DICT_CHANGES: [&str; 5] = ["clear", "pop", "popitem", "setdefault", "update"];
const INT: [&str; 3] = ["bit_length", "bit_count", "conjugate"];
const FLOAT: [&str; 2] = ["is_integer", "conjugate"];
const OTHERS: [&str; 6] = ["cycle", "changed", "next", "reset", "fromkeys", "caller"];

/// Whether any value has a method of this name.
pub(crate) fn is_known(name: &str) -> bool {
    [&TEXT[..], &MARKUP, &LIST, &DICT, &LIST_CHANGES, &DICT_CHANGES, &INT, &FLOAT, &OTHERS]
        .iter()
        .any(|names| names.contains(&name))
}

/// Whether the value has this method.
pub(crate) fn has_method(owner: &Value, name: &str) -> bool {
    let names: &[&str] = match owner {
        Value::Text(text) => {
            return TEXT.contains(&name) || (text.is_markup && MARKUP.contains(&name));
        }
        Value::List(_) => &LIST,
        Value::Tuple(_) | Value::Range(_) => &TUPLE,
        Value::Dict(_) => &DICT,
        Value::Bool(_) | Value::Int(_) | Value::BigInt(_) => &INT,
        Value::Float(_) => &FLOAT,
        _ => return false,
    };
    names.contains(&name)
}

/// Whether the method would change the value.
pub(crate) fn changes(owner: &Value, name: &str) -> bool {
    match owner {
        Value::List(_) => LIST_CHANGES.contains(&name),
        Value::Dict(_) => DICT_CHANGES.contains(&name),
        _ => false,
    }
}

/// Attribute of a number.
pub(crate) fn number_attribute(owner: &Value, name: &str) -> Option<Value> {
    let is_integer = matches!(owner, Value::Bool(_) | Value::Int(_) | Value::BigInt(_));
    match name {
        "real" if owner.is_number() => arithmetic::signed(owner, false),
        "numerator" if is_integer => arithmetic::signed(owner, false),
        "denominator" if is_integer => Some(Value::Int(1)),
        "imag" if is_integer => Some(Value::Int(0)),
        "imag" if owner.is_number() => Some(Value::Float(0.0)),
        "start" | "stop" | "step" => match owner {
            Value::Range(range) => {
                Some(Value::Int(range[["start", "stop", "step"].iter().position(|n| *n == name)?]))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Calls a method that `has_method` found.
pub(crate) fn call(run: &mut Run, owner: &Value, name: &str, arguments: &Arguments) -> Result<Value> {
    match owner {
        Value::Text(text) => text_method(run, text, name, arguments),
        Value::Dict(dict) => {
            if name == "get" {
                let [key, default] = arguments.bind("get", ["", ""], 1)?;
                let key = key.unwrap_or(Value::None);
                run.charge(key.weight())?;
                let key = crate::value::Key::new(key)?;
                Ok(dict.entries.get(&key).cloned().or(default).unwrap_or(Value::None))
            } else {
                let [] = arguments.exactly(name)?;
                Ok(match name {
                    "items" => Value::View(View::Items, Arc::clone(dict)),
                    "keys" => Value::View(View::Keys, Arc::clone(dict)),
                    "values" => Value::View(View::Values, Arc::clone(dict)),
                    _ => Value::Dict(Arc::new(Dict::new(dict.entries.clone())?)),
                })
            }
        }
        Value::List(_) | Value::Tuple(_) | Value::Range(_) => sequence_method(run, owner, name, arguments),
        _ => number_method(owner, name, arguments),
    }
}

fn sequence_method(run: &mut Run, owner: &Value, name: &str, arguments: &Arguments) -> Result<Value> {
    if name == "copy" {
        let [] = arguments.exactly(name)?;
        let items = run.iterate(owner)?;
        return run.list(items);
    }
    let [item, start, stop] = arguments.bind(name, ["", "", ""], 1)?;
    let item = item.unwrap_or(Value::None);
    let items = run.iterate(owner)?;
    run.charge_values(&items)?;
    if name == "count" {
        return Ok(Value::count(items.iter().filter(|other| other.equals(&item)).count()));
    }
    let len = items.len();
    let (start, stop) = (search::bound(start.as_ref(), len, 0)?, search::bound(stop.as_ref(), len, len)?);
    let found = items.iter().take(stop).skip(start).position(|other| other.equals(&item));
    let found = found.map(|at| Value::count(start + at));
    found.ok_or_else(|| Error::runtime(format!("no such {} in the list", item.type_name())))
}

fn number_method(owner: &Value, name: &str, arguments: &Arguments) -> Result<Value> {
    let [] = arguments.exactly(name)?;
    match (owner, name) {
        (Value::Float(number), "is_integer") => Ok(Value::Bool(number.fract() == 0.0)),
        (_, "conjugate") => Ok(arithmetic::signed(owner, false).unwrap_or(Value::None)),
        _ => match owner.number() {
            Some(Number::Int(number)) => {
                if name == "bit_length" {
                    Ok(Value::count(usize::try_from(number.bits()).unwrap_or(usize::MAX)))
                } else {
                    let ones: u32 = number.iter_u64_digits().map(u64::count_ones).sum();
                    Ok(Value::Int(i64::from(ones)))
                }
            }
            _ => Err(Error::runtime(format!("'{name}' is not supported"))),
        },
    }
}

/// Methods of markup that escape their arguments first.
const ESCAPING: [&str; 12] = [
    "replace",
    "ljust",
    "rjust",
    "center",
    "lstrip",
    "rstrip",
    "strip",
    "removeprefix",
    "removesuffix",
    "split",
    "rsplit",
    "join",
];

fn text_method(run: &mut Run, text: &Text, name: &str, arguments: &Arguments) -> Result<Value> {
    run.charge_text(text.as_str().len())?;
    let mut escaped = None;
    if text.is_markup && ESCAPING.contains(&name) && name != "join" {
        let mut arguments = arguments.clone();
        for value in &mut arguments.positional {
            if let Value::Text(text) = value {
                *text = escape(text);
            }
        }
        escaped = Some(arguments);
    }
    let arguments = escaped.as_ref().unwrap_or(arguments);
    match name {
        "find" | "rfind" | "index" | "rindex" | "count" | "startswith" | "endswith" => {
            search::call(text, name, arguments)
        }
        "split" | "rsplit" | "splitlines" | "partition" | "rpartition" => {
            split::call(run, text, name, arguments)
        }
        "strip" | "lstrip" | "rstrip" | "removeprefix" | "removesuffix" | "replace" | "join" => {
            shapes::call(run, text, name, arguments)
        }
        "center" | "ljust" | "rjust" | "zfill" | "expandtabs" => shapes::pad(run, text, name, arguments),
        "format" => format::format(run, text, arguments),
        "format_map" => {
            let [mapping] = arguments.exactly(name)?;
            format::format_map(run, text, &mapping)
        }
        _ if name.starts_with("is") => {
            let [] = arguments.exactly(name)?;
            Ok(Value::Bool(classes::holds(text.as_str(), name)))
        }
        "striptags" => Ok(Value::Text(markup::striptags(text))),
        "unescape" => Ok(Value::Text(markup::unescape(text))),
        "escape" => Ok(Value::Text(escape_again(text))),
        _ => {
            let [] = arguments.exactly(name)?;
            Ok(Value::Text(cases::call(text, name)))
        }
    }
}
