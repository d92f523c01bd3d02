//! The tool that a call's header names: `functions.NAME:INDEX`, and the variants that models write
//! (`functionsNAME5`, `functions_NAME_3`, `NAME`).
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
/// separator or without.
fn fits(header: &str, name: &str) -> bool {
    let without = header.strip_prefix(PREFIX);
    let starts = [Some(header), without, without.map(after_separator)];
    starts.into_iter().flatten().filter_map(|start| start.strip_prefix(name)).any(is_index)
}

fn is_index(text: &str) -> bool {
    text.is_empty() || is_number(after_separator(text))
}

fn after_separator(text: &str) -> &str {
    text.strip_prefix(['.', ':', '_', '-']).unwrap_or(text)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
