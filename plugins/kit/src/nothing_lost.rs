//! Changes to a recorded turn after which nothing of it may be lost in silence: a sentence put
//! anywhere, markup inside a value, a call that breaks off before the next, reasoning without its
//! end, white space between markers. Native tests and `host parser test` play the same streams.
//!
//! Invariant: a change demands no more than what every format can keep: a turn that isn't completed
//! tells the client so, and is never wrong. What a call before the change had in it stays there.

use seeded::SplitMix64;
use serde_json::Value;

use super::case::{ANY_OBJECT, End, Piece};
use super::{Head, Item, function};
use contract::{Payload, Request, Tool};

/// A sentence that no format has as markup, and the word by which it is found.
const SENTENCE: &str = " Mind the quoll, it bites. ";
const WORD: &str = "quoll";
/// The tool that a call that breaks off names. The request of a changed stream declares it.
pub const BROKEN_TOOL: &str = "look_up";
/// Most random places of a value at which each marker is put.
const PLACES: usize = 2;

/// A recorded turn, completed, with its markers as tokens.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    /// Literals of the parser's markers.
    pub markers: &'a [String],
    /// Indices of those that end the turn.
    pub stops: &'a [u32],
    /// Text that ends reasoning, if the format has one.
    pub reasoning_end: Option<&'a str>,
    /// The tools that the request declares.
    pub tools: &'a [Tool],
    /// What the model writes.
    pub output: &'a [Piece],
    /// What comes of it.
    pub items: &'a [Item],
}

/// A changed stream, and what must come of it.
#[derive(Debug, Clone)]
pub struct Changed {
    /// What was changed.
    pub what: String,
    /// What the model writes.
    pub output: Vec<Piece>,
    /// What must come of it.
    pub must: Must,
}

/// What must come of a changed stream, unless its turn isn't completed.
#[derive(Debug, Clone)]
pub enum Must {
    /// An item says this word, or the name of a call does.
    Say(&'static str),
    /// The parts of a value around markup are shown, and no whole call has the first part without
    /// the rest. Where the value ends as it should, the other calls are whole.
    Hold(MarkedValue),
    /// This call is whole, also if the turn isn't completed.
    Call(Item),
    /// These calls are whole, white space at the ends of strings aside.
    Calls(Vec<Item>),
}

/// A value with markup in it.
#[derive(Debug, Clone)]
pub struct MarkedValue {
    before: String,
    markup: String,
    after: String,
    /// The turn's other calls.
    others: Vec<Item>,
}

impl MarkedValue {
    fn whole(&self) -> String {
        [self.before.as_str(), &self.markup, &self.after].concat()
    }

    fn is_held(&self, items: &[Item]) -> bool {
        let whole = self.whole();
        let values: Vec<Value> = items
            .iter()
            .filter(|item| item.complete && is_json(item))
            .filter_map(|item| serde_json::from_str(&item.text).ok())
            .collect();
        let mut held = values.iter().flat_map(strings).filter(|string| string.contains(&self.before));
        match held.next() {
            None => [&self.before, &self.after].into_iter().all(|part| shows(items, part.trim())),
            Some(string) if string == whole => {
                self.others.iter().all(|call| items.iter().any(|item| same(item, call)))
            }
            Some(string) => string.contains(&whole),
        }
    }
}

/// Whether an item says this, as it is or as a string of JSON.
fn shows(items: &[Item], part: &str) -> bool {
    let quoted = Value::from(part).to_string();
    let inside = &quoted[1..quoted.len() - 1];
    items.iter().any(|item| item.text.contains(part) || item.text.contains(inside))
}

impl Must {
    /// Checks what came of the stream.
    ///
    /// # Errors
    /// What is missing.
    pub fn check(&self, items: &[Item], end: End) -> Result<(), String> {
        let holds = match self {
            Self::Call(call) => items.iter().any(|item| same(item, call)),
            _ if end != End::Completed => true,
            Self::Say(word) => items.iter().any(|item| says(item, word)),
            Self::Hold(marked) => marked.is_held(items),
            Self::Calls(calls) => {
                calls.iter().all(|call| items.iter().any(|item| same(&trimmed(item), &trimmed(call))))
            }
        };
        if holds { Ok(()) } else { Err(format!("it ends {end:?}\n    got {items:?}\n    it must {self:?}")) }
    }
}

/// Whether the text of an item or the name of a call has this word.
fn says(item: &Item, word: &str) -> bool {
    item.text.contains(word) || matches!(&item.head, Head::ToolCall(call) if call.name.contains(word))
}

/// Whether two items are the same, but for white space in the JSON of calls.
fn same(one: &Item, other: &Item) -> bool {
    let json = |item: &Item| serde_json::from_str::<Value>(&item.text).ok().filter(|_| is_json(item));
    let is_same_json = json(one).is_some_and(|value| Some(value) == json(other));
    one.head == other.head && one.complete == other.complete && (one.text == other.text || is_same_json)
}

fn is_json(item: &Item) -> bool {
    matches!(&item.head, Head::ToolCall(call) if call.payload == Payload::Json)
}

/// The call with its strings' ends trimmed.
fn trimmed(item: &Item) -> Item {
    fn trim(value: &mut Value) {
        match value {
            Value::String(text) => *text = text.trim().to_owned(),
            Value::Array(items) => items.iter_mut().for_each(trim),
            Value::Object(members) => members.values_mut().for_each(trim),
            _ => {}
        }
    }
    let Ok(mut value) = serde_json::from_str(&item.text) else { return item.clone() };
    trim(&mut value);
    Item { text: value.to_string(), ..item.clone() }
}

/// Declares the tool that a call which breaks off names, if the request declares any.
pub fn declare_broken_tool(request: &mut Request) {
    if !request.tools.is_empty() {
        let broken = [function(BROKEN_TOOL, ANY_OBJECT)];
        request.tools = request.tools.iter().cloned().chain(broken).collect();
    }
}

/// The pieces with markers in the text.
pub fn as_text(output: &[Piece]) -> Vec<Piece> {
    vec![Piece::Text(output.iter().map(text).collect())]
}

fn text(piece: &Piece) -> &str {
    let (Piece::Text(text) | Piece::Marker(_, text)) = piece;
    text
}

impl Recorded<'_> {
    /// The changed streams; the seed chooses places inside values.
    pub fn changes(&self, seed: u64) -> Vec<Changed> {
        let mut all = self.sentences();
        all.extend(self.values(&mut SplitMix64::new(seed)));
        all.extend(self.openers());
        all.extend(self.unclosed_reasoning());
        all.extend(self.white_space());
        all
    }

