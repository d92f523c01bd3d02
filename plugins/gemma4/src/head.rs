//! The text before a call's arguments: `call:NAME` and a bracket.
//!
//! Invariant: only the first [`LONGEST`] bytes decide, however the stream is cut into chunks.

use parser_sdk::Tools;

/// Length in bytes from which an undecided head is no call.
const LONGEST: usize = 200;

/// What a text begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Head {
    /// Undecided: more text is needed.
    Unclear,
    /// No call.
    Other,
    /// A call: its name, the bracket that ends its arguments, and the offset of the arguments.
    Call { name: String, close: u8, at: usize },
}

impl Head {
    /// Looks for a call behind the marker of calls. Its name may be any plausible one, and `call:`
    /// may be missing.
    pub(crate) fn of(text: &str, tools: &Tools) -> Self {
        Self::bounded(text, |known| {
            let code = known.trim_start();
            let callee = code.strip_prefix("call:").unwrap_or(code);
            let name = callee.split(['{', '(']).next().unwrap_or_default();
            match callee.as_bytes().get(name.len()) {
                None if tools.may_begin(name.trim_end()) => Self::Unclear,
                Some(bracket) if tools.accepts(name.trim_end()) => {
                    let close = if *bracket == b'{' { b'}' } else { b')' };
                    let at = known.len() - callee.len() + name.len() + 1;
                    Self::Call { name: declared(name.trim_end(), tools).to_owned(), close, at }
                }
                _ => Self::Other,
            }
        })
    }

    fn bounded(text: &str, of: impl Fn(&str) -> Self) -> Self {
        match of(&text[..text.floor_char_boundary(LONGEST)]) {
            Self::Unclear if text.len() >= LONGEST => Self::Other,
            known => known,
        }
    }
}

/// Looks for a call where no marker announces one: `call:`, and the name of a declared tool.
pub(crate) fn unmarked(text: &str, tools: &Tools) -> Head {
    Head::bounded(text, |known| {
        let code = known.trim_start();
        let Some(callee) = code.strip_prefix("call:") else {
            let may_begin = "call:".starts_with(code) && tools.names().next().is_some();
            return if may_begin { Head::Unclear } else { Head::Other };
        };
        let name = callee.split(['{', '(']).next().unwrap_or_default();
        let is_whole = name.len() < callee.len();
        let fits = |declared: &str| if is_whole { declared == name } else { declared.starts_with(name) };
        if tools.names().any(fits) { Head::of(known, tools) } else { Head::Other }
    })
}

/// The name of the declared tool that is called by `name`, which may have the prefix of a
/// namespace.
fn declared<'a>(name: &'a str, tools: &Tools) -> &'a str {
    let suffix = name.rsplit([':', '.']).next().unwrap_or(name);
    if !tools.contains(name) && tools.contains(suffix) { suffix } else { name }
}
