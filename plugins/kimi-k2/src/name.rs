//! The tool that a call's header names: `functions.NAME:INDEX`, and the variants that models write
//! (`functionsNAME5`, `functions_NAME_3`, `INDEX:NAME`, `NAME`).
//!
//! Invariant: the name is a declared tool's, or a non-empty part of the header. `Kimi` calls
//! [`matched`] once per call.

use parser_sdk::Tools;

const PREFIX: &str = "functions";

/// The name that `header` says: as the format spells it if that is declared, else the longest
/// declared name that fits, else as the format spells it.
pub(crate) fn matched<'a>(header: &'a str, tools: &'a Tools) -> &'a str {
    let spelt = canonical(header);
    if tools.contains(spelt) {
        return spelt;
    }
    let fitting = tools.names().filter(|name| fits(header, name));
    fitting.max_by_key(|name| name.len()).unwrap_or(spelt)
}

/// `NAME` of `functions.NAME:INDEX`; the prefix or the index may be missing.
fn canonical(header: &str) -> &str {
    let name = header.strip_prefix("functions.").unwrap_or(header);
    let name = match name.rsplit_once(':') {
        Some((name, index)) if is_number(index) => name,
        _ => name,
    };
    if name.is_empty() { header } else { name }
}

/// Whether the header is `name`, perhaps after `functions` and before an index, each with a
/// separator or without; or after an index and a separator.
fn fits(header: &str, name: &str) -> bool {
    let is_name = |start: &str| start.strip_prefix(name).is_some_and(is_index);
    starts(header)
        .any(|start| is_name(start) || behind_index(start).is_some_and(|rest| starts(rest).any(is_name)))
}

/// The places where a name may begin: with the text, and behind `functions`.
fn starts(text: &str) -> impl Iterator<Item = &str> {
    let without = text.strip_prefix(PREFIX);
    [Some(text), without, without.map(after_separator)].into_iter().flatten()
}

/// Whether a header without its marker may begin with `text`: it names a declared tool.
pub(crate) fn may_begin(text: &str, tools: &Tools) -> bool {
    let goes_on = |start: &str, name: &str| {
        name.starts_with(start)
            || start.strip_prefix(name).is_some_and(|rest| may_be_index(after_separator(rest)))
    };
    PREFIX.starts_with(text) || starts(text).any(|start| tools.names().any(|name| goes_on(start, name)))
}

/// What follows an index and a separator.
fn behind_index(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|char: char| char.is_ascii_digit());
    let name = after_separator(rest);
    (rest.len() < text.len() && name.len() < rest.len()).then_some(name)
}

fn is_index(text: &str) -> bool {
    text.is_empty() || is_number(after_separator(text))
}

fn after_separator(text: &str) -> &str {
    text.strip_prefix(['.', ':', '_', '-']).unwrap_or(text)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && may_be_index(text)
}

fn may_be_index(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}
