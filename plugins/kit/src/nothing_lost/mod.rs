//! Changes to a recorded turn after which nothing of it may be lost in silence: a sentence put
//! anywhere, markup inside a value, a call that breaks off before the next, reasoning without its
//! end, white space between markers. Native tests and `host parser test` play the same streams.
//!
//! Invariant: a change demands no more than what every format can keep. A turn that isn't completed
//! tells its client so, and keeps every demand but [`Must::Call`].

mod changes;

use serde_json::Value;

use super::case::{ANY_OBJECT, CaseEnd, Piece};
use super::{Head, Item, function};
use contract::{Payload, Request, Tool};

/// The tool that a call that breaks off names. The request of a changed stream declares it.
pub const BROKEN_TOOL: &str = "look_up";

/// A recorded turn, completed, with its markers as tokens.
#[derive(Debug, Clone, Copy)]
pub struct CompletedTurn<'a> {
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
    pub fn check(&self, items: &[Item], end: CaseEnd) -> Result<(), String> {
        let holds = match self {
            Self::Call(call) => items.iter().any(|item| same(item, call)),
            _ if end != CaseEnd::Completed => true,
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

/// The strings in a value, keys aside.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(members) => members.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}
