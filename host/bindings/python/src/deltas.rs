//! Changes of items, as Python sees them.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use turn::{ItemHead, ItemStatus, TurnEvent};

/// A change of one item: it opens, gets text, or closes.
#[pyclass(frozen, get_all, module = "sluice_parsers._native")]
pub(super) struct Delta {
    kind: Py<PyString>,
    item: usize,
    text: Py<PyString>,
    status: Py<PyString>,
    name: Option<Py<PyString>>,
    call_id: Option<Py<PyString>>,
    phase: Option<&'static str>,
}

#[pymethods]
impl Delta {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let [kind, text, status] = [&self.kind, &self.text, &self.status].map(|text| text.bind(py));
        Ok(format!("<Delta {} {kind} {status} {}>", self.item, text.repr()?))
    }
}

/// Name of a status.
pub(super) fn status_name(status: ItemStatus) -> &'static str {
    match status {
        ItemStatus::Completed => "completed",
        ItemStatus::Incomplete => "incomplete",
    }
}

/// Name of an item's kind.
pub(super) fn kind_name(head: &ItemHead) -> &'static str {
    match head {
        ItemHead::Reasoning => "reasoning",
        ItemHead::Message { .. } => "message",
        ItemHead::ToolCall { .. } => "tool_call",
    }
}

/// Name of a message's phase, if the format has phases.
pub(super) fn phase_name(head: &ItemHead) -> Option<&'static str> {
    match head {
        ItemHead::Message { phase } => Some(phase.name()).filter(|name| !name.is_empty()),
        ItemHead::Reasoning | ItemHead::ToolCall { .. } => None,
    }
}

/// The open item, of which events say no more than what changes.
struct OpenItem {
    kind: Py<PyString>,
    name: Option<Py<PyString>>,
    call_id: Option<Py<PyString>>,
    phase: Option<&'static str>,
}

impl OpenItem {
    fn new(py: Python<'_>, head: &ItemHead) -> Self {
        let kind = match head {
            ItemHead::Reasoning => intern!(py, "reasoning"),
            ItemHead::Message { .. } => intern!(py, "message"),
            ItemHead::ToolCall { .. } => intern!(py, "tool_call"),
        };
        let (name, call_id) = match head {
            ItemHead::ToolCall { name, call_id, .. } => (Some(name), Some(call_id)),
            ItemHead::Reasoning | ItemHead::Message { .. } => (None, None),
        };
        let text = |text: &String| PyString::new(py, text).unbind();
        Self {
            kind: kind.clone().unbind(),
            name: name.map(text),
            call_id: call_id.map(text),
            phase: phase_name(head),
        }
    }
}

/// What is known of a stream's items.
#[derive(Default)]
pub(super) struct Items {
    opened: usize,
    open: Option<OpenItem>,
}

impl Items {
    /// The events as deltas.
    pub(super) fn deltas<'py>(
        &mut self,
        py: Python<'py>,
        events: &[TurnEvent],
    ) -> PyResult<Bound<'py, PyList>> {
        let deltas = PyList::empty(py);
        for event in events {
            if let TurnEvent::Open(head) = event {
                self.open = Some(OpenItem::new(py, head));
                self.opened += 1;
            }
            let Some(open) = &self.open else { continue };
            let (text, status) = match event {
                TurnEvent::Open(_) => (intern!(py, "").clone(), intern!(py, "in_progress")),
                TurnEvent::Text(text) => (PyString::new(py, text), intern!(py, "in_progress")),
                TurnEvent::Close(ItemStatus::Completed) => {
                    (intern!(py, "").clone(), intern!(py, "completed"))
                }
                TurnEvent::Close(ItemStatus::Incomplete) => {
                    (intern!(py, "").clone(), intern!(py, "incomplete"))
                }
                _ => continue,
            };
            let cloned = |text: &Option<Py<PyString>>| text.as_ref().map(|text| text.clone_ref(py));
            deltas.append(Delta {
                kind: open.kind.clone_ref(py),
                item: self.opened - 1,
                text: text.unbind(),
                status: status.clone().unbind(),
                name: cloned(&open.name),
                call_id: cloned(&open.call_id),
                phase: open.phase,
            })?;
        }
        Ok(deltas)
    }
}
