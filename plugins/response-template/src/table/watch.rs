//! Tells which of a table's delimiters count at a place in the stream, and which of them held text is.
//!
//! Invariant: only the first [`HEAD`] bytes of held text decide, however the stream is cut into chunks.

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
        /// Whether brackets are open, so that the next closing bracket is the JSON's and no delimiter.
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
    /// The message begins: the start anchor, or the `open` of the region that is open from the beginning.
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

/// Whether `text` is nothing but ends of elements (`</function>`) and white space. An end that is cut off `counts` or doesn't.
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
    /// Whether a marker begins a delimiter that counts at `place` and, if `ends` is set, ends the turn.
    pub(crate) fn announces(&self, place: Place, marker: usize, ends: bool) -> bool {
        let counts = |meaning| !ends || meaning == Meaning::TurnEnd;
        self.watched(place).any(|(meaning, delimiter)| counts(meaning) && delimiter.trigger == marker)
    }

    /// The longest delimiter with which `head` begins. Undecided while `head` may become another delimiter, unless it `is_all` the text.
    pub(crate) fn find(&self, place: Place, head: &str, is_all: bool) -> Found {
        let known = &head[..head.floor_char_boundary(HEAD)];
        let (mut found, mut longest) = (Found::Text, 0);
        for (meaning, delimiter) in self.watched(place) {
            match delimiter.pattern.matches(known) {
                Match::Partial if !is_all && head.len() <= HEAD => return Found::Undecided,
                Match::Yes(bytes, group) if bytes > longest => {
                    longest = bytes;
                    found = Found::Delimiter(meaning, bytes, group.unwrap_or_default());
                }
                _ => {}
            }
        }
        found
    }

    /// Whether `head` can become nothing but the opening delimiter of a call.
    pub(crate) fn begins_call(&self, place: Place, head: &str) -> bool {
        let begins =
            |(_, delimiter): &(Meaning, &Delimiter)| delimiter.pattern.matches(head) == Match::Partial;
        let mut is_call = self
            .watched(place)
            .filter(begins)
            .map(|(meaning, _)| match meaning {
                Meaning::Open(field) => !self.fields[field].kind.is_text(),
                _ => false,
            })
            .peekable();
        is_call.peek().is_some() && is_call.all(|is_call| is_call)
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

    /// The delimiters that count at `place`.
    fn watched(&self, place: Place) -> impl Iterator<Item = (Meaning, &Delimiter)> {
        let is_string = matches!(place.within, Within::String | Within::Delimited(_));
        let all = if is_string { &[] } else { &self.fields[..] };
        let region = place.region.and_then(|region| all.get(region));
        // If no tool may be called, calls are text of the field without `open`, if there is one.
        let calls = place.may_call || self.implicit.is_none();
        let outside = all.iter().enumerate().filter(move |_| place.region.is_none());
        let opens = outside
            .filter(move |(_, field)| calls || field.kind.is_text())
            .flat_map(|(index, field)| field.open.iter().map(move |open| (Meaning::Open(index), open)));
        let ends = self.implicit.iter().flat_map(|implicit| &self.fields[*implicit].close);
        let again = region.filter(|_| place.region == self.first).into_iter().flat_map(|field| &field.open);
        let anchors = self.anchors.iter().filter(move |_| place.within == Within::NoCall);
        let is_inner = move |close: &&Delimiter| {
            let literal = &self.markers.0[close.trigger];
            place.within == Within::Json { is_open: true } && literal.starts_with(['}', ']'])
        };
        let closes = region.into_iter().flat_map(|field| &field.close).filter(move |close| !is_inner(close));
        let parameter = self.parameter(place.region);
        let strings = self.strings(place.region).iter().enumerate();
        let begins = strings.clone().filter(move |_| place.within == Within::Dialect);
        let ended = strings.filter(move |(index, _)| place.within == Within::Delimited(*index));
        let key = parameter
            .filter(|_| matches!(place.within, Within::Parameters | Within::Ended))
            .map(|parameter| &parameter.keys);
        let value =
            parameter.filter(|_| matches!(place.within, Within::Value | Within::Ended | Within::Trailing));
        opens
            .chain(ends.map(|end| (Meaning::TurnEnd, end)))
            .chain(again.chain(anchors).map(|open| (Meaning::MessageStart, open)))
            .chain(closes.map(|close| (Meaning::Close, close)))
            .chain(key.into_iter().flatten().map(|key| (Meaning::Key, key)))
            .chain(
                value.into_iter().flat_map(|parameter| &parameter.ends).map(|end| (Meaning::ValueEnd, end)),
            )
            .chain(begins.map(|(index, (open, _))| (Meaning::StringOpen(index), open)))
            .chain(ended.map(|(_, (_, close))| (Meaning::StringEnd, close)))
    }
}
