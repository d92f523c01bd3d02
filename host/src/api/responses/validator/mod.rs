//! Checker of the grammar of Responses streams, from this server or another. Tests and debug builds run it on every stream.
//!
//! ```text
//! stream := created [queued] in_progress item* terminal          in_progress may come again anywhere before the terminal event
//! item   := output_item.added body output_item.done              items that the model writes don't overlap; those that the server runs may
//! ```
//! `acts` declares the events inside items, `item` checks one item, `response` the response object, `stream` the SSE framing.
//! A checker stops at the first violation: later ones may only follow from it.

mod acts;
mod item;
mod logprobs;
mod part;
mod response;
mod shape;
mod stream;

#[cfg(test)]
mod framing;
#[cfg(test)]
mod mutations;
#[cfg(test)]
mod samples;

use std::collections::HashSet;
use std::fmt;

use serde_json::{Map, Value};

use acts::Act;
use item::OpenItem;
use shape::{CheckedObject, Fault, FieldType};
pub use stream::{ResponsesValidator, check_sse};

/// A rule that streams must keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// SSE framing; `event:` equals `type`; `[DONE]` comes last.
    Framing,
    /// Types of events, items and parts are those of the protocol.
    Vocabulary,
    /// Required fields are present and have their type.
    Fields,
    /// `sequence_number` is 0, 1, 2, …
    Sequence,
    /// `response.created`, `response.in_progress`, items, one terminal event: in this order.
    Lifecycle,
    /// Ids aren't empty, are unique, and don't change. Other fields that don't grow don't change either.
    Identity,
    /// `output_index`, `content_index` and `summary_index` count from 0.
    Index,
    /// Events inside an item come in the item's order.
    Order,
    /// A text is the same in its deltas, its `done` event, its part, its item and the final output.
    Text,
    /// Statuses agree with the events.
    Status,
    /// Token counts add up.
    Usage,
}

/// Error of a stream that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Number of the event in the stream, from 0.
    pub event: u64,
    /// The event's type; empty if it has none.
    pub kind: String,
    /// The rule that is broken.
    pub rule: Rule,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} ({}), rule {:?}: {}", self.event, self.kind, self.rule, self.what)
    }
}

impl std::error::Error for Violation {}

/// Part of the stream that is being checked.
#[derive(Debug, Clone, PartialEq)]
enum Stage {
    Start,
    Created,
    Running,
    /// An `error` event was seen, with this code and message.
    Erred(Value, Value),
    Ended,
}

/// Checks the events of one stream, in order.
#[derive(Debug)]
pub struct Validator {
    events: u64,
    stage: Stage,
    /// The object of `response.created`: constant fields keep its values.
    created: Map<String, Value>,
    open: Vec<OpenItem>,
    /// Items of the output, by `output_index`; null while an item is open.
    done: Vec<Value>,
    ids: HashSet<String>,
}

impl Default for Validator {
    fn default() -> Self {
        Self::new()
    }
}

impl Validator {
    /// A validator that has seen no event.
    pub fn new() -> Self {
        Self {
            events: 0,
            stage: Stage::Start,
            created: Map::new(),
            open: Vec::new(),
            done: Vec::new(),
            ids: HashSet::new(),
        }
    }

    /// Checks the next event.
    pub fn event(&mut self, event: &Value) -> Result<(), Violation> {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        let checked = self.check(kind, event);
        let checked = checked.map_err(|fault| self.violation(kind, fault));
        self.events += 1;
        checked
    }

    /// Checks that the stream ended with a terminal event.
    pub fn finish(&self) -> Result<(), Violation> {
        if self.stage == Stage::Ended {
            return Ok(());
        }
        Err(self.violation("", Fault::new(Rule::Lifecycle, "the stream ends without a terminal event")))
    }

    /// Number of events seen.
    pub fn events(&self) -> u64 {
        self.events
    }

    fn violation(&self, kind: &str, fault: Fault) -> Violation {
        Violation { event: self.events, kind: kind.to_owned(), rule: fault.rule, what: fault.what }
    }

    fn check(&mut self, kind: &str, event: &Value) -> Result<(), Fault> {
        let fields = CheckedObject::new(event, "event")?;
        fields.require(&[("type", FieldType::Text), ("sequence_number", FieldType::Count)])?;
        let number = &event["sequence_number"];
        if number.as_u64() != Some(self.events) {
            let what = format!("sequence_number is {number}, expected {}", self.events);
            return Err(Fault::new(Rule::Sequence, what));
        }
        match kind {
            "response.created" | "response.queued" | "response.in_progress" => self.opening(kind, fields),
            "response.completed" | "response.incomplete" | "response.failed" => self.terminal(kind, fields),
            "error" => self.error(fields),
            "response.output_item.added" => self.added(fields),
            "response.output_item.done" => self.item_done(fields),
            _ => self.inside(kind, fields),
        }
    }

