//! Whole turns, as Python sees them.

use pyo3::prelude::*;
use turn::{FoldedItem, ItemHead, TurnEnd};

use super::deltas::{kind_name, phase_name, status_name};

/// An item with all its text.
#[pyclass(frozen, get_all, eq, module = "sluice_parsers._native")]
#[derive(Clone, PartialEq)]
pub(super) struct Item {
    kind: &'static str,
    text: String,
    status: &'static str,
    name: Option<String>,
    call_id: Option<String>,
    phase: Option<&'static str>,
}

impl From<FoldedItem> for Item {
    fn from(item: FoldedItem) -> Self {
        let (kind, phase) = (kind_name(&item.head), phase_name(&item.head));
        let (name, call_id) = match item.head {
            ItemHead::ToolCall { name, call_id, .. } => (Some(name), Some(call_id)),
            ItemHead::Reasoning | ItemHead::Message { .. } => (None, None),
        };
        Self { kind, text: item.text, status: status_name(item.status), name, call_id, phase }
    }
}

#[pymethods]
impl Item {
    fn __repr__(&self) -> String {
        let name = self.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
        format!("<Item {}{name} {} {:?}>", self.kind, self.status, self.text)
    }
}

/// A whole turn.
#[pyclass(frozen, get_all, module = "sluice_parsers._native")]
pub(super) struct Turn {
    pub(super) items: Vec<Item>,
    pub(super) end: &'static str,
    pub(super) failure: Option<String>,
    pub(super) fault: Option<String>,
}

#[pymethods]
impl Turn {
    fn __repr__(&self) -> String {
        let items: Vec<_> = self.items.iter().map(Item::__repr__).collect();
        format!("<Turn {} [{}]>", self.end, items.join(", "))
    }
}

/// Name of a turn's end, and the message of its failure.
pub(super) fn end_name(end: &TurnEnd) -> (&'static str, Option<String>) {
    match end {
        TurnEnd::Completed => ("completed", None),
        TurnEnd::MaxOutputTokens => ("max_output_tokens", None),
        TurnEnd::Cancelled => ("cancelled", None),
        TurnEnd::Failed(failure) => ("failed", Some(failure.message.clone())),
    }
}
