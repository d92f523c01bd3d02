//! What the group of a delimiter may be: a call's header counts only with the name of a tool.

use parser_sdk::Tools;
use parser_sdk::params::unquoted;

use super::{Delimiter, Match, Wait};

/// What the group of a delimiter may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// Any text.
    Any,
    /// The name of a tool that may be called, declared or not.
    Accepted,
    /// The same; behind an undeclared name a tag follows, since nothing else ends the header.
    BeforeTag,
    /// The name of a declared tool.
    Declared,
}

impl Named {
    /// Whether `text` begins with the delimiter, with such a group.
    pub(super) fn matches<'a>(self, tools: &Tools, delimiter: &Delimiter, text: &'a str) -> Match<'a> {
        let found = delimiter.pattern.matches(text, &|name, is_whole| match (self, unquoted(name)) {
            (Self::Any, _) => true,
            (Self::Declared, name) if is_whole => tools.contains(name),
            (Self::Declared, name) => tools.names().any(|declared| declared.starts_with(name)),
            (_, name) if is_whole => tools.accepts(name),
            (_, name) => tools.may_begin(name),
        });
        match found {
            Match::Yes(bytes, Some(name)) if self == Self::BeforeTag && !tools.contains(unquoted(name)) => {
                match text[bytes..].trim_start().chars().next() {
                    Some('<') => found,
                    Some(_) => Match::No,
                    None => Match::Partial(Wait::Marker),
                }
            }
            _ => found,
        }
    }
}
