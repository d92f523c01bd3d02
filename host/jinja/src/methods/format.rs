//! `str.format` and `str.format_map`, within jinja2's sandbox: attributes are looked up as
//! templates look them up.

use std::sync::Arc;

use crate::arguments::Arguments;
use crate::error::{Error, Result};
use crate::eval::Run;
use crate::print;
use crate::print::spec::Spec;
use crate::text::{Text, TextBuilder};
use crate::value::Value;

/// Where fields find their values.
struct Fields<'a> {
    positional: &'a [Value],
    keyword: &'a dyn Fn(&str) -> Option<Value>,
    /// Number of the next field without a name; `None` after a field with a number.
    automatic: Option<usize>,
    has_numbers: bool,
}

pub(super) fn format(run: &mut Run, text: &Text, arguments: &Arguments) -> Result<Value> {
    let keyword = |name: &str| {
        arguments.keyword.iter().find(|(key, _)| key.as_str() == name).map(|(_, value)| value.clone())
    };
    let fields = Fields {
        positional: &arguments.positional,
        keyword: &keyword,
        automatic: Some(0),
        has_numbers: false,
    };
    expand(run, text, fields)
}

pub(super) fn format_map(run: &mut Run, text: &Text, mapping: &Value) -> Result<Value> {
    let Value::Dict(dict) = mapping else {
        return Err(Error::runtime(format!("'{}' object is not subscriptable", mapping.type_name())));
    };
    let keyword = |name: &str| dict.get(name).cloned();
    expand(run, text, Fields { positional: &[], keyword: &keyword, automatic: Some(0), has_numbers: false })
}

fn expand(run: &mut Run, text: &Text, mut fields: Fields) -> Result<Value> {
    let mut out = TextBuilder::new(text.is_markup);
    push_expanded(run, text, &mut fields, 2, &mut out)?;
    run.finish(out)
}

fn push_expanded(
    run: &mut Run,
    text: &Text,
    fields: &mut Fields,
    depth: usize,
    out: &mut TextBuilder,
) -> Result<()> {
    let string = text.as_str();
    let mut at = 0;
    while at < string.len() {
        let Some(found) = string[at..].find(['{', '}']) else { break };
        let brace = at + found;
        out.push_slice(text, at..brace);
        let rest = &string[brace..];
        if rest.starts_with("{{") || rest.starts_with("}}") {
            out.push_slice(text, brace..brace + 1);
            at = brace + 2;
            continue;
        }
        if rest.starts_with('}') {
            return Err(Error::runtime("Single '}' encountered in format string"));
        }
        let end = field_end(&rest[1..]).ok_or_else(|| match rest.len() {
            1 => Error::runtime("Single '{' encountered in format string"),
            _ => Error::runtime("expected '}' before end of string"),
        })?;
        let inside = brace + 1..brace + 1 + end;
        let value = field(run, &text.slice(inside.clone()), fields, depth)?;
        run.check_size(out.len() + value.as_str().len())?;
        out.push_text(&if text.is_markup { crate::markup::escape(&value) } else { value });
        at = inside.end + 1;
    }
    out.push_slice(text, at..string.len());
    Ok(())
}

/// Position of the brace that closes a field.
fn field_end(text: &str) -> Option<usize> {
    let mut depth = 1;
    let mut in_index = false;
    text.bytes().position(|byte| {
        match byte {
            b'[' if depth == 1 => in_index = true,
            b']' => in_index = false,
            b'{' if !in_index => depth += 1,
            b'}' if !in_index => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

fn field(run: &mut Run, field: &Text, fields: &mut Fields, depth: usize) -> Result<Text> {
    if depth == 0 {
        return Err(Error::runtime("Max string recursion exceeded"));
    }
    let string = field.as_str();
    let name_end = string.find(['!', ':', '[']).map_or(string.len(), |at| match string.as_bytes()[at] {
        b'[' => string[at..].rfind(']').map_or(string.len(), |close| {
            let close = at + close;
            string[close..].find(['!', ':']).map_or(string.len(), |more| close + more)
        }),
        _ => at,
    });
    let (name, after) = string.split_at(name_end);
    let mut value = lookup(run, name, fields)?;
    let (conversion, spec) = match after.strip_prefix('!') {
        Some(rest) => {
            let (conversion, spec) = rest.split_once(':').unwrap_or((rest, ""));
            (Some(conversion), spec)
        }
        None => (None, after.strip_prefix(':').unwrap_or("")),
    };
    value = match conversion {
        None => value,
        Some("s") => Value::Text(run.str(&value)?),
        Some("r") => Value::Text(run.repr(&value)?),
        Some("a") => Value::Text(print::ascii(&run.repr(&value)?)),
        Some("") => return Err(Error::runtime("end of string while looking for conversion specifier")),
        Some(other) => return Err(Error::runtime(format!("Unknown conversion specifier {other}"))),
    };
    let start = string.len() - spec.len();
    let mut expanded = TextBuilder::default();
    if spec.contains(['{', '}']) {
        push_expanded(run, &field.slice(start..string.len()), fields, depth - 1, &mut expanded)?;
    } else {
        expanded.push_slice(field, start..string.len());
    }
    let spec = expanded.finish();
    if spec.as_str().is_empty() {
        return run.str(&value);
    }
    Spec::parse(spec.as_str())?.format(&value)
}

/// Value of a field's name: an argument, then attributes and items.
fn lookup(run: &mut Run, name: &str, fields: &mut Fields) -> Result<Value> {
    let first_end = name.find(['.', '[']).unwrap_or(name.len());
    let (first, mut rest) = name.split_at(first_end);
    let mut value = match first.parse::<usize>() {
        _ if first.is_empty() => {
            let index = fields.automatic.filter(|_| !fields.has_numbers);
            let index = index.ok_or_else(|| {
                Error::runtime("cannot switch from manual field specification to automatic field numbering")
            })?;
            fields.automatic = Some(index + 1);
            positional(fields, index)?
        }
        Ok(index) => {
            if fields.automatic != Some(0) {
                return Err(Error::runtime(
                    "cannot switch from automatic field numbering to manual field specification",
                ));
            }
            fields.has_numbers = true;
            positional(fields, index)?
        }
        Err(_) => (fields.keyword)(first).ok_or_else(|| Error::runtime(format!("KeyError: '{first}'")))?,
    };
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            value = run.attribute(&value, &Arc::from(&after[..end]))?;
            rest = &after[end..];
        } else {
            let inside = rest
                .strip_prefix('[')
                .ok_or_else(|| Error::runtime("Only '.' or '[' may follow ']' in format field specifier"))?;
            let end = inside.find(']').ok_or_else(|| Error::runtime("Missing ']' in format string"))?;
            let key = inside[..end].parse::<i64>().map_or_else(|_| Value::made(&inside[..end]), Value::Int);
            value = run.item(&value, &key)?;
            rest = &inside[end + 1..];
        }
    }
    Ok(value)
}

fn positional(fields: &Fields, index: usize) -> Result<Value> {
    let value = fields.positional.get(index).cloned();
    value.ok_or_else(|| {
        Error::runtime(format!("Replacement index {index} out of range for positional args tuple"))
    })
}
