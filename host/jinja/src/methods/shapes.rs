//! Methods that trim, replace, join and pad.

use std::collections::HashSet;

use super::search::string;
use crate::arguments::Arguments;
use crate::error::{Error, Result};
use crate::eval::Run;
use crate::markup::escape;
use crate::print::spec::Spec;
use crate::strings::is_space;
use crate::text::{Origin, Text, TextBuilder};
use crate::value::Value;

pub(super) fn call(run: &mut Run, text: &Text, name: &str, arguments: &Arguments) -> Result<Value> {
    let whole = text.as_str();
    match name {
        "strip" | "lstrip" | "rstrip" => {
            let [characters] = arguments.bind(name, [""], 0)?;
            let characters = characters.filter(|characters| !characters.is_none());
            let characters = characters.as_ref().map(string).transpose()?;
            Ok(Value::Text(strip(text, name, characters)))
        }
        "removeprefix" | "removesuffix" => {
            let [affix] = arguments.exactly(name)?;
            let affix = string(&affix)?;
            let kept = match name {
                "removeprefix" => whole.strip_prefix(affix).map(|rest| whole.len() - rest.len()..whole.len()),
                _ => whole.strip_suffix(affix).map(|rest| 0..rest.len()),
            };
            Ok(Value::Text(text.slice(kept.unwrap_or(0..whole.len()))))
        }
        "replace" => {
            let [old, new, count] = arguments.bind(name, ["", "", "count"], 2)?;
            let count = match count {
                None => usize::MAX,
                Some(count) => {
                    let count = count.as_index().ok_or_else(|| Error::runtime("count must be an integer"))?;
                    usize::try_from(count).unwrap_or(usize::MAX)
                }
            };
            let (old, new) = (old.unwrap_or(Value::None), new.unwrap_or(Value::None));
            string(&new)?;
            let new = new.as_text().cloned().unwrap_or_else(|| Text::new(Origin::Template, ""));
            replace(run, text, string(&old)?, &new, count)
        }
        _ => {
            let [items] = arguments.exactly(name)?;
            join(run, text, &items)
        }
    }
}

/// Drops characters at the ends: white space, or those of `characters`.
pub(crate) fn strip(text: &Text, name: &str, characters: Option<&str>) -> Text {
    let characters: Option<HashSet<char>> = characters.map(|characters| characters.chars().collect());
    let is_dropped = |c: char| characters.as_ref().map_or(is_space(c), |characters| characters.contains(&c));
    let whole = text.as_str();
    let start = if name == "rstrip" { 0 } else { whole.len() - whole.trim_start_matches(is_dropped).len() };
    let end = if name == "lstrip" { whole.len() } else { whole.trim_end_matches(is_dropped).len() };
    text.slice(start..end.max(start))
}

/// Replaces the first `count` occurrences.
pub(crate) fn replace(run: &mut Run, text: &Text, old: &str, new: &Text, count: usize) -> Result<Value> {
    let whole = text.as_str();
    let mut out = TextBuilder::new(text.is_markup);
    let mut start = 0;
    for (at, _) in whole.match_indices(old).take(count) {
        out.push_slice(text, start..at);
        out.push_text(new);
        start = at + old.len();
        run.check_size(out.len())?;
    }
    out.push_slice(text, start..whole.len());
    run.finish(out)
}

fn join(run: &mut Run, separator: &Text, items: &Value) -> Result<Value> {
    let mut out = TextBuilder::new(separator.is_markup);
    for (index, item) in run.iterate(items)?.iter().enumerate() {
        if index > 0 {
            out.push_text(separator);
        }
        let text = match item {
            Value::Text(text) => text.clone(),
            other if separator.is_markup => run.str(other)?,
            other => {
                let found = run.type_name(other);
                return Err(Error::runtime(format!(
                    "sequence item {index}: expected str instance, {found} found"
                )));
            }
        };
        out.push_text(&if separator.is_markup { escape(&text) } else { text });
        run.check_size(out.len())?;
    }
    run.finish(out)
}

pub(super) fn pad(run: &mut Run, text: &Text, name: &str, arguments: &Arguments) -> Result<Value> {
    if name == "expandtabs" {
        let [size] = arguments.bind(name, ["tabsize"], 0)?;
        let size = size.and_then(|size| size.as_index()).unwrap_or(8);
        return expand_tabs(run, text, usize::try_from(size).unwrap_or(0));
    }
    let [width, fill] = arguments.bind(name, ["", ""], 1)?;
    let width = width.and_then(|width| width.as_index());
    let width = width.ok_or_else(|| Error::runtime(format!("{name}() needs a number")))?;
    let width = usize::try_from(width).unwrap_or(0);
    run.charge_text(width)?;
    if name == "zfill" {
        return Ok(Value::Text(zero_fill(text, width)));
    }
    let fill = fill.map_or(Ok(' '), |fill| {
        let mut chars = string(&fill)?.chars();
        let only = chars.next().filter(|_| chars.next().is_none());
        only.ok_or_else(|| Error::runtime("The fill character must be exactly one character long"))
    })?;
    if name == "center" {
        return Ok(Value::Text(center(text, width, fill)));
    }
    let align = if name == "ljust" { '<' } else { '>' };
    Ok(Value::Text(Spec { fill: Some(fill), width, ..Spec::default() }.pad(text, align)))
}

/// `str.center`: if the filling is odd, the extra character is on the left for odd widths.
pub(crate) fn center(text: &Text, width: usize, fill: char) -> Text {
    let missing = width.saturating_sub(text.char_count());
    let left = missing / 2 + (missing & width & 1);
    text.padded(left, missing - left, fill)
}

fn zero_fill(text: &Text, width: usize) -> Text {
    let sign = usize::from(text.as_str().starts_with(['+', '-']));
    let mut out = TextBuilder::new(text.is_markup);
    out.push_slice(text, 0..sign);
    out.push(Origin::Request, &"0".repeat(width.saturating_sub(text.char_count())));
    out.push_slice(text, sign..text.as_str().len());
    out.finish()
}

fn expand_tabs(run: &mut Run, text: &Text, size: usize) -> Result<Value> {
    run.charge_text(size.saturating_mul(text.as_str().matches('\t').count()))?;
    let mut column = 0;
    let expanded = text.map(|part, out| {
        for c in part.chars() {
            if c == '\t' {
                let count = if size == 0 { 0 } else { size - column % size };
                out.extend(std::iter::repeat_n(' ', count));
                column += count;
            } else {
                out.push(c);
                column = if matches!(c, '\n' | '\r') { 0 } else { column + 1 };
            }
        }
    });
    Ok(Value::Text(expanded))
}