    /// Number of pieces before the marker that ends the turn.
    fn length(&self) -> usize {
        let is_stop = |piece: &Piece| matches!(piece, Piece::Marker(index, _) if self.stops.contains(index));
        self.output.iter().position(is_stop).unwrap_or(self.output.len())
    }

    /// The whole calls of declared tools, with their indices among the items.
    fn calls(&self) -> impl Iterator<Item = (usize, &Item)> {
        let is_declared = |name: &str| self.tools.iter().any(|tool| tool.name == name);
        let is_whole = move |item: &Item| match &item.head {
            Head::ToolCall(call) => item.complete && is_declared(&call.name),
            _ => false,
        };
        self.items.iter().enumerate().filter(move |(_, item)| is_whole(item))
    }

    /// The output with `more` before its piece `at`.
    fn with(&self, at: usize, more: &[Piece]) -> Vec<Piece> {
        [&self.output[..at], more, &self.output[at..]].concat()
    }

    /// A sentence at the turn's beginning, its end, and around each marker.
    fn sentences(&self) -> Vec<Changed> {
        let at = |at| Changed {
            what: format!("a sentence before {:?}", self.output.get(at).map_or("", text)),
            output: self.with(at, &[Piece::Text(SENTENCE.to_owned())]),
            must: Must::Say(WORD),
        };
        (0..=self.length()).map(at).collect()
    }

    /// Each marker inside each string of a call that the output spells once.
    fn values(&self, random: &mut SplitMix64) -> Vec<Changed> {
        let mut all = Vec::new();
        for (index, item) in self.calls().filter(|(_, item)| is_json(item)) {
            let value: Value = serde_json::from_str(&item.text).unwrap_or_default();
            for string in strings(&value) {
                let Some(place) = self.only_place(string) else { continue };
                all.extend(self.marked(index, string, place, random));
            }
        }
        all
    }

    /// The one text that has `string` in it, once, and where.
    fn only_place(&self, string: &str) -> Option<(usize, usize)> {
        if string.chars().count() < 4 || !self.spells_once(string) {
            return None;
        }
        self.output.iter().enumerate().find_map(|(at, piece)| match piece {
            Piece::Text(text) => Some((at, text.find(string)?)),
            Piece::Marker(..) => None,
        })
    }

    fn spells_once(&self, part: &str) -> bool {
        let whole: String = self.output.iter().map(text).collect();
        whole.matches(part).count() == 1
    }

