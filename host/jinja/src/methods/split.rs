//! Methods that cut a string.

use super::search::string;
use crate::arguments::{Arguments, flag};
use crate::error::{Error, Result};
use crate::eval::Run;
use crate::strings::{is_line_end, is_space};
use crate::text::Text;
use crate::value::Value;

pub(super) fn call(run: &mut Run, text: &Text, name: &str, arguments: &Arguments) -> Result<Value> {
    match name {
        "splitlines" => {
            let [keep_ends] = arguments.bind(name, ["keepends"], 0)?;
            run.allocate(text.as_str().len())?;
            run.allocate_values(text.as_str().matches(is_line_end).count())?;
            run.list(lines(text, flag(keep_ends)).into_iter().map(Value::Text).collect())
        }
        "partition" | "rpartition" => {
            let [separator] = arguments.exactly(name)?;
            run.allocate(text.as_str().len())?;
            partition(text, string(&separator)?, name == "rpartition")
        }
        _ => {
            let [separator, limit] = arguments.bind(name, ["sep", "maxsplit"], 0)?;
            let limit = limit.map_or(Ok(-1), |limit| {
                limit.as_index().ok_or_else(|| Error::runtime("maxsplit must be an integer"))
            })?;
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            let separator = separator.filter(|separator| !separator.is_none());
            let separates = separator.as_ref().map(string).transpose()?.filter(|text| !text.is_empty());
            let cuts = match separates {
                Some(separator) => text.as_str().matches(separator).count(),
                None => text.as_str().matches(is_space).count(),
            };
            run.allocate(text.as_str().len())?;
            run.allocate_values(cuts.min(limit))?;
            let parts = match &separator {
                None if name == "split" => words(text, limit),
                None => last_words(text, limit),
                Some(separator) => pieces(text, string(separator)?, limit, name == "rsplit")?,
            };
            run.list(parts)
        }
    }
}

fn piece(text: &Text, start: usize, end: usize) -> Value {
    Value::Text(text.slice(start..end))
}

fn pieces(text: &Text, separator: &str, limit: usize, from_end: bool) -> Result<Vec<Value>> {
    if separator.is_empty() {
        return Err(Error::runtime("empty separator"));
    }
    let whole = text.as_str();
    let mut found: Vec<usize> = if from_end {
        whole.rmatch_indices(separator).take(limit).map(|(at, _)| at).collect()
    } else {
        whole.match_indices(separator).take(limit).map(|(at, _)| at).collect()
    };
    if from_end {
        found.reverse();
    }
    let mut parts = Vec::with_capacity(found.len() + 1);
    let mut start = 0;
    for at in found {
        parts.push(piece(text, start, at));
        start = at + separator.len();
    }
    parts.push(piece(text, start, whole.len()));
    Ok(parts)
}

/// Words between white space; the last one takes the rest if `limit` cuts are made.
fn words(text: &Text, limit: usize) -> Vec<Value> {
    let whole = text.as_str();
    let skip = |at: usize| whole.len() - whole[at..].trim_start_matches(is_space).len();
    let mut parts = Vec::new();
    let mut start = skip(0);
    while start < whole.len() {
        let end = whole[start..].find(is_space).map_or(whole.len(), |at| start + at);
        if parts.len() == limit {
            parts.push(piece(text, start, whole.len()));
            break;
        }
        parts.push(piece(text, start, end));
        start = skip(end);
    }
    parts
}

/// Words from the end; the first one takes the rest if `limit` cuts are made.
fn last_words(text: &Text, limit: usize) -> Vec<Value> {
    let whole = text.as_str();
    let skip = |end: usize| whole[..end].trim_end_matches(is_space).len();
    let mut parts = Vec::new();
    let mut end = skip(whole.len());
    while end > 0 {
        let last = whole[..end].char_indices().rev().find(|(_, c)| is_space(*c));
        let start = last.map_or(0, |(at, c)| at + c.len_utf8());
        if parts.len() == limit {
            parts.push(piece(text, 0, end));
            break;
        }
        parts.push(piece(text, start, end));
        end = skip(start);
    }
    parts.reverse();
    parts
}

fn partition(text: &Text, separator: &str, from_end: bool) -> Result<Value> {
    if separator.is_empty() {
        return Err(Error::runtime("empty separator"));
    }
    let whole = text.as_str();
    let found = if from_end { whole.rfind(separator) } else { whole.find(separator) };
    let (len, empty) = (whole.len(), piece(text, 0, 0));
    Value::tuple(match found {
        Some(at) => {
            let after = at + separator.len();
            vec![piece(text, 0, at), piece(text, at, after), piece(text, after, len)]
        }
        None if from_end => vec![empty.clone(), empty, Value::Text(text.clone())],
        None => vec![Value::Text(text.clone()), empty.clone(), empty],
    })
}

/// `str.splitlines`.
pub(crate) fn lines(text: &Text, keep_ends: bool) -> Vec<Text> {
    let whole = text.as_str();
    let mut lines = Vec::new();
    let mut start = 0;
    while start < whole.len() {
        let Some((at, c)) = whole[start..].char_indices().find(|(_, c)| is_line_end(*c)) else {
            lines.push(text.slice(start..whole.len()));
            break;
        };
        let end = start + at;
        let len = if whole[end..].starts_with("\r\n") { 2 } else { c.len_utf8() };
        lines.push(text.slice(start..if keep_ends { end + len } else { end }));
        start = end + len;
    }
    lines
}
