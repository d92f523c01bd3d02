//! Tells which of a table's delimiters count at a place in the stream, and which of them held text
//! is.
//!
//! Invariant: only the first [`HEAD`] bytes of held text decide, however the stream is cut into
//! chunks.

use std::slice;

use super::{Delimiter, Kind, Match, Parameter, Table};

/// Length in bytes above which undecided text is taken for no delimiter.
const HEAD: usize = 512;

/// A place in the stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// Index of the open region's field; `None` outside all regions.
    pub(crate) region: Option<usize>,
    /// Position inside a region of calls.
    pub(crate) within: Within,
    /// Whether tools may be called.
    pub(crate) may_call: bool,
}

/// Position inside a region of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Within {
    /// In no region of calls.
    NoCall,
    /// In a string of JSON: only the turn's end counts.
    String,
    /// In a dialect of JSON, outside strings.
    Dialect,
    /// In a string between the delimiters with this index: only its end and the turn's end count.
    Delimited(usize),
    /// In JSON, outside strings.
    Json {
        /// Whether brackets are open, so that the next closing bracket is the JSON's and no
        /// delimiter.
        is_open: bool,
    },
    /// Between parameters.
    Parameters,
    /// In a parameter's value.
    Value,
    /// After a delimiter that ends a parameter's value if the call goes on after it.
    Ended,
    /// After such a delimiter and text behind it: no key counts.
    Trailing,
}

/// What a delimiter means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The region of this field opens.
    Open(usize),
    /// The message begins: the start anchor, or the `open` of the region that is open from the
    /// beginning.
    MessageStart,
    /// The region closes.
    Close,
    /// The field without `open` closes: the turn ends.
    TurnEnd,
    /// A parameter begins.
    Key,
    /// A parameter's value ends.
    ValueEnd,
    /// A string between the delimiters with this index begins.
    StringOpen(usize),
    /// A string between delimiters ends.
    StringEnd,
}

/// What held text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// No delimiter.
    Text,
    /// Undecided: more text is needed.
    Undecided,
    /// A delimiter: its meaning, its length in bytes, and the text of its group.
    Delimiter(Meaning, usize, String),
}

/// Whether `text` is nothing but ends of elements (`</function>`) and white space. An end that is
/// cut off `counts` or doesn't.
pub(crate) fn are_ends(text: &str, counts: bool) -> bool {
    let mut rest = text.trim_ascii_start();
    while let Some(end) = rest.strip_prefix("</") {
        let is_name = |name: &str| !name.contains(|char: char| char.is_whitespace() || char == '<');
        match end.split_once('>') {
            Some((name, behind)) if is_name(name) => rest = behind.trim_ascii_start(),
            None => return counts && is_name(end),
            Some(_) => return false,
        }
    }
    rest.is_empty() || (counts && rest == "<")
}

impl Table {
    /// Whether a marker begins a delimiter that counts at `place` and, if `ends` is set, ends the
    /// turn.
    pub(crate) fn announces(&self, place: Place, marker: usize, ends: bool) -> bool {
        let mut announces = false;
        self.watched(place, &mut |meaning, delimiter| {
            announces |= delimiter.trigger == marker && (!ends || meaning == Meaning::TurnEnd);
        });
        announces
    }

    /// The longest delimiter with which `head` begins. Undecided while `head` may become another
    /// delimiter, unless it `is_all` the text.
    pub(crate) fn find(&self, place: Place, head: &str, is_all: bool) -> Found {
        let known = &head[..head.floor_char_boundary(HEAD)];
        let (mut found, mut longest) = (Found::Text, 0);
        self.watched(place, &mut |meaning, delimiter| match delimiter.pattern.matches(known) {
            Match::Partial if !is_all && head.len() <= HEAD => found = Found::Undecided,
            Match::Yes(bytes, group) if bytes > longest && found != Found::Undecided => {
                longest = bytes;
                found = Found::Delimiter(meaning, bytes, group.unwrap_or_default());
            }
            _ => {}
        });
        found
    }

    /// Whether `head` can become nothing but the opening delimiter of a call.
    pub(crate) fn begins_call(&self, place: Place, head: &str) -> bool {
        let (mut begins, mut only) = (false, true);
        self.watched(place, &mut |meaning, delimiter| {
            if delimiter.pattern.matches(head) == Match::Partial {
                begins = true;
                only &= matches!(meaning, Meaning::Open(field) if !self.fields[field].kind.is_text());
            }
        });
        begins && only
    }

    /// Spelling of parameters in a region, if there are any.
    pub(crate) fn parameter(&self, region: Option<usize>) -> Option<&Parameter> {
        match &self.fields[region?].kind {
            Kind::Named(parameter) => parameter.as_ref(),
            _ => None,
        }
    }

    /// Delimiters of strings in a region.
    fn strings(&self, region: Option<usize>) -> &[(Delimiter, Delimiter)] {
        match region.map(|region| &self.fields[region].kind) {
            Some(Kind::Dialect { strings, .. }) => strings,
            _ => &[],
        }
    }

    /// Shows `see` the delimiters that count at `place`, with their meanings.
    fn watched(&self, place: Place, see: &mut dyn FnMut(Meaning, &Delimiter)) {
        let mut all = |meaning, delimiters: &[Delimiter]| {
            for delimiter in delimiters {
                see(meaning, delimiter);
            }
        };
        let field = place.region.map(|region| &self.fields[region]);
        // If no tool may be called, calls are text of the field without `open`, if there is one.
        let calls = place.may_call || self.implicit.is_none();
        for (index, field) in self.fields.iter().enumerate().filter(|_| field.is_none()) {
            if calls || field.kind.is_text() {
                all(Meaning::Open(index), &field.open);
            }
        }
        if let Some(implicit) = self.implicit {
            all(Meaning::TurnEnd, &self.fields[implicit].close);
        }
        match place.within {
            Within::String => return,
            Within::Delimited(index) => {
                return all(Meaning::StringEnd, slice::from_ref(&self.strings(place.region)[index].1));
            }
            _ => {}
        }
        if let Some(field) = field.filter(|_| place.region == self.first) {
            all(Meaning::MessageStart, &field.open);
        }
        if place.within == Within::NoCall {
            all(Meaning::MessageStart, &self.anchors);
        }
        for close in field.map_or(&[][..], |field| &field.close) {
            let is_inner = place.within == Within::Json { is_open: true }
                && self.markers.0[close.trigger].starts_with(['}', ']']);
            if !is_inner {
                all(Meaning::Close, slice::from_ref(close));
            }
        }
        if place.within == Within::Dialect {
            for (index, (open, _)) in self.strings(place.region).iter().enumerate() {
                all(Meaning::StringOpen(index), slice::from_ref(open));
            }
        }
        let Some(parameter) = self.parameter(place.region) else { return };
        if matches!(place.within, Within::Parameters | Within::Ended) {
            all(Meaning::Key, &parameter.keys);
        }
        if matches!(place.within, Within::Value | Within::Ended | Within::Trailing) {
            all(Meaning::ValueEnd, &parameter.ends);
        }
    }
}