    fn opening(&mut self, kind: &str, fields: CheckedObject<'_>) -> Result<(), Fault> {
        let response = response::of(fields)?;
        self.stage = match (kind, &self.stage) {
            ("response.created", Stage::Start) => {
                self.created.clone_from(response.map);
                Stage::Created
            }
            ("response.queued", Stage::Created) => Stage::Created,
            ("response.in_progress", Stage::Created | Stage::Running) => Stage::Running,
            _ => return Err(self.misplaced()),
        };
        response::check_running(kind, response, &self.done)?;
        response::check_constant(&self.created, response)
    }

    fn terminal(&mut self, kind: &str, fields: CheckedObject<'_>) -> Result<(), Fault> {
        let response = response::of(fields)?;
        let failed = kind == "response.failed";
        match &self.stage {
            Stage::Erred(code, message) if failed => response::check_failed(response, code, message)?,
            Stage::Running if !failed => response::check_unfailed(kind, response, self.done.last())?,
            Stage::Running => {
                return Err(Fault::new(Rule::Lifecycle, "response.failed without an error event before it"));
            }
            _ => return Err(self.misplaced()),
        }
        if let Some(open) = self.open.first() {
            let what = format!("item {} has no output_item.done", open.index);
            return Err(Fault::new(Rule::Lifecycle, what));
        }
        response::check_usage(response)?;
        response::check_raw(response)?;
        if response.list("output")? != &self.done {
            return Err(Fault::new(Rule::Text, "output differs from the items that were done"));
        }
        response::check_constant(&self.created, response)?;
        self.stage = Stage::Ended;
        Ok(())
    }

    fn error(&mut self, fields: CheckedObject<'_>) -> Result<(), Fault> {
        fields.require(&[
            ("code", FieldType::OptionalText),
            ("message", FieldType::Text),
            ("param", FieldType::OptionalText),
        ])?;
        self.running()?;
        self.stage = Stage::Erred(fields.map["code"].clone(), fields.map["message"].clone());
        Ok(())
    }

    fn added(&mut self, fields: CheckedObject<'_>) -> Result<(), Fault> {
        fields.require(&[("output_index", FieldType::Count), ("item", FieldType::Object)])?;
        self.running()?;
        if let Some(open) = self.open.iter().find(|item| item.is_written()) {
            let what = format!("item {} is still being written", open.index);
            return Err(Fault::new(Rule::Order, what));
        }
        let index = fields.index("output_index")?;
        if index != self.done.len() {
            let what = format!("output_index is {index}, expected {}", self.done.len());
            return Err(Fault::new(Rule::Index, what));
        }
        let item = OpenItem::new(index, fields.object("item")?)?;
        for id in item.ids() {
            if id.is_empty() || !self.ids.insert(id.to_owned()) {
                return Err(Fault::new(
                    Rule::Identity,
                    format!("id {id:?} is empty or stands for something else"),
                ));
            }
        }
        self.open.push(item);
        self.done.push(Value::Null);
        Ok(())
    }

    fn item_done(&mut self, fields: CheckedObject<'_>) -> Result<(), Fault> {
        fields.require(&[("output_index", FieldType::Count), ("item", FieldType::Object)])?;
        self.running()?;
        let position = self.position(fields)?;
        self.open[position].finish(fields.object("item")?)?;
        let item = self.open.remove(position);
        self.done[item.index] = fields.map["item"].clone();
        Ok(())
    }

    fn inside(&mut self, kind: &str, fields: CheckedObject<'_>) -> Result<(), Fault> {
        let Some(act) = Act::of(kind) else {
            return Err(Fault::new(Rule::Vocabulary, format!("unknown event type {kind:?}")));
        };
        act.check_fields(fields)?;
        act.check_obfuscation(fields)?;
        self.running()?;
        let position = self.position(fields)?;
        let item = &mut self.open[position];
        if fields.text("item_id")? != item.id {
            return Err(Fault::new(Rule::Identity, format!("item_id is not that of item {}", item.index)));
        }
        item.act(act, fields)
    }

    /// Index in `open` of the item that the event belongs to.
    fn position(&self, fields: CheckedObject<'_>) -> Result<usize, Fault> {
        let index = fields.index("output_index")?;
        let position = self.open.iter().position(|item| item.index == index);
        position.ok_or_else(|| Fault::new(Rule::Index, format!("no item is open at output_index {index}")))
    }

    fn running(&self) -> Result<(), Fault> {
        if self.stage == Stage::Running { Ok(()) } else { Err(self.misplaced()) }
    }

    fn misplaced(&self) -> Fault {
        let stage = match &self.stage {
            Stage::Start => "before response.created",
            Stage::Created => "before response.in_progress",
            Stage::Running => "while the response is in progress",
            Stage::Erred(..) => "between error and response.failed",
            Stage::Ended => "after the terminal event",
        };
        Fault::new(Rule::Lifecycle, format!("must not come {stage}"))
    }
}
