//! Tells which of a table's delimiters count at a place in the stream.

use std::slice;

use parser_sdk::Tools;

use super::named::Named;
use super::{Delimiter, Kind, Parameter, Table};

/// A place in the stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    /// Index of the open region's field; `None` outside all regions.
    pub(crate) region: Option<usize>,
    /// Position inside a region of calls.
    pub(crate) within: Within,
    /// The tools that may be called.
    pub(crate) tools: &'a Tools,
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
    /// Behind the JSON that is a call's arguments.
    Done,
    /// Between parameters.
    Parameters,
    /// In a parameter's value.
    Value,
    /// In a value that ends with its line.
    Line,
    /// After a delimiter that ends a parameter's value if the call goes on after it.
    Ended,
    /// After the close of a call inside a value, whose own end didn't come.
    Closed,
    /// After words that belong to nothing in the call, which is incomplete.
    Broken,
}

/// What a delimiter means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The region of this field opens.
    Open(usize),
    /// The region of this field opens with an object where a name should stand; the object's brace
    /// is the delimiter's last byte.
    OpenObject(usize),
    /// Markup that changes nothing: the start anchor, the `open` of reasoning inside reasoning, the
    /// `close` of text outside all regions, or the header of a region that the table lacks.
    Markup,
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
        self.watched(place, &mut |meaning, delimiter, _| {
            announces |= delimiter.trigger == marker && (!ends || meaning == Meaning::TurnEnd);
        });
        announces
    }

    /// Whether a marker begins a delimiter that counts at `place`, other than that of a string.
    pub(crate) fn ends_strings(&self, place: Place, marker: usize) -> bool {
        let mut ends = false;
        self.watched(place, &mut |meaning, delimiter, _| {
            ends |= delimiter.trigger == marker && !matches!(meaning, Meaning::StringOpen(_));
        });
        ends
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

    /// Shows `see` the delimiters that count at `place`, with their meanings and what their groups
    /// are.
    pub(super) fn watched(&self, place: Place, see: &mut dyn FnMut(Meaning, &Delimiter, Named)) {
        self.watched_opens(place, see);
        let mut all = |meaning, delimiters: &[Delimiter]| {
            for delimiter in delimiters {
                see(meaning, delimiter, Named::Any);
            }
        };
        if let Some(implicit) = self.implicit {
            all(Meaning::TurnEnd, &self.fields[implicit].close);
        }
        match place.within {
            Within::String | Within::Closed => return,
            Within::Delimited(index) => {
                return all(Meaning::StringEnd, slice::from_ref(&self.strings(place.region)[index].1));
            }
            _ => {}
        }
        let field = place.region.map(|region| &self.fields[region]);
        if place.within == Within::NoCall {
            all(Meaning::Markup, &self.anchors);
            match field {
                Some(field) if matches!(field.kind, Kind::Reasoning) || place.region == self.first => {
                    all(Meaning::Markup, &field.open);
                }
                Some(_) => {}
                None => {
                    all(Meaning::Markup, &self.headers);
                    let texts =
                        self.fields.iter().filter(|field| field.kind.is_text() && !field.open.is_empty());
                    texts.for_each(|field| all(Meaning::Markup, &field.close));
                }
            }
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
            all(Meaning::Key, &parameter.lenient_keys);
        }
        if matches!(place.within, Within::Value | Within::Ended) {
            all(Meaning::ValueEnd, &parameter.ends);
        }
    }

    /// Shows `see` the delimiters that open regions at `place`: inside a call another call, if its
    /// name is declared; inside text a call.
    fn watched_opens(&self, place: Place, see: &mut dyn FnMut(Meaning, &Delimiter, Named)) {
        if matches!(place.within, Within::String | Within::Delimited(_) | Within::Value) {
            return;
        }
        let is_outside = place.region.is_none();
        let in_call = place.within != Within::NoCall;
        let is_over = matches!(place.within, Within::Closed | Within::Broken);
        for (index, field) in self.fields.iter().enumerate() {
            if field.kind.is_text() {
                if is_outside || is_over {
                    field.open.iter().for_each(|open| see(Meaning::Open(index), open, Named::Any));
                }
                continue;
            }
            if place.tools.is_empty() {
                continue;
            }
            let named = match field.nameless[..] {
                _ if in_call => Named::Declared,
                [] => Named::Accepted,
                _ => Named::BeforeTag,
            };
            // In a call's JSON, what begins like JSON is JSON.
            let inside = in_call && place.within != Within::Done;
            let mut all = |meaning, delimiters: &[Delimiter], named| {
                for open in delimiters {
                    if !(inside && open.is_json) {
                        see(meaning, open, named);
                    }
                }
            };
            all(Meaning::Open(index), &field.open, named);
            // Without its wrapper, a call is known by its name, or by the call before it.
            if in_call || !matches!(field.kind, Kind::Objects { .. } | Kind::Python) {
                all(Meaning::Open(index), &field.lenient, Named::Declared);
            }
            all(Meaning::OpenObject(index), &field.nameless, Named::Any);
        }
    }
}
