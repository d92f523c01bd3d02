//! An open call: its elements, each between tags of its own name.
//!
//! Invariant: while text of a value flows, nothing is held; the host is told each value's place,
//! and writes keys and brackets. An element with white space alone before the first element inside
//! it is an object or a list, which the host sees, too.

mod ended;
mod inside;
mod text;

use std::collections::BTreeSet;

use inside::Inside;
use parser_sdk::json::white;
use parser_sdk::{Output, Payload, Reading, Route, Segment, Tool};

use crate::tag::{self, BLOCK, CALL, Tag};
use crate::{NAMESPACE, Tools};

/// The tag of a list's items.
const ITEM: &str = "item";
/// The parameter that carries the input of a custom tool.
const INPUT: &str = "input";
/// Deepest nesting of elements; a deeper one is text.
const DEPTH: usize = 64;

/// An open call.
#[derive(Debug)]
pub(crate) struct Call {
    payload: Payload,
    /// Parameters that the tool lists.
    listed: Vec<String>,
    /// Those that came.
    given: BTreeSet<String>,
    /// The open elements, and how many elements came in each.
    open: Vec<Element>,
    at: At,
    /// The text behind the marker of a tag that isn't whole.
    tag: Option<String>,
    /// Names of elements that ended without their own end.
    unended: Vec<String>,
    /// What began inside the open value, as part of its text.
    inside: Inside,
    /// Whether there was text outside of elements.
    has_surplus: bool,
}

#[derive(Debug)]
struct Element {
    name: String,
    place: Segment,
    inside: u32,
}

/// Where the call is, apart from a tag that isn't whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Between elements.
    Between,
    /// In an element that has white space alone so far.
    Blank,
    /// In the text of an element.
    Value,
    /// Behind a marker that no tag follows, and this many bytes of text: a value whose first tag
    /// was left out, perhaps. It may be the text of the element around it, too, if that has none
    /// yet.
    Untagged { bytes: usize, in_value: bool },
    /// Behind the end of the call, or of its block, inside a value, and this much white space. The
    /// call has ended if something outside of calls follows, or the turn's end.
    Ended { of_block: bool, bytes: usize },
}

/// What became of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Progress {
    Inside,
    /// It ended with its own tag.
    Closed,
    /// It ended with its block.
    BlockClosed,
    /// Another call begins.
    Followed(String),
}

impl Call {
    pub(crate) fn new(payload: Payload, tool: Option<&Tool>) -> Self {
        let listed = tool.into_iter().flat_map(|tool| &tool.parameters).map(|one| one.name.clone());
        let (given, open, inside) = (BTreeSet::new(), Vec::new(), Inside::default());
        Self {
            payload,
            listed: listed.collect(),
            given,
            open,
            at: At::Between,
            tag: None,
            unended: Vec::new(),
            inside,
            has_surplus: false,
        }
    }

    /// Tells the host to hold a tag and what stands between elements, which decide nothing before
    /// their end.
    pub(crate) fn look_ahead(&self, out: &mut Output) {
        match (&self.tag, self.at) {
            (Some(_), _) => out.hold_head(b">"),
            (None, At::Between | At::Ended { .. }) => out.hold_gap(),
            (None, At::Blank | At::Value | At::Untagged { .. }) => {}
        }
    }

    /// Reads the marker of a tag, which is the youngest held text.
    pub(crate) fn begin_tag(&mut self, out: &mut Output) {
        if self.tag.take().is_some() {
            self.no_tag(NAMESPACE.len(), out);
        }
        self.tag = Some(String::new());
    }

    /// Reads another marker, a `literal` that is text inside values. Returns whether it is.
    pub(crate) fn takes(&mut self, literal: &str, out: &mut Output) -> bool {
        if self.tag.take().is_some() {
            self.no_tag(literal.len(), out);
        }
        if let At::Untagged { in_value: true, .. } = self.at {
            self.at = At::Value;
            out.take(Route::Value, out.held() - literal.len());
        }
        let is_text = matches!(self.at, At::Blank | At::Value | At::Ended { .. });
        if is_text {
            self.value(literal, out);
        }
        is_text
    }

    /// Reads the beginning of `text`. Returns how much of it, and what became of the call.
    pub(crate) fn read(&mut self, text: &str, tools: &Tools, out: &mut Output) -> (usize, Progress) {
        let Some(so_far) = &mut self.tag else {
            self.text(text, out);
            return (text.len(), Progress::Inside);
        };
        let before = so_far.len();
        so_far.push_str(text);
        let (found, length) = tag::read(so_far);
        match found {
            Tag::Unfinished => return (text.len(), Progress::Inside),
            Tag::Nothing => {
                let keep = so_far.len() - length;
                self.tag = None;
                self.no_tag(keep, out);
                return (length - before, Progress::Inside);
            }
            _ => {}
        }
        let keep = so_far.len() - length;
        self.tag = None;
        if matches!(self.at, At::Ended { .. }) {
            if let Some(ended) = self.ended(&found, keep, tools, out) {
                return (length - before, ended);
            }
            out.take(Route::Value, out.held() - keep - length - NAMESPACE.len());
            self.at = At::Value;
        }
        let progress = self.tagged(found, keep, tools, out);
        (length - before, progress)
    }

