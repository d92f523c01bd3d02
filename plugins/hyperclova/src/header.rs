//! The rest of a message's header, behind the role: it says what the message is.

use parser_sdk::Tools;

/// Header of thoughts.
pub(crate) const THOUGHTS: &str = "/think\n";
/// Beginning of the header of calls, without the blank before it.
const TOOL: &str = "-> tool/";
/// What stands behind that where calls follow that name their tools.
const CALLS: &str = "function_call";
/// Longest header that is undecided, in bytes.
const HEADER: usize = 200;

/// What a message is, and how many bytes the header has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Header<'a> {
    Unclear,
    /// Text without a header.
    Other,
    Text(usize),
    Thoughts(usize),
    /// Calls that name their tools.
    Calls(usize),
    /// Arguments of the tool that the header names.
    Arguments(&'a str, usize),
}

impl<'a> Header<'a> {
    /// Reads the text behind the role. Calls need tools.
    pub(crate) fn of(text: &'a str, tools: &Tools) -> Self {
        if text.is_empty() || (text.len() < THOUGHTS.len() && THOUGHTS.starts_with(text)) {
            return Self::Unclear;
        }
        if text.starts_with('\n') {
            return Self::Text(1);
        }
        if text.starts_with(THOUGHTS) {
            return Self::Thoughts(THOUGHTS.len());
        }
        let tool = text.strip_prefix(' ').unwrap_or(text);
        match tool.strip_prefix(TOOL) {
            _ if tools.is_empty() => Self::Other,
            Some(name) => Self::of_tool(name, text.len() - name.len(), tools),
            None if TOOL.starts_with(tool) => Self::Unclear,
            None => Self::Other,
        }
    }

    /// Reads what stands behind `before` bytes of a header of calls.
    fn of_tool(name: &'a str, before: usize, tools: &Tools) -> Self {
        match name.split_once('\n') {
            Some((CALLS, _)) => Self::Calls(before + CALLS.len() + 1),
            Some((name, _)) if tools.contains(name) => Self::Arguments(name, before + name.len() + 1),
            None if before + name.len() < HEADER => Self::Unclear,
            _ => Self::Other,
        }
    }

    /// Whether the header of a call has begun.
    pub(crate) fn begins_call(text: &str) -> bool {
        text.strip_prefix(' ').unwrap_or(text).starts_with(TOOL)
    }
}
