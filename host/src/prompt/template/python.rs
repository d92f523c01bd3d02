//! Python's printing of values, where minijinja prints them differently: `str()`, `repr()`, `json.dumps`.
//!
//! Chat templates are written for jinja2; a float, a `None` or a list that is spelt differently makes a different prompt.
//! Called by the filters and the formatter of `template`.

use std::fmt::Write;

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, ErrorKind};

/// Returns Python's `str(value)`.
pub(super) fn str(value: &Value) -> Result<String, Error> {
    match value.kind() {
        ValueKind::String | ValueKind::Undefined => Ok(value.to_string()),
        _ => {
            let mut out = String::new();
            repr(value, &mut out)?;
            Ok(out)
        }
    }
}

fn repr(value: &Value, out: &mut String) -> Result<(), Error> {
    match value.kind() {
        ValueKind::None => out.push_str("None"),
        ValueKind::Bool => out.push_str(if value.is_true() { "True" } else { "False" }),
        ValueKind::Number => push_number(value, out),
        ValueKind::String => push_quoted(&value.to_string(), out),
        ValueKind::Seq => {
            out.push('[');
            for (index, item) in value.try_iter()?.enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                repr(&item, out)?;
            }
            out.push(']');
        }
        ValueKind::Map => {
            out.push('{');
            for (index, key) in value.try_iter()?.enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                repr(&key, out)?;
                out.push_str(": ");
                repr(&value.get_item(&key)?, out)?;
            }
            out.push('}');
        }
        _ => out.push_str(&value.to_string()),
    }
    Ok(())
}