    /// Handles a whole tag, which is held with its marker, and behind which the `keep` youngest
    /// bytes are held.
    fn tagged(&mut self, tag: Tag, keep: usize, tools: &Tools, out: &mut Output) -> Progress {
        if let At::Untagged { bytes, in_value } = self.at
            && !self.is_left_out(&tag)
        {
            if in_value {
                out.take(Route::Value, NAMESPACE.len() + bytes);
                self.at = At::Value;
            }
            self.has_surplus |= !in_value && bytes > 0;
        }
        let in_value = matches!(self.at, At::Blank | At::Value);
        if in_value && self.inside.takes(&tag, self.open.last().map(|element| element.name.as_str())) {
            self.at = At::Value;
            out.flow(Route::Value, keep);
            return Progress::Inside;
        }
        match tag {
            Tag::Close(name) => return self.close_tag(&name, keep, out),
            Tag::Call(name) if tools.accepts(&name) => return Progress::Followed(name),
            Tag::Open(name) if name == BLOCK && self.at == At::Between => out.drop(out.held() - keep),
            Tag::Open(name) if self.begins(&name) => self.begin(&name, keep, out),
            _ if in_value => {
                self.at = At::Value;
                out.flow(Route::Value, keep);
            }
            _ => self.drop_surplus(keep, out),
        }
        Progress::Inside
    }

    /// Whether this is the last tag of an element whose first one was left out.
    fn is_left_out(&self, tag: &Tag) -> bool {
        let Tag::Close(name) = tag else { return false };
        ![CALL, BLOCK].contains(&name.as_str()) && !self.open.iter().any(|element| element.name == *name)
    }

    /// Whether an element of this name may begin here. Inside the text of a value it is a parameter
    /// that is still missing: the value's own end was left out.
    fn begins(&self, name: &str) -> bool {
        match self.at {
            At::Between | At::Untagged { .. } | At::Ended { .. } => self.open.len() < DEPTH,
            At::Blank => self.open.len() < DEPTH && self.payload == Payload::Json,
            At::Value => {
                self.open.len() == 1
                    && self.listed.iter().any(|one| one == name)
                    && !self.given.contains(name)
            }
        }
    }

    /// Begins an element, whose tag is held.
    fn begin(&mut self, name: &str, keep: usize, out: &mut Output) {
        if self.at == At::Value {
            self.end_value(out);
            self.leave_to(0);
        }
        out.drop(out.held() - keep);
        self.push(name);
        out.parameter_at(self.path(), Reading::Declared);
        (self.at, self.inside) = (At::Blank, Inside::default());
    }

    fn push(&mut self, name: &str) {
        let place = match self.open.last_mut() {
            Some(around) if name == ITEM => {
                around.inside += 1;
                Segment::Element { name: name.to_owned(), index: around.inside - 1 }
            }
            Some(around) => {
                around.inside += 1;
                Segment::Key(name.to_owned())
            }
            None => {
                self.given.insert(name.to_owned());
                Segment::Key(name.to_owned())
            }
        };
        self.open.push(Element { name: name.to_owned(), place, inside: 0 });
    }

    /// Ends all but the `keep` outermost elements, whose own ends were left out.
    fn leave_to(&mut self, keep: usize) {
        self.unended.extend(self.open.drain(keep..).map(|element| element.name));
    }

    fn path(&self) -> Vec<Segment> {
        self.open.iter().map(|element| element.place.clone()).collect()
    }

    /// Handles the tag that ends an element, a call or a block.
    fn close_tag(&mut self, name: &str, keep: usize, out: &mut Output) -> Progress {
        if let Some(at) = self.open.iter().rposition(|element| element.name == name) {
            self.end_value(out);
            out.drop(out.held() - keep);
            self.leave_to(at + 1);
            self.open.truncate(at);
            self.at = At::Between;
            return Progress::Inside;
        }
        // The element went on, so where it ended before was a part of its text.
        self.has_surplus |= self.unended.iter().any(|element| element == name);
        let ended = match name {
            CALL => Some(Progress::Closed),
            BLOCK => Some(Progress::BlockClosed),
            _ => None,
        };
        match (ended, self.at) {
            (Some(_), At::Blank | At::Value) => {
                self.at = At::Ended { of_block: name == BLOCK, bytes: 0 };
            }
            (Some(ended), _) => {
                out.drop(out.held() - keep);
                return ended;
            }
            (None, At::Untagged { bytes, .. }) => self.untagged(name, bytes, keep, out),
            (None, At::Blank | At::Value) => {
                self.at = At::Value;
                out.flow(Route::Value, keep);
            }
            (None, At::Between | At::Ended { .. }) => out.drop(out.held() - keep),
        }
        Progress::Inside
    }

    /// Writes a value whose first tag was left out: its text is held, between two markers.
    fn untagged(&mut self, name: &str, bytes: usize, keep: usize, out: &mut Output) {
        out.drop(NAMESPACE.len());
        self.push(name);
        out.parameter_at(self.path(), Reading::Declared);
        out.take(Route::Value, bytes);
        out.end_parameter();
        out.drop(out.held() - keep);
        self.open.pop();
        self.at = At::Between;
    }

    /// Handles a marker that no tag follows; the `keep` youngest held bytes are behind it.
    fn no_tag(&mut self, keep: usize, out: &mut Output) {
        match self.at {
            At::Between | At::Blank if self.payload == Payload::Json => {
                let in_value = self.at == At::Blank;
                self.at = At::Untagged { bytes: out.held() - keep - NAMESPACE.len(), in_value };
            }
            At::Blank | At::Value | At::Ended { .. } | At::Untagged { in_value: true, .. } => {
                self.at = At::Value;
                out.flow(Route::Value, keep);
            }
            At::Between | At::Untagged { .. } => self.drop_surplus(keep, out),
        }
    }
}
