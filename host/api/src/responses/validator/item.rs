//! Checker of one item: its events come in order, and agree with each other and with the finished
//! item.

use serde_json::{Map, Value};

use super::acts::{Act, ItemKind, ItemPhase, PartKind, Series};
use super::part::{OpenPart, equal_text, is_empty};
use super::shape::{CheckedObject, FieldType};
use super::{Fault, Faults, Rule};

/// Fields that events inside the item fill. They are empty when an item begins, and agree with the
/// events when it is done.
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
    /// Index of the part that is open or comes next.
    part_index: usize,
    /// Whether an event was left out, so that nothing can be said about the whole item's texts.
    inexact: bool,
    /// Number of phases that are done.
    phase: usize,
    text: String,
    /// The commands of a shell's call, and whether the last one is still open.
    commands: Vec<String>,
    in_command: bool,
}

impl OpenItem {
    /// Checks the item that `response.output_item.added` announces.
    pub(super) fn new(index: usize, item: CheckedObject<'_>, faults: &mut Faults) -> Result<Self, Fault> {
        item.require(&[("type", FieldType::Text), ("id", FieldType::Text)])?;
        let kind = ItemKind::of(item.text("type")?)?;
        faults.fields(item.require(kind.fields));
        faults.note(check_optional(kind, item));
        faults.note(check_role(kind, item));
        if item.map.get("status").is_some_and(|status| status != "in_progress") {
            let what =
                format!("an item that begins has status {}, expected in_progress", item.value("status"));
            faults.push(Fault::new(Rule::Status, what));
        }
        // Only items that grow begin empty.
        let grows = kind.grows();
        if let Some(field) = FILLED.iter().find(|field| grows && !is_empty(item.map.get(**field))) {
            faults.push(Fault::new(Rule::Text, format!("{field} isn't empty when the item begins")));
        }
        Ok(Self {
            index,
            id: item.text("id")?.to_owned(),
            kind,
            added: item.map.clone(),
            parts: Vec::new(),
            series: None,
            part: None,
            part_index: 0,
            inexact: false,
            phase: 0,
            text: String::new(),
            commands: Vec::new(),
            in_command: false,
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
    pub(super) fn act(
        &mut self,
        act: Act<'_>,
        event: CheckedObject<'_>,
        faults: &mut Faults,
    ) -> Result<(), Fault> {
        match act {
            Act::PartAdded(series) => self.part_added(series, event, faults),
            Act::PartDelta(kind) => self.part(kind, event, faults)?.map_or(Ok(()), |part| part.delta(event)),
            Act::PartText(kind) => {
                self.part(kind, event, faults)?.map_or(Ok(()), |part| part.finish_text(event))
            }
            Act::Annotation => {
                let part = self.part(PartKind::of("output_text")?, event, faults)?;
                part.map_or(Ok(()), |part| part.annotation(event))
            }
            Act::PartDone(series) => self.part_done(series, event, faults),
            Act::Delta(name) => {
                self.reach(faults, |phase| phase.writes(name))?;
                self.text.push_str(event.text("delta")?);
                Ok(())
            }
            Act::Text(name, field) => {
                self.reach(faults, |phase| phase.writes(name))?;
                self.phase += 1;
                faults.note(self.check_call_name(event));
                equal_text(field, event.text(field)?, &self.text)
            }
            Act::Command(verb) => {
                self.reach(faults, |phase| phase == ItemPhase::Commands)?;
                self.command(verb, event, faults)
            }
            Act::Progress(item, name) => {
                let right = |phase: ItemPhase| self.kind.name == item && phase.progresses(name);
                self.reach(faults, right)?;
                self.phase += usize::from(!self.kind.phases[self.phase].is_repeated());
                Ok(())
            }
        }
    }

    /// Checks the finished item of `response.output_item.done`.
    pub(super) fn finish(&mut self, item: CheckedObject<'_>, faults: &mut Faults) -> Result<(), Fault> {
        self.close_part(faults);
        self.close_command(faults);
        faults.fields(item.require(&[("type", FieldType::Text), ("id", FieldType::Text)]));
        faults.note(self.check_constant(item));
        faults.fields(item.require(self.kind.fields));
        faults.note(check_optional(self.kind, item));
        let status = item.map.get("status").and_then(Value::as_str);
        self.check_phases(status, faults);
        if let Some(status) =
            status.filter(|status| !matches!(*status, "completed" | "incomplete" | "failed"))
        {
            let what = format!(
                "an item that is done has status {status:?}, expected completed, incomplete or failed"
            );
            faults.push(Fault::new(Rule::Status, what));
        }
        if self.inexact { Ok(()) } else { self.check_texts(item) }
    }

    fn part_added(
        &mut self,
        series: Series,
        event: CheckedObject<'_>,
        faults: &mut Faults,
    ) -> Result<(), Fault> {
        self.close_part(faults);
        let index = event.index(series.index())?;
        if index != self.part_index {
            faults.push(wrong_index(series, index, self.part_index));
            self.part_index = index;
        }
        let opened = self.opened(series, event.object("part")?);
        self.inexact |= opened.is_err();
        self.part = Some(opened?);
        Ok(())
    }

    fn opened(&mut self, series: Series, part: CheckedObject<'_>) -> Result<OpenPart, Fault> {
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
        OpenPart::new(kind, part)
    }

    fn part_done(
        &mut self,
        series: Series,
        event: CheckedObject<'_>,
        faults: &mut Faults,
    ) -> Result<(), Fault> {
        self.check_index(series, event, faults)?;
        let Some(open) = self.part.take().filter(|part| part.kind.series == series) else {
            return self.lose(format!("{}.added is missing before it", series.events()));
        };
        self.part_index = self.part_index.saturating_add(1);
        self.parts.push(event.value("part").clone());
        open.finish(event.object("part")?, faults)
    }

    /// The open part; `None` if the item isn't followed any more.
    fn part(
        &mut self,
        kind: &'static PartKind,
        event: CheckedObject<'_>,
        faults: &mut Faults,
    ) -> Result<Option<&mut OpenPart>, Fault> {
        self.check_index(kind.series, event, faults)?;
        if self.part.as_ref().is_some_and(|part| part.kind == kind) {
            return Ok(self.part.as_mut());
        }
        self.lose(format!(
            "no {} part is open: {}.added is missing before it",
            kind.name,
            kind.series.events()
        ))?;
        Ok(None)
    }

    /// Says once that the item's parts can't be followed any more.
    fn lose(&mut self, what: String) -> Result<(), Fault> {
        if std::mem::replace(&mut self.inexact, true) { Ok(()) } else { Err(Fault::new(Rule::Order, what)) }
    }

    fn check_index(
        &self,
        series: Series,
        event: CheckedObject<'_>,
        faults: &mut Faults,
    ) -> Result<(), Fault> {
        let index = event.index(series.index())?;
        if index != self.part_index && !self.inexact {
            faults.push(wrong_index(series, index, self.part_index));
        }
        Ok(())
    }

    /// Names the end of a part that is still open.
    fn close_part(&mut self, faults: &mut Faults) {
        if let Some(part) = self.part.take() {
            let what = format!(
                "{}.done of part {} is missing before it",
                part.kind.series.events(),
                self.part_index
            );
            faults.push(Fault::new(Rule::Order, what));
            self.part_index = self.part_index.saturating_add(1);
            self.inexact = true;
        }
    }

    /// Takes an event of a command.
    fn command(&mut self, verb: &str, event: CheckedObject<'_>, faults: &mut Faults) -> Result<(), Fault> {
        let index = event.index("command_index")?;
        if verb == "added" {
            self.close_command(faults);
        }
        let expected = self.commands.len() - usize::from(self.in_command);
        if index != expected && !self.inexact {
            faults.push(Fault::new(Rule::Index, format!("command_index is {index}, expected {expected}")));
        }
        match (verb, self.commands.last_mut().filter(|_| self.in_command)) {
            ("added", _) => {
                self.commands.push(event.text("command")?.to_owned());
                self.in_command = true;
                Ok(())
            }
            (_, None) => self.lose("response.shell_call_command.added is missing before it".to_owned()),
            ("delta", Some(command)) => {
                command.push_str(event.text("delta")?);
                Ok(())
            }
            (_, Some(command)) => {
                let command = command.clone();
                self.in_command = false;
                equal_text("command", event.text("command")?, &command)
            }
        }
    }

    /// Names the end of a command that is still open.
    fn close_command(&mut self, faults: &mut Faults) {
        if std::mem::take(&mut self.in_command) {
            faults.push(self.left_out(ItemPhase::Commands));
            self.inexact = true;
        }
    }

    /// Goes to the phase that is `right`, and names the ends of phases that were left out before
    /// it.
    fn reach(&mut self, faults: &mut Faults, right: impl Fn(ItemPhase) -> bool) -> Result<(), Fault> {
        let left = &self.kind.phases[self.phase..];
        let Some(skipped) = left.iter().position(|phase| right(*phase)) else {
            return Err(Fault::new(Rule::Order, format!("a {} isn't at this phase", self.kind.name)));
        };
        for phase in &left[..skipped] {
            faults.push(self.left_out(*phase));
            self.inexact = true;
        }
        self.phase += skipped;
        Ok(())
    }

    fn left_out(&self, phase: ItemPhase) -> Fault {
        Fault::new(Rule::Order, format!("{} is missing before it", phase.end(self.kind.name)))
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
                Some(now) if now == value || field == "status" || (grows && may_change(field)) => {}
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

    /// Names the phases that aren't done. Phases in which the server runs the tool may be cut off,
    /// phases that the model writes may not.
    fn check_phases(&self, status: Option<&str>, faults: &mut Faults) {
        let cut = matches!(status, Some("incomplete" | "failed")) && self.phase > 0;
        if !cut || self.is_written() {
            let left = self.kind.phases[self.phase..].iter().filter(|phase| !phase.is_repeated());
            left.for_each(|phase| faults.push(self.left_out(*phase)));
        }
    }

    fn check_texts(&self, item: CheckedObject<'_>) -> Result<(), Fault> {
        for phase in self.kind.phases {
            if let ItemPhase::Written { field, .. } = phase {
                equal_text(field, item.text(field)?, &self.text)?;
            }
        }
        if self.kind.phases.contains(&ItemPhase::Commands) {
            return self.check_commands(item);
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

impl OpenItem {
    /// Compares the commands with those of events; a server may also send them with the item alone.
    fn check_commands(&self, item: CheckedObject<'_>) -> Result<(), Fault> {
        let commands = item.object("action")?.list("commands")?;
        let announced = self.added.get("action").filter(|_| self.commands.is_empty());
        let is_same = announced.map_or_else(
            || commands.iter().map(Value::as_str).eq(self.commands.iter().map(|one| Some(one.as_str()))),
            |announced| {
                announced["commands"] == *item.value("action").get("commands").unwrap_or(&Value::Null)
            },
        );
        if is_same {
            Ok(())
        } else {
            Err(Fault::new(Rule::Text, "item.action.commands differs from its events"))
        }
    }
}

fn may_change(field: &str) -> bool {
    FILLED.contains(&field) || LATE.contains(&field) || CHANGING.contains(&field)
}

/// Checks optional fields, which are left out rather than null or empty.
fn check_optional(kind: &ItemKind, item: CheckedObject<'_>) -> Result<(), Fault> {
    let is_required = |field| kind.fields.iter().any(|(name, _)| *name == field);
    for field in ["namespace", "encrypted_content"] {
        if is_required(field) {
            continue;
        }
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

fn wrong_index(series: Series, index: usize, expected: usize) -> Fault {
    Fault::new(Rule::Index, format!("{} is {index}, expected {expected}", series.index()))
}