/// Writes `repr` of a string: in single quotes, but in double quotes if it holds a single quote and no double quote.
fn push_quoted(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            _ if c == quote => out.extend(['\\', c]),
            _ if c.is_ascii_control() => push_format(out, format_args!("\\x{:02x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push(quote);
}

fn push_number(value: &Value, out: &mut String) {
    match f64::try_from(value.clone()) {
        Ok(number) if !value.is_integer() => push_float(number, out),
        _ => out.push_str(&value.to_string()),
    }
}

/// Writes `repr` of a float: the shortest digits that read back as the same float, with an exponent below 1e-4 and from 1e16 on.
fn push_float(number: f64, out: &mut String) {
    if !number.is_finite() {
        out.push_str(if number.is_nan() { "nan" } else { ["-inf", "inf"][usize::from(number > 0.0)] });
        return;
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').expect("Rust writes an exponent with {:e}");
    let exponent: i32 = exponent.parse().expect("Rust writes a decimal exponent");
    if (-4..16).contains(&exponent) || number == 0.0 {
        let plain = number.to_string();
        out.push_str(&plain);
        out.push_str(if plain.contains('.') { "" } else { ".0" });
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        push_format(out, format_args!("{digits}e{sign}{:02}", exponent.abs()));
    }
}

/// Options of `json.dumps` that templates use.
pub(super) struct Dumps {
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    ensure_ascii: bool,
    sort_keys: bool,
}

impl Dumps {
    /// Reads the arguments of `tojson`: `indent` (number or string), `separators`, `ensure_ascii`, `sort_keys`.
    pub(super) fn from_kwargs(kwargs: &Kwargs) -> Result<Self, Error> {
        let flag = |name| Ok::<_, Error>(kwargs.get::<Option<bool>>(name)?.unwrap_or(false));
        let indent = kwargs.get::<Option<Value>>("indent")?.filter(|indent| !indent.is_none());
        let indent = indent.map(|indent| match indent.as_usize() {
            Some(width) => " ".repeat(width.min(16)),
            None => indent.to_string(),
        });
        let item_separator = if indent.is_some() { "," } else { ", " };
        let mut dumps = Self {
            indent,
            item_separator: item_separator.to_owned(),
            key_separator: ": ".to_owned(),
            ensure_ascii: flag("ensure_ascii")?,
            sort_keys: flag("sort_keys")?,
        };
        if let Some(separators) = kwargs.get::<Option<Value>>("separators")?.filter(|s| !s.is_none()) {
            dumps.item_separator = separators.get_item_by_index(0)?.to_string();
            dumps.key_separator = separators.get_item_by_index(1)?.to_string();
        }
        kwargs.assert_all_used()?;
        Ok(dumps)
    }

    /// Returns Python's `json.dumps(value)`.
    pub(super) fn dump(&self, value: &Value) -> Result<String, Error> {
        let mut out = String::new();
        self.push(value, 0, &mut out)?;
        Ok(out)
    }

    fn push(&self, value: &Value, depth: usize, out: &mut String) -> Result<(), Error> {
        match value.kind() {
            ValueKind::None => out.push_str("null"),
            ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => push_json_number(value, out),
            ValueKind::String => self.push_string(&value.to_string(), out),
            ValueKind::Seq | ValueKind::Iterable => self.push_list(value, depth, out)?,
            ValueKind::Map => self.push_dict(value, depth, out)?,
            kind => {
                let message = format!("{kind} is not JSON serializable");
                return Err(Error::new(ErrorKind::BadSerialization, message));
            }
        }
        Ok(())
    }

    fn push_list(&self, value: &Value, depth: usize, out: &mut String) -> Result<(), Error> {
        out.push('[');
        let mut count = 0;
        for item in value.try_iter()? {
            self.push_gap(count, depth + 1, out);
            self.push(&item, depth + 1, out)?;
            count += 1;
        }
        self.push_end(count, depth, out);
        out.push(']');
        Ok(())
    }

    fn push_dict(&self, value: &Value, depth: usize, out: &mut String) -> Result<(), Error> {
        let mut keys: Vec<Value> = value.try_iter()?.collect();
        if self.sort_keys {
            keys.sort();
        }
        out.push('{');
        for (index, key) in keys.iter().enumerate() {
            self.push_gap(index, depth + 1, out);
            let mut name = String::new();
            match key.kind() {
                ValueKind::String => name = key.to_string(),
                _ => self.push(key, 0, &mut name)?,
            }
            self.push_string(&name, out);
            out.push_str(&self.key_separator);
            self.push(&value.get_item(key)?, depth + 1, out)?;
        }
        self.push_end(keys.len(), depth, out);
        out.push('}');
        Ok(())
    }

    /// Writes the separator and the line break before item `index`.
    fn push_gap(&self, index: usize, depth: usize, out: &mut String) {
        out.push_str(if index > 0 { &self.item_separator } else { "" });
        self.push_line(depth, out);
    }

    /// Writes the line break after the last of `count` items.
    fn push_end(&self, count: usize, depth: usize, out: &mut String) {
        if count > 0 {
            self.push_line(depth, out);
        }
    }

    fn push_line(&self, depth: usize, out: &mut String) {
        if let Some(indent) = &self.indent {
            out.push('\n');
            (0..depth).for_each(|_| out.push_str(indent));
        }
    }

    fn push_string(&self, text: &str, out: &mut String) {
        out.push('"');
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                _ if u32::from(c) < 0x20 => push_units(c, out),
                _ if self.ensure_ascii && u32::from(c) > 0x7E => push_units(c, out),
                _ => out.push(c),
            }
        }
        out.push('"');
    }
}

/// Writes a number. JSON has no infinity and no NaN; `json.dumps` writes `Infinity` and `NaN`.
fn push_json_number(value: &Value, out: &mut String) {
    match f64::try_from(value.clone()) {
        Ok(number) if number.is_nan() => out.push_str("NaN"),
        Ok(number) if number.is_infinite() => {
            out.push_str(if number > 0.0 { "Infinity" } else { "-Infinity" });
        }
        _ => push_number(value, out),
    }
}

fn push_units(c: char, out: &mut String) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        push_format(out, format_args!("\\u{unit:04x}"));
    }
}

fn push_format(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("a String takes all text");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(number: f64) -> String {
        let mut out = String::new();
        push_float(number, &mut out);
        out
    }

    #[test]
    fn floats_are_spelt_as_python_spells_them() {
        let expected = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (123.456e-10, "1.23456e-08"),
            (-1e22, "-1e+22"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ];
        for (number, text) in expected {
            assert_eq!(float(number), text);
        }
    }
}
