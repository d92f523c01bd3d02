//! Checker of the grammar of Responses streams, from this server or another. Tests and debug builds
//! run it on every stream.
//!
//! ```text
//! stream := created [queued] in_progress item* terminal          in_progress may come again anywhere before the terminal event
//! item   := output_item.added body output_item.done              items that the model writes don't overlap; those that the server runs may
//! ```
//! `acts` declares the events inside items, `item` checks one item, `response` the response object.
//! Invariant: it goes on after a fault. An event that was left out is named, and counts as if it
//! had come; an item that can't be followed any more, such as one of an unknown type, is passed
//! over.

mod acts;
mod item;
mod logprobs;
mod part;
mod response;
mod shape;

#[cfg(test)]
mod framing;
#[cfg(test)]
mod mutations;
#[cfg(test)]
mod samples;

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use crate::stream_rule::{EventCheck, Fault};
pub use crate::stream_rule::{Rule, Violation};
use acts::Act;
use item::OpenItem;
use shape::{CheckedObject, FieldType};

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
    /// The next `sequence_number`.
    number: u64,
    stage: Stage,
    /// The object of `response.created`: constant fields keep its values.
    created: Map<String, Value>,
    open: Vec<OpenItem>,
    /// The next `output_index`.
    next: usize,
    /// Items that are done, by `output_index`.
    done: BTreeMap<usize, Value>,
    /// Indices of items that can't be followed any more.
    lost: HashSet<usize>,
    /// Whether an item was lost or its `done` left out, so that nothing can be said about the whole
    /// output.
    inexact: bool,
    ids: HashSet<String>,
}

impl Default for Validator {
    fn default() -> Self {
        Self {
            number: 0,
            stage: Stage::Start,
            created: Map::new(),
            open: Vec::new(),
            next: 0,
            done: BTreeMap::new(),
            lost: HashSet::new(),
            inexact: false,
            ids: HashSet::new(),
        }
    }
}

/// Faults of one event.
#[derive(Default)]
struct Faults {
    found: Vec<Fault>,
    /// Whether fields that the event must have are missing or wrong. It was said, and checks that
    /// need them say it no more.
    lacks_fields: bool,
}

impl Faults {
    fn push(&mut self, fault: Fault) {
        if !self.lacks_fields || fault.rule != Rule::Fields {
            self.found.push(fault);
        }
    }

    fn note(&mut self, checked: Result<(), Fault>) {
        if let Err(fault) = checked {
            self.push(fault);
        }
    }

    /// Notes the result of a check of the fields that an event must have.
    fn fields(&mut self, checked: Result<(), Fault>) {
        let lacks = checked.is_err();
        self.note(checked);
        self.lacks_fields |= lacks;
    }
}

impl EventCheck for Validator {
    fn event(&mut self, event: &Value, faults: &mut Vec<Fault>) {
        let mut of_event = Faults::default();
        let checked = self.check(event, &mut of_event);
        of_event.note(checked);
        faults.append(&mut of_event.found);
    }

    fn finish(&self, faults: &mut Vec<Fault>) {
        if self.stage != Stage::Ended {
            let what = "response.completed, response.incomplete or response.failed is missing at the end";
            faults.push(Fault::new(Rule::Lifecycle, what));
        }
    }
}

impl Validator {
    fn check(&mut self, event: &Value, faults: &mut Faults) -> Result<(), Fault> {
        let fields = CheckedObject::new(event, "event")?;
        fields.require(&[("type", FieldType::Text)])?;
        faults.note(fields.require(&[("sequence_number", FieldType::Count)]));
        if let Some(number) = event["sequence_number"].as_u64() {
            if number != self.number {
                let what = format!("sequence_number is {number}, expected {}", self.number);
                faults.push(Fault::new(Rule::Sequence, what));
            }
            self.number = number;
        }
        self.number = self.number.saturating_add(1);
        let kind = fields.text("type")?;
        match kind {
            "response.created" | "response.queued" | "response.in_progress" => {
                self.opening(kind, fields, faults)
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.terminal(kind, fields, faults)
            }
            "error" => self.error(fields, faults),
            "response.output_item.added" => self.added(fields, faults),
            "response.output_item.done" => self.item_done(fields, faults),
            _ => self.inside(kind, fields, faults),
        }
    }

    fn opening(&mut self, kind: &str, fields: CheckedObject<'_>, faults: &mut Faults) -> Result<(), Fault> {
        let object = fields.map.get("response").and_then(Value::as_object);
        if let Some(object) = object.filter(|_| self.created.is_empty()) {
            self.created.clone_from(object);
        }
        let response = response::of(fields, faults);
        let begun = if kind == "response.in_progress" { Stage::Running } else { Stage::Created };
        match (kind, &self.stage) {
            ("response.created", Stage::Start)
            | ("response.queued", Stage::Created)
            | ("response.in_progress", Stage::Created | Stage::Running) => self.stage = begun,
            (_, Stage::Start) => {
                faults.push(Fault::new(Rule::Lifecycle, "response.created is missing before it"));
                self.stage = begun;
            }
            _ => return Err(self.misplaced()),
        }
        let response = response?;
        let output = response.list("output")?;
        let listed = |open: &OpenItem| output.iter().any(|item| item["id"] == *open.id);
        self.close(faults, listed);
        let done: Vec<&Value> = self.done.values().collect();
        faults.note(response::check_running(kind, response, &done, self.inexact));
        response::check_constant(&self.created, response)
    }

