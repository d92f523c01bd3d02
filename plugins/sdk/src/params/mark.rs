//! What a parser tells [`super::CallReader`] about its format (style, meaning of markers), and what
//! `CallReader` answers.

use std::borrow::Cow;

use super::attributes;
use crate::{Output, Reading};

/// The attribute that a model may put before the name of a call.
const INDEX: &str = "index=";

/// How a format spells a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// `<parameter=KEY>VALUE</parameter>`. A newline (CRLF too) after `>` isn't part of the value,
    /// nor is then one before the end, which should be part of the marker.
    Attribute,
    /// `<parameter name="KEY">VALUE</parameter>`: every byte between the tags is part of the value.
    #[default]
    Quoted,
    /// `<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>`.
    Elements,
    /// The same, where `<arg_type>TYPE</arg_type>` may stand before the value
    /// ([`super::ArgumentsWriter::reading`]).
    TypedElements,
    /// `<parameter name="KEY" string="true">VALUE</parameter>`: `true` says that the value is text,
    /// `false` that it is JSON.
    Flagged,
    /// `<argument key="KEY" type="TYPE"` up to a marker, VALUE, and the marker of its end: the type
    /// `string` says that the value is text, any other that it is JSON. A quote and `&` in a key
    /// are `&quot;` and `&amp;`.
    Typed,
}

/// What the tag of a parameter says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key<'a> {
    /// The parameter's name.
    pub name: Cow<'a, str>,
    /// How its value is to be read.
    pub reading: Reading,
    /// Whether nothing but attributes stands behind the name.
    pub is_tag: bool,
}

impl Style {
    /// Whether a marker ends the tag of a parameter and that of a call, and not `>`.
    pub(super) fn ends_by_marker(self) -> bool {
        self.is_elements() || self == Self::Typed
    }

    /// Whether a key and its value are elements of their own.
    pub(super) fn is_elements(self) -> bool {
        matches!(self, Self::Elements | Self::TypedElements)
    }

    /// Tells the host to hold the tag of a parameter or of a call, up to what ends it or makes it
    /// none.
    pub(super) fn hold_tag(self, out: &mut Output) {
        if self.ends_by_marker() { out.hold_head(b"") } else { out.hold_head(b">\n") }
    }

    /// Whether a tag always has attributes behind the name.
    pub(super) fn has_attributes(self) -> bool {
        matches!(self, Self::Flagged | Self::Typed)
    }

    /// The attribute with which `marker` ends, if a tag's name comes behind it.
    pub(super) fn first_attribute(self, marker: &str) -> &str {
        if self == Self::Typed && marker.ends_with(INDEX) { INDEX } else { "" }
    }

    /// The name in a tag, as far as the tag has been read.
    pub(super) fn name(self, tag: &str) -> &str {
        self.parts(tag).0
    }

    /// The name in a tag, if nothing but attributes stands behind it; with `goes_on`, the last may be
    /// unfinished.
    pub(super) fn tag_name(self, tag: &str, goes_on: bool) -> Option<&str> {
        let (name, rest) = self.parts(tag);
        attributes::are_pairs(rest, goes_on).then_some(name)
    }

    /// The name in a parameter's whole tag, and how its value is to be read.
    pub(super) fn key(self, tag: &str) -> Key<'_> {
        let (name, rest) = self.parts(tag);
        let flag = if self == Self::Typed { "type" } else { "string" };
        let (flag, is_tag) = attributes::look_up(rest, flag);
        let reading = match (self, flag) {
            (Self::Flagged, Some("true")) | (Self::Typed, Some("string")) => Reading::Text,
            (Self::Flagged, Some("false")) | (Self::Typed, Some(_)) => Reading::Json,
            _ => Reading::Declared,
        };
        let is_escaped = self == Self::Typed && name.contains('&');
        let name =
            if is_escaped { name.replace("&quot;", "\"").replace("&amp;", "&").into() } else { name.into() };
        Key { name, reading, is_tag }
    }

    /// The name at the beginning of a tag, in quotes or not, and the attributes behind it.
    fn parts(self, tag: &str) -> (&str, &str) {
        if self == Self::Attribute || self.is_elements() {
            return (unquoted(tag), "");
        }
        let tag = tag.trim_start();
        if self == Self::Typed && tag.starts_with(INDEX) {
            return (attributes::look_up(tag, "tool").0.unwrap_or_default(), tag);
        }
        match attributes::quoted(tag) {
            Some(parts) => parts,
            None if self == Self::Quoted || tag.starts_with(['"', '\'']) => (unquoted(tag), ""),
            None => tag.split_once(char::is_whitespace).unwrap_or((tag, "")),
        }
    }
}

/// What a marker means inside a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallMark {
    /// A key begins.
    Key,
    /// A key ends.
    KeyEnd,
    /// The type of the value that follows begins.
    Type,
    /// The type ends.
    TypeEnd,
    /// A value begins.
    Value,
    /// A value ends.
    ValueEnd,
    /// The call ends.
    End,
    /// A call begins, which can't be inside another.
    Call,
    /// A call begins, whatever its name is: the marker isn't text.
    Next,
    /// Markup around calls begins or ends.
    Outside,
    /// The turn ends.
    Stop,
    /// Text, inside a call.
    Other,
}

/// Whether the call goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallProgress {
    /// The call goes on.
    Inside,
    /// The call ended with this marker.
    Closed,
    /// The call ended before the header of another, [`super::CallReader::next_name`], and this
    /// marker; both are held, and nothing else.
    Followed,
    /// The call ended before this marker, complete or not; the marker is held, and nothing else.
    Left,
}

/// A name or key without the white space around it, and without the quotes that a model may put
/// there.
pub fn unquoted(name: &str) -> &str {
    name.trim().trim_matches(['"', '\''])
}
