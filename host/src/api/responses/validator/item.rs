//! Checker of one item: its events come in order, and agree with each other and with the finished item.

use serde_json::{Map, Value};

use super::Rule;
use super::acts::{Act, ItemKind, ItemPhase, PartKind, Series};
use super::part::{OpenPart, equal_text, is_empty};
use super::shape::{CheckedObject, Fault, FieldType};

/// Fields that events inside the item fill. They are empty when an item begins, and agree with the events when it is done.
const FILLED: [&str; 5] = ["content", "summary", "arguments", "input", "code"];

/// Fields that may first appear, or change, when an item is done.
const LATE: [&str; 5] = ["output", "outputs", "error", "results", "encrypted_content"];

/// Fields that may change without an event that tells the new value.
const CHANGING: [&str; 3] = ["status", "tools", "action"];

/// An item between `added` and `done`.
#[derive(Debug)]
pub(super) struct OpenItem {
    /// The item's `output_index`.
    pub(super) index: usize,
    /// The item's id.
    pub(super) id: String,
    kind: &'static ItemKind,
    added: Map<String, Value>,
    /// Parts that are done, all of one series.
    parts: Vec<Value>,
    series: Option<Series>,
    part: Option<OpenPart>,
    /// Number of phases that are done.
    phase: usize,
    text: String,
}

impl OpenItem {
    /// Checks the item that `response.output_item.added` announces.
    pub(super) fn new(index: usize, item: CheckedObject<'_>) -> Result<Self, Fault> {
        item.require(&[("type", FieldType::Text), ("id", FieldType::Text)])?;
        let kind = ItemKind::of(item.text("type")?)?;
        item.require(kind.fields)?;
        check_optional(item)?;
        check_role(kind, item)?;
        if item.map.get("status").is_some_and(|status| status != "in_progress") {
            return Err(Fault::new(Rule::Status, "an item that begins is in_progress"));
        }
        // Only items that grow begin empty.
        let grows = kind.grows();
        if let Some(field) = FILLED.iter().find(|field| grows && !is_empty(item.map.get(**field))) {
            return Err(Fault::new(Rule::Text, format!("{field} isn't empty when the item begins")));
        }
        Ok(Self {
            index,
            id: item.text("id")?.to_owned(),
            kind,
            added: item.map.clone(),
            parts: Vec::new(),
            series: None,
            part: None,
            phase: 0,
            text: String::new(),
        })
    }