    fn terminal(&mut self, kind: &str, fields: CheckedObject<'_>, faults: &mut Faults) -> Result<(), Fault> {
        let response = response::of(fields, faults);
        let misplaced = self.misplaced();
        let stage = std::mem::replace(&mut self.stage, Stage::Ended);
        self.close(faults, |_| true);
        let response = response?;
        let failed = kind == "response.failed";
        let ends = match &stage {
            Stage::Erred(code, message) if failed => response::check_failed(response, code, message),
            Stage::Running if !failed => {
                response::check_unfailed(kind, response, self.done.values().next_back())
            }
            Stage::Running => {
                Err(Fault::new(Rule::Lifecycle, "the error event before response.failed is missing"))
            }
            _ => Err(misplaced),
        };
        let rest = [
            response::check_usage(response),
            response::check_raw(response),
            response::check_summaries(kind, self.done.values()),
            self.check_output(response),
        ];
        [ends].into_iter().chain(rest).for_each(|checked| faults.note(checked));
        response::check_constant(&self.created, response)
    }

    fn check_output(&self, response: CheckedObject<'_>) -> Result<(), Fault> {
        if self.inexact || response.list("output")?.iter().eq(self.done.values()) {
            return Ok(());
        }
        Err(Fault::new(Rule::Text, "output differs from the items that were done"))
    }

    fn error(&mut self, fields: CheckedObject<'_>, faults: &mut Faults) -> Result<(), Fault> {
        self.running(faults)?;
        let value = |field: &str| fields.map.get(field).cloned().unwrap_or_default();
        self.stage = Stage::Erred(value("code"), value("message"));
        fields.require(&[
            ("code", FieldType::OptionalText),
            ("message", FieldType::Text),
            ("param", FieldType::OptionalText),
        ])
    }

    fn added(&mut self, fields: CheckedObject<'_>, faults: &mut Faults) -> Result<(), Fault> {
        fields.require(&[("output_index", FieldType::Count), ("item", FieldType::Object)])?;
        self.running(faults)?;
        let index = fields.index("output_index")?;
        self.close(faults, |open| open.is_written() || open.index == index);
        if index != self.next {
            self.inexact = true;
            faults.push(Fault::new(Rule::Index, format!("output_index is {index}, expected {}", self.next)));
        }
        self.next = index.saturating_add(1);
        let item = OpenItem::new(index, fields.object("item")?, faults).inspect_err(|_| {
            self.inexact = true;
            self.lost.insert(index);
        })?;
        for id in item.ids() {
            if id.is_empty() || !self.ids.insert(id.to_owned()) {
                let what = format!("id {id:?} is empty or stands for something else");
                faults.push(Fault::new(Rule::Identity, what));
            }
        }
        self.open.push(item);
        Ok(())
    }

    fn item_done(&mut self, fields: CheckedObject<'_>, faults: &mut Faults) -> Result<(), Fault> {
        fields.require(&[("output_index", FieldType::Count), ("item", FieldType::Object)])?;
        self.running(faults)?;
        let Some(position) = self.position(fields)? else { return Ok(()) };
        let mut item = self.open.remove(position);
        self.done.insert(item.index, fields.map["item"].clone());
        item.finish(fields.object("item")?, faults)
    }

    fn inside(&mut self, kind: &str, fields: CheckedObject<'_>, faults: &mut Faults) -> Result<(), Fault> {
        let Some(act) = Act::of(kind) else {
            return Err(Fault::new(Rule::Vocabulary, format!("unknown event type {kind:?}")));
        };
        faults.note(act.check_obfuscation(fields));
        faults.fields(act.check_fields(fields));
        self.running(faults)?;
        let Some(position) = self.position(fields)? else { return Ok(()) };
        let item = &mut self.open[position];
        let named = fields.text("item_id").ok();
        if named.is_some_and(|id| id != item.id) {
            faults.push(Fault::new(Rule::Identity, format!("item_id is not that of item {}", item.index)));
        }
        item.act(act, fields, faults)
    }

    /// Index in `open` of the item that the event belongs to; `None` for an item that can't be
    /// followed. That an item isn't open is said once.
    fn position(&mut self, fields: CheckedObject<'_>) -> Result<Option<usize>, Fault> {
        let index = fields.index("output_index")?;
        let position = self.open.iter().position(|item| item.index == index);
        if position.is_some() || self.lost.contains(&index) {
            return Ok(position);
        }
        if self.done.contains_key(&index) {
            return Err(Fault::new(Rule::Index, format!("item {index} is already done")));
        }
        self.inexact = true;
        self.lost.insert(index);
        self.next = self.next.max(index.saturating_add(1));
        let what = format!(
            "no item is open at output_index {index}: response.output_item.added is missing before it"
        );
        Err(Fault::new(Rule::Index, what))
    }

    /// Checks that items may come. What was left out before them counts as if it had come.
    fn running(&mut self, faults: &mut Faults) -> Result<(), Fault> {
        let missing = match self.stage {
            Stage::Running => return Ok(()),
            Stage::Start => "response.created and response.in_progress are missing before it",
            Stage::Created => "response.in_progress is missing before it",
            Stage::Erred(..) | Stage::Ended => return Err(self.misplaced()),
        };
        faults.push(Fault::new(Rule::Lifecycle, missing));
        self.stage = Stage::Running;
        Ok(())
    }

    /// Names the left-out ends of open items that must have ended.
    fn close(&mut self, faults: &mut Faults, ended: impl Fn(&OpenItem) -> bool) {
        for item in self.open.extract_if(.., |item| ended(item)) {
            let what = format!("response.output_item.done of item {} is missing before it", item.index);
            faults.push(Fault::new(Rule::Lifecycle, what));
            self.inexact = true;
        }
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

/// The first violation of a whole stream.
#[cfg(test)]
pub(crate) fn check_sse(bytes: &[u8]) -> Result<(), Violation> {
    crate::stream_check::check_whole(crate::Protocol::Responses, bytes)
}
