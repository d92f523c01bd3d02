//! Printing of values: Python's `str` and `repr`. What is printed counts as the request's, except
//! for the characters of strings.

pub(crate) mod json;
pub(crate) mod spec;

use num_bigint::BigInt;

use crate::error::{Error, Result};
use crate::strings::{is_printable, push_hex_escape};
use crate::text::{Origin, Text, TextBuilder};
use crate::value::{Function, Value, View};

/// How a run spells what only it knows; `None` for other values.
type Spelt<'a> = &'a dyn Fn(&Value) -> Result<Option<String>>;

/// `repr(value)`, refused if it takes more than `limit` bytes: lists may hold the same list many
/// times.
pub(crate) fn repr(value: &Value, spelt: Spelt, limit: usize) -> Result<Text> {
    let mut out = TextBuilder::default();
    push_repr(value, spelt, limit, &mut out)?;
    Ok(out.finish())
}

fn push_repr(value: &Value, spelt: Spelt, limit: usize, out: &mut TextBuilder) -> Result<()> {
    if out.len() > limit {
        return Err(Error::too_large());
    }
    match value {
        Value::Text(text) if text.is_markup => {
            push(out, "Markup(");
            push_quoted(text, out);
            push(out, ")");
        }
        Value::Text(text) => push_quoted(text, out),
        Value::List(items) => {
            push(out, "[");
            push_items(&items.items, spelt, limit, out)?;
            push(out, "]");
        }
        Value::Tuple(items) => {
            push(out, "(");
            push_items(&items.items, spelt, limit, out)?;
            push(out, if items.items.len() == 1 { ",)" } else { ")" });
        }
        Value::Dict(dict) => {
            push(out, "{");
            for (index, (key, value)) in dict.entries.iter().enumerate() {
                push(out, if index > 0 { ", " } else { "" });
                push_repr(&key.0, spelt, limit, out)?;
                push(out, ": ");
                push_repr(value, spelt, limit, out)?;
            }
            push(out, "}");
        }
        Value::View(view, dict) => {
            push(out, value.type_name());
            push(out, "([");
            let items = dict.viewed(*view)?;
            push_items(&items, spelt, limit, out)?;
            push(out, "])");
        }
        _ => push(out, &spelt(value)?.unwrap_or_else(|| scalar(value))),
    }
    Ok(())
}

fn push(out: &mut TextBuilder, part: &str) {
    out.push(Origin::Request, part);
}

fn push_items(items: &[Value], spelt: Spelt, limit: usize, out: &mut TextBuilder) -> Result<()> {
    for (index, item) in items.iter().enumerate() {
        push(out, if index > 0 { ", " } else { "" });
        push_repr(item, spelt, limit, out)?;
    }
    Ok(())
}

/// Spelling of a value that holds no other values.
pub(crate) fn scalar(value: &Value) -> String {
    match value {
        Value::Undefined(_) => "Undefined".to_owned(),
        Value::None => "None".to_owned(),
        Value::Bool(flag) => if *flag { "True" } else { "False" }.to_owned(),
        Value::Int(number) => number.to_string(),
        Value::BigInt(number) => number.to_string(),
        Value::Float(number) => float(*number),
        Value::Range(range) => match **range {
            [start, stop, 1] => format!("range({start}, {stop})"),
            [start, stop, step] => format!("range({start}, {stop}, {step})"),
        },
        Value::Function(Function::Namespace) => "<class 'TemplateNamespace'>".to_owned(),
        other => format!("<{}>", other.type_name()),
    }
}

/// `repr` of a float: the shortest digits that read back as the same float, with an exponent below
/// 1e-4 and from 1e16 on.
pub(crate) fn float(number: f64) -> String {
    if !number.is_finite() {
        return spec::not_finite(number).to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) || number == 0.0 {
        let plain = number.to_string();
        return if plain.contains('.') { plain } else { plain + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Writes `repr` of a string: in single quotes, but in double quotes if it holds a single quote and
/// no double quote.
fn push_quoted(text: &Text, out: &mut TextBuilder) {
    let string = text.as_str();
    let quote = if string.contains('\'') && !string.contains('"') { '"' } else { '\'' };
    push(out, quote.encode_utf8(&mut [0; 4]));
    for (origin, part) in text.runs() {
        out.write(origin, |out| part.chars().for_each(|c| push_escaped(c, quote, out)));
    }
    push(out, quote.encode_utf8(&mut [0; 4]));
}

fn push_escaped(c: char, quote: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\\' => out.push_str("\\\\"),
        _ if c == quote => out.extend(['\\', c]),
        _ if is_printable(c) => out.push(c),
        _ => push_hex_escape(c, out),
    }
}

/// `ascii(value)`, of which `text` is the `repr`: escapes for all that isn't ASCII.
pub(crate) fn ascii(text: &Text) -> Text {
    text.map(|part, out| {
        for c in part.chars() {
            if c.is_ascii() { out.push(c) } else { push_hex_escape(c, out) }
        }
    })
}

/// Whether a value is true: not empty, not zero, not none.
pub(crate) fn is_true(value: &Value) -> bool {
    match value {
        Value::Undefined(_) | Value::None => false,
        Value::Bool(flag) => *flag,
        Value::Int(number) => *number != 0,
        Value::BigInt(number) => **number != BigInt::default(),
        Value::Float(number) => *number != 0.0,
        Value::Text(text) => !text.as_str().is_empty(),
        Value::List(items) | Value::Tuple(items) => !items.items.is_empty(),
        Value::Dict(dict) | Value::View(View::Keys | View::Values | View::Items, dict) => {
            !dict.entries.is_empty()
        }
        Value::Range(range) => crate::value::range_len(range) > 0,
        Value::Method(_) | Value::Function(_) | Value::Macro(_) | Value::Object(_) => true,
    }
}