    /// Each marker inside this string of call `index`, which stands at this place.
    fn marked(
        &self,
        index: usize,
        string: &str,
        (piece, begin): (usize, usize),
        random: &mut SplitMix64,
    ) -> Vec<Changed> {
        let length = string.chars().count();
        let others: Vec<Item> =
            self.calls().filter(|(other, _)| *other != index).map(|(_, call)| call.clone()).collect();
        let mut all = Vec::new();
        for (marker, literal) in (0..).zip(self.markers).filter(|(marker, _)| !self.stops.contains(marker)) {
            let places = [length / 2].into_iter().chain((0..PLACES).map(|_| 2 + random.below(length - 3)));
            for place in places {
                let at = string.char_indices().nth(place).map_or(string.len(), |(at, _)| at);
                let (before, after) = string.split_at(at);
                if !self.spells_once(before) {
                    continue;
                }
                let text = text(&self.output[piece]);
                let halves = text.split_at(begin + at);
                let [first, last] = [halves.0, halves.1].map(|half| Piece::Text(half.to_owned()));
                let parts = [first, Piece::Marker(marker, literal.clone()), last];
                let output = [&self.output[..piece], &parts, &self.output[piece + 1..]].concat();
                let [before, markup, after] = [before, literal, after].map(str::to_owned);
                let must = Must::Hold(MarkedValue { before, markup, after, others: others.clone() });
                all.push(Changed { what: format!("{literal:?} inside {string:?}"), output, must });
            }
        }
        all
    }

    /// A call that breaks off before the first marker behind its name, in front of each call.
    fn openers(&self) -> Vec<Changed> {
        let (mut all, mut from) = (Vec::new(), 1);
        // A marker inside a value may stand before the name of a later call.
        let is_plain = !self.calls().any(|(_, item)| self.has_markup(item));
        for (_, item) in self.calls().filter(|_| is_plain) {
            let Head::ToolCall(call) = &item.head else { continue };
            let name = call.name.as_str();
            let is_head = |at: &usize| match &self.output[at - 1..=*at] {
                // A marker on both sides of the name separates, and begins nothing.
                [marker @ Piece::Marker(..), _] if self.output.get(at + 1) == Some(marker) => false,
                // Behind brackets stands a header without its marker.
                [Piece::Marker(..), Piece::Text(text)] => {
                    text.find(name).is_some_and(|place| !text[..place].contains('}'))
                }
                _ => false,
            };
            let Some(at) = (from..self.length()).find(is_head) else { continue };
            from = at + 1;
            let head = Piece::Text(text(&self.output[at]).replacen(name, BROKEN_TOOL, 1));
            let broken = [self.output[at - 1].clone(), head, Piece::Text(SENTENCE.to_owned())];
            let before = |more: &[Piece], must| Changed {
                what: format!("a call that breaks off before that of {name:?}"),
                output: self.with(at - 1, more),
                must,
            };
            all.push(before(&broken[..2], Must::Call(item.clone())));
            all.push(before(&broken, Must::Call(item.clone())));
            all.push(before(&broken, Must::Say(WORD)));
        }
        all
    }

    /// Whether the text of an item spells a marker.
    fn has_markup(&self, item: &Item) -> bool {
        self.markers.iter().any(|marker| item.text.contains(marker.trim()))
    }

    /// The reasoning without the marker that ends it.
    fn unclosed_reasoning(&self) -> Option<Changed> {
        let is_end =
            |piece: &Piece| matches!(piece, Piece::Marker(_, text) if Some(&**text) == self.reasoning_end);
        let calls: Vec<Item> = self.calls().map(|(_, call)| call.clone()).collect();
        let mut ends = (0..self.length()).filter(|at| is_end(&self.output[*at]));
        let end = ends.next().filter(|_| ends.next().is_none() && !calls.is_empty())?;
        (self.items.first()?.head == Head::Reasoning).then(|| Changed {
            what: "reasoning without its end".to_owned(),
            output: [&self.output[..end], &self.output[end + 1..]].concat(),
            must: Must::Calls(calls),
        })
    }

    /// A line end between two markers.
    fn white_space(&self) -> Vec<Changed> {
        let is_marker = |at: usize| matches!(self.output[at], Piece::Marker(..));
        let calls: Vec<Item> = self.calls().map(|(_, call)| call.clone()).filter(is_json).collect();
        let values: Vec<Value> =
            calls.iter().filter_map(|call| serde_json::from_str(&call.text).ok()).collect();
        // Markers inside a value are its text.
        let is_value = |at: usize| {
            let both = [text(&self.output[at - 1]), text(&self.output[at])].concat();
            values.iter().flat_map(strings).any(|string| string.contains(both.trim()))
        };
        let between = (1..self.length()).filter(|at| is_marker(at - 1) && is_marker(*at) && !is_value(*at));
        let changed = |at: usize| Changed {
            what: format!(
                "a line end between {:?} and {:?}",
                text(&self.output[at - 1]),
                text(&self.output[at])
            ),
            output: self.with(at, &[Piece::Text("\n".to_owned())]),
            must: Must::Calls(calls.clone()),
        };
        between.map(changed).collect()
    }
}

/// The strings in a value, keys aside.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(members) => members.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}
