//! Checker of one part of an item: its text, log-probabilities and citations agree in all events.

use serde_json::Value;

use super::acts::PartKind;
use super::logprobs;
use super::shape::{CheckedObject, FieldType};
use super::{Fault, Faults, Rule};

/// A part between `added` and `done`.
#[derive(Debug)]
pub(super) struct OpenPart {
    pub(super) kind: &'static PartKind,
    text: String,
    whole: bool,
    logprobs: Vec<Value>,
    annotations: Vec<Value>,
    fields: Vec<String>,
}

impl OpenPart {
    pub(super) fn new(kind: &'static PartKind, part: CheckedObject<'_>) -> Result<Self, Fault> {
        check_part(kind, part)?;
        if !is_empty(part.map.get(kind.text)) {
            return Err(Fault::new(Rule::Text, "the part isn't empty when it begins"));
        }
        let mut fields: Vec<String> = part.map.keys().cloned().collect();
        fields.sort_unstable();
        let (logprobs, annotations) = (Vec::new(), Vec::new());
        Ok(Self { kind, text: String::new(), whole: false, logprobs, annotations, fields })
    }

    pub(super) fn delta(&mut self, event: CheckedObject<'_>) -> Result<(), Fault> {
        self.still_written()?;
        self.text.push_str(event.text("delta")?);
        if self.kind.annotated {
            self.logprobs.extend(event.list("logprobs")?.iter().cloned());
        }
        Ok(())
    }

    pub(super) fn annotation(&mut self, event: CheckedObject<'_>) -> Result<(), Fault> {
        if event.index("annotation_index")? != self.annotations.len() {
            return Err(Fault::new(
                Rule::Index,
                format!("expected annotation_index {}", self.annotations.len()),
            ));
        }
        self.annotations.push(event.value("annotation").clone());
        Ok(())
    }

    pub(super) fn finish_text(&mut self, event: CheckedObject<'_>) -> Result<(), Fault> {
        self.still_written()?;
        self.whole = true;
        if self.kind.annotated && event.list("logprobs")? != &self.logprobs {
            return Err(Fault::new(Rule::Text, "logprobs differ from those of the deltas"));
        }
        equal_text(self.kind.text, event.text(self.kind.text)?, &self.text)
    }

    pub(super) fn finish(&self, part: CheckedObject<'_>, faults: &mut Faults) -> Result<(), Fault> {
        if !self.whole {
            faults.push(Fault::new(Rule::Order, format!("{} is missing before it", self.kind.text_done())));
        }
        part.require(&[("type", FieldType::Text)])?;
        if part.text("type")? != self.kind.name {
            return Err(Fault::new(Rule::Identity, "the part's type changes"));
        }
        check_part(self.kind, part)?;
        let mut fields: Vec<&String> = part.map.keys().collect();
        fields.sort_unstable();
        if fields.into_iter().ne(&self.fields) {
            return Err(Fault::new(Rule::Fields, "the part has other fields than when it began"));
        }
        equal_text("part", part.text(self.kind.text)?, &self.text)?;
        if self.kind.annotated && part.list("annotations")? != &self.annotations {
            return Err(Fault::new(Rule::Text, "annotations differ from those that were added"));
        }
        match part.map.get("logprobs") {
            Some(logprobs) if logprobs.as_array() != Some(&self.logprobs) => {
                Err(Fault::new(Rule::Text, "the part's logprobs differ from those of the deltas"))
            }
            _ => Ok(()),
        }
    }

    fn still_written(&self) -> Result<(), Fault> {
        if self.whole { Err(Fault::new(Rule::Order, "the part's text is already done")) } else { Ok(()) }
    }
}

fn check_part(kind: &PartKind, part: CheckedObject<'_>) -> Result<(), Fault> {
    part.require(&[(kind.text, FieldType::Text)])?;
    if !kind.annotated {
        return Ok(());
    }
    part.require(&[("annotations", FieldType::List)])?;
    if part.map.contains_key("logprobs") { logprobs::check(part) } else { Ok(()) }
}

/// Checks that a finished text is the sum of its deltas; `name` is its name in messages.
pub(super) fn equal_text(name: &str, given: &str, deltas: &str) -> Result<(), Fault> {
    if given == deltas {
        return Ok(());
    }
    let common = given.bytes().zip(deltas.bytes()).take_while(|(a, b)| a == b).count();
    let (given, deltas) = (given.len(), deltas.len());
    let what = format!("{name} has {given} bytes, the deltas {deltas}; they differ at byte {common}");
    Err(Fault::new(Rule::Text, what))
}

/// Whether a field that grows is absent or still empty.
pub(super) fn is_empty(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(list)) => list.is_empty(),
        Some(_) => false,
    }
}
