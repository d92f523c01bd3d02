//! `json.dumps` with the arguments that transformers' `tojson` takes.

use std::fmt::Write;

use crate::arguments::{Arguments, flag};
use crate::error::{Error, Result};
use crate::print::float;
use crate::text::{Origin, Text, TextBuilder};
use crate::value::{Dict, Key, Value};

/// Maximum width of an indent in characters.
const MAX_INDENT: usize = 64;

struct Dumps {
    /// Text of one level.
    indent: Option<Text>,
    item_separator: Text,
    key_separator: Text,
    ensure_ascii: bool,
    sort_keys: bool,
    /// Maximum size of the text: lists may hold the same list many times.
    limit: usize,
    out: TextBuilder,
}

/// The filter `tojson`.
pub(crate) fn tojson(value: &Value, arguments: &Arguments, limit: usize) -> Result<Value> {
    let names = ["ensure_ascii", "indent", "separators", "sort_keys"];
    let [ensure_ascii, indent, separators, sort_keys] = arguments.bind("tojson", names, 0)?;
    let text = |string: &str| Text::new(Origin::Request, string);
    let indent = indent.filter(|indent| !indent.is_none());
    let indent = match indent {
        None => None,
        Some(Value::Text(indent)) => Some(indent),
        Some(width) => {
            let width =
                width.as_index().ok_or_else(|| Error::runtime("indent must be a number or a string"))?;
            Some(text(&" ".repeat(usize::try_from(width).unwrap_or(0).min(MAX_INDENT))))
        }
    };
    let mut dumps = Dumps {
        item_separator: text(if indent.is_some() { "," } else { ", " }),
        indent,
        key_separator: text(": "),
        ensure_ascii: flag(ensure_ascii),
        sort_keys: flag(sort_keys),
        limit,
        out: TextBuilder::default(),
    };
    if let Some(separators) = separators.filter(|separators| !separators.is_none()) {
        let (Value::Tuple(pair) | Value::List(pair)) = &separators else {
            return Err(Error::runtime("separators must be a pair of strings"));
        };
        let [Value::Text(item), Value::Text(key)] = &pair.items[..] else {
            return Err(Error::runtime("separators must be a pair of strings"));
        };
        (dumps.item_separator, dumps.key_separator) = (item.clone(), key.clone());
    }
    dumps.push(value, 0)?;
    Ok(Value::Text(dumps.out.finish()))
}

impl Dumps {
    fn push(&mut self, value: &Value, depth: usize) -> Result<()> {
        let indent = self.indent.as_ref().map_or(0, |indent| indent.as_str().len());
        if self.out.len() + indent * depth > self.limit {
            return Err(Error::too_large());
        }
        match value {
            Value::Text(text) => self.push_string(text),
            Value::List(items) | Value::Tuple(items) => {
                self.raw("[");
                for (index, item) in items.items.iter().enumerate() {
                    self.push_gap(index, depth + 1);
                    self.push(item, depth + 1)?;
                }
                self.push_end(items.items.len(), depth);
                self.raw("]");
            }
            Value::Dict(dict) => {
                self.raw("{");
                for (index, (key, value)) in self.entries(dict)?.into_iter().enumerate() {
                    self.push_gap(index, depth + 1);
                    self.push_key(key)?;
                    self.out.push_text(&self.key_separator);
                    self.push(value, depth + 1)?;
                }
                self.push_end(dict.entries.len(), depth);
                self.raw("}");
            }
            _ => {
                let spelt = scalar(value).ok_or_else(|| {
                    Error::runtime(format!("Object of type {} is not JSON serializable", value.type_name()))
                })?;
                self.raw(&spelt);
            }
        }
        Ok(())
    }

    fn raw(&mut self, part: &str) {
        self.out.push(Origin::Request, part);
    }

    fn entries<'a>(&self, dict: &'a Dict) -> Result<Vec<(&'a Key, &'a Value)>> {
        let mut entries: Vec<_> = dict.entries.iter().collect();
        if self.sort_keys {
            let mut fault = Ok(());
            entries.sort_by(|(a, _), (b, _)| {
                a.0.compare(&b.0, "<")
                    .unwrap_or_else(|error| {
                        fault = Err(error);
                        None
                    })
                    .unwrap_or(std::cmp::Ordering::Equal)
            });
            fault?;
        }
        Ok(entries)
    }

    fn push_key(&mut self, key: &Key) -> Result<()> {
        match &key.0 {
            Value::Text(text) => self.push_string(text),
            other => {
                let spelt = scalar(other).ok_or_else(|| {
                    let name = other.type_name();
                    Error::runtime(format!("keys must be str, int, float, bool or None, not {name}"))
                })?;
                self.raw(&format!("\"{spelt}\""));
            }
        }
        Ok(())
    }

    /// Writes the separator and the line break before item `index`.
    fn push_gap(&mut self, index: usize, depth: usize) {
        if index > 0 {
            self.out.push_text(&self.item_separator);
        }
        self.push_line(depth);
    }

    /// Writes the line break after the last of `count` items.
    fn push_end(&mut self, count: usize, depth: usize) {
        if count > 0 {
            self.push_line(depth);
        }
    }

    fn push_line(&mut self, depth: usize) {
        if let Some(indent) = &self.indent {
            self.out.push(Origin::Request, "\n");
            (0..depth).for_each(|_| self.out.push_text(indent));
        }
    }

    fn push_string(&mut self, text: &Text) {
        self.raw("\"");
        for (origin, part) in text.runs() {
            let ensure_ascii = self.ensure_ascii;
            self.out.write(origin, |out| part.chars().for_each(|c| push_escaped(c, ensure_ascii, out)));
        }
        self.raw("\"");
    }
}

fn push_escaped(c: char, ensure_ascii: bool, out: &mut String) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        _ if u32::from(c) < 0x20 || (ensure_ascii && u32::from(c) > 0x7E) => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}").expect("a String takes all text");
            }
        }
        _ => out.push(c),
    }
}

/// JSON of a number, a boolean or none. JSON has no infinity and no NaN; `json.dumps` writes words.
fn scalar(value: &Value) -> Option<String> {
    Some(match value {
        Value::None => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::BigInt(number) => number.to_string(),
        Value::Float(number) if number.is_nan() => "NaN".to_owned(),
        Value::Float(number) if number.is_infinite() => {
            if *number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
        }
        Value::Float(number) => float(*number),
        _ => return None,
    })
}
