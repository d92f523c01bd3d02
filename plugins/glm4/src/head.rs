//! Tells what text begins at the place where a call may begin, before the call is opened: prose may
//! begin with the same words.

use parser_sdk::Tools;
use parser_sdk::json::white;

/// Longest text that is undecided, in bytes.
const HEAD: usize = 400;

/// What a text begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Head<'a> {
    Unclear,
    /// No call.
    Other,
    /// A call: its name, and the offset of its arguments.
    Call(&'a str, usize),
    /// An object or a list that may be calls: its offset.
    Object(usize),
}

impl<'a> Head<'a> {
    /// Looks for a declared tool's name on a line of its own and an object behind it, or for an object
    /// or a list, perhaps in a fence.
    pub(crate) fn of(text: &'a str, tools: &Tools) -> Self {
        match Self::find(&text[..text.floor_char_boundary(HEAD)], tools) {
            Self::Unclear if text.len() >= HEAD => Self::Other,
            known => known,
        }
    }

    fn find(text: &'a str, tools: &Tools) -> Self {
        let line = text.trim_start_matches(white);
        match line.bytes().next() {
            None => Self::Unclear,
            Some(b'{' | b'[') => Self::Object(text.len() - line.len()),
            Some(b'`') => Self::in_fence(text, line),
            Some(_) => Self::named(text, line, tools),
        }
    }

    /// Looks for an object behind the name with which `line`, the end of `text`, begins.
    fn named(text: &'a str, line: &'a str, tools: &Tools) -> Self {
        let Some((name, gap)) = line.split_once(white) else {
            let may_be_name = tools.names().any(|declared| declared.starts_with(line));
            return if may_be_name { Self::Unclear } else { Self::Other };
        };
        let arguments = gap.trim_start_matches(white);
        let is_line = line[name.len()..line.len() - arguments.len()].contains('\n');
        match arguments.bytes().next() {
            _ if !tools.contains(name) => Self::Other,
            None => Self::Unclear,
            Some(b'{') if is_line => Self::Call(name, text.len() - arguments.len()),
            Some(_) => Self::Other,
        }
    }

    /// Looks for an object or a list in the fence that opens `line`, the end of `text`, with a language
    /// or without.
    fn in_fence(text: &str, line: &str) -> Self {
        let language = line.trim_start_matches('`');
        let code =
            language.trim_start_matches(|char: char| char.is_ascii_alphanumeric()).trim_start_matches(white);
        match (line.len() - language.len(), code.bytes().next()) {
            (3, Some(b'{' | b'[')) => Self::Object(text.len() - code.len()),
            (0..=3, None) => Self::Unclear,
            _ => Self::Other,
        }
    }
}