    /// The item's id, and its `call_id` if it has one.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.id.as_str()).chain(self.added.get("call_id").and_then(Value::as_str))
    }

    /// Whether the model is still writing the item.
    pub(super) fn is_written(&self) -> bool {
        let phases_left = &self.kind.phases[self.phase..];
        self.kind.model || phases_left.iter().any(|phase| matches!(phase, ItemPhase::Written { .. }))
    }

    /// Checks an event inside the item.
    pub(super) fn act(&mut self, act: Act<'_>, event: CheckedObject<'_>) -> Result<(), Fault> {
        match act {
            Act::PartAdded(series) => self.part_added(series, event),
            Act::PartDelta(kind) => self.part(kind, event)?.delta(event),
            Act::PartText(kind) => self.part(kind, event)?.finish_text(event),
            Act::Annotation => self.part(PartKind::of("output_text")?, event)?.annotation(event),
            Act::PartDone(series) => self.part_done(series, event),
            Act::Delta(name) => {
                self.written(name)?;
                self.text.push_str(event.text("delta")?);
                Ok(())
            }
            Act::Text(name, field) => {
                self.written(name)?;
                self.phase += 1;
                self.check_call_name(event)?;
                equal_text(field, event.text(field)?, &self.text)
            }
            Act::Progress(item, name) => self.progress(item, name),
        }
    }

    /// Checks the finished item of `response.output_item.done`.
    pub(super) fn finish(&self, item: CheckedObject<'_>) -> Result<(), Fault> {
        item.require(&[("type", FieldType::Text), ("id", FieldType::Text)])?;
        self.check_constant(item)?;
        item.require(self.kind.fields)?;
        check_optional(item)?;
        if self.part.is_some() {
            return Err(Fault::new(Rule::Order, "the item's part has not ended"));
        }
        let status = item.map.get("status").and_then(Value::as_str);
        self.check_steps(status)?;
        if matches!(status, Some(status) if !matches!(status, "completed" | "incomplete" | "failed")) {
            return Err(Fault::new(Rule::Status, format!("an item that is done has status {status:?}")));
        }
        self.check_texts(item)
    }

    fn part_added(&mut self, series: Series, event: CheckedObject<'_>) -> Result<(), Fault> {
        if self.part.is_some() {
            return Err(Fault::new(Rule::Order, "the part before has not ended"));
        }
        let part = event.object("part")?;
        part.require(&[("type", FieldType::Text)])?;
        let kind = PartKind::of(part.text("type")?)?;
        if !self.kind.parts.contains(&kind.name) || kind.series != series {
            let what =
                format!("a {} has no {} as a part of its {}", self.kind.name, kind.name, series.field());
            return Err(Fault::new(Rule::Order, what));
        }
        if *self.series.get_or_insert(series) != series {
            return Err(Fault::new(Rule::Order, "content and summary in one item"));
        }
        check_index(event, series, self.parts.len())?;
        self.part = Some(OpenPart::new(kind, part)?);
        Ok(())
    }

    fn part_done(&mut self, series: Series, event: CheckedObject<'_>) -> Result<(), Fault> {
        check_index(event, series, self.parts.len())?;
        let open = self.part.take().filter(|part| part.kind.series == series);
        let open = open.ok_or_else(|| Fault::new(Rule::Order, "no such part has begun"))?;
        open.finish(event.object("part")?)?;
        self.parts.push(event.map["part"].clone());
        Ok(())
    }

    /// The open part. Fails if the event isn't of this part.
    fn part(&mut self, kind: &'static PartKind, event: CheckedObject<'_>) -> Result<&mut OpenPart, Fault> {
        check_index(event, kind.series, self.parts.len())?;
        let open = self.part.as_mut().filter(|part| part.kind == kind);
        open.ok_or_else(|| Fault::new(Rule::Order, format!("no {} part is open", kind.name)))
    }

    /// Checks that the item is at the phase whose events are called `name`.
    fn written(&self, name: &str) -> Result<(), Fault> {
        match self.kind.phases.get(self.phase) {
            Some(ItemPhase::Written { events, .. }) if *events == name => Ok(()),
            _ => Err(Fault::new(Rule::Order, format!("a {} isn't at this phase", self.kind.name))),
        }
    }

    fn progress(&mut self, item: &str, name: &str) -> Result<(), Fault> {
        match self.kind.phases.get(self.phase) {
            Some(ItemPhase::Progress(names)) if self.kind.name == item && names.contains(&name) => {
                self.phase += 1;
                Ok(())
            }
            _ => Err(Fault::new(Rule::Order, format!("a {} isn't at this phase", self.kind.name))),
        }
    }

    /// Checks the call's name, which some servers repeat when the arguments are done.
    fn check_call_name(&self, event: CheckedObject<'_>) -> Result<(), Fault> {
        match event.map.get("name") {
            Some(name) if Some(name) != self.added.get("name") => {
                Err(Fault::new(Rule::Identity, "name differs from the item's"))
            }
            _ => Ok(()),
        }
    }

    fn check_constant(&self, item: CheckedObject<'_>) -> Result<(), Fault> {
        let grows = self.kind.grows();
        for (field, value) in &self.added {
            match item.map.get(field) {
                Some(now) if now == value || (grows && may_change(field)) => {}
                _ => {
                    return Err(Fault::new(Rule::Identity, format!("item.{field} changes")));
                }
            }
        }
        let appears = |field: &&String| !self.added.contains_key(*field) && !LATE.contains(&field.as_str());
        match item.map.keys().find(appears) {
            Some(field) => Err(Fault::new(Rule::Identity, format!("item.{field} was not announced"))),
            None => Ok(()),
        }
    }

    /// Checks that all phases are done. Phases in which the server runs the tool may be cut off, phases that the model writes may not.
    fn check_steps(&self, status: Option<&str>) -> Result<(), Fault> {
        let cut = matches!(status, Some("incomplete" | "failed")) && self.phase > 0;
        if self.phase == self.kind.phases.len() || (cut && !self.is_written()) {
            return Ok(());
        }
        Err(Fault::new(Rule::Order, format!("events of the {} are missing", self.kind.name)))
    }

    fn check_texts(&self, item: CheckedObject<'_>) -> Result<(), Fault> {
        for phase in self.kind.phases {
            if let ItemPhase::Written { field, .. } = phase {
                equal_text(field, item.text(field)?, &self.text)?;
            }
        }
        if self.kind.parts.is_empty() {
            return Ok(());
        }
        for series in [Series::Content, Series::Summary] {
            let parts: &[Value] = if self.series == Some(series) { &self.parts } else { &[] };
            let given = item.map.get(series.field()).and_then(Value::as_array);
            if given.map_or(&[][..], Vec::as_slice) != parts {
                return Err(Fault::new(
                    Rule::Text,
                    format!("item.{} differs from its parts", series.field()),
                ));
            }
        }
        Ok(())
    }
}

fn may_change(field: &str) -> bool {
    FILLED.contains(&field) || LATE.contains(&field) || CHANGING.contains(&field)
}

/// Checks optional fields, which are left out rather than null or empty.
fn check_optional(item: CheckedObject<'_>) -> Result<(), Fault> {
    for field in ["namespace", "encrypted_content"] {
        if item.map.contains_key(field) && item.text(field)?.is_empty() {
            return Err(Fault::new(Rule::Fields, format!("item.{field} is empty: leave it out")));
        }
    }
    Ok(())
}

fn check_role(kind: &ItemKind, item: CheckedObject<'_>) -> Result<(), Fault> {
    if kind.name == "message" && item.text("role")? != "assistant" {
        return Err(Fault::new(Rule::Identity, "a message of the output is the assistant's"));
    }
    Ok(())
}

fn check_index(event: CheckedObject<'_>, series: Series, expected: usize) -> Result<(), Fault> {
    let index = event.index(series.index())?;
    if index == expected {
        return Ok(());
    }
    Err(Fault::new(Rule::Index, format!("{} is {index}, expected {expected}", series.index())))
}
