//! Parsers bound to a tokenizer, and streams.

use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, TryLockError};

use contract::{Fault, FinishReason, Request, Route, ToolKind, Trim};
use parsers::{AlignError, BoundPlugin, OutputStream};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use turn::{
    AllowedCalls, CallIds, NewCall, TurnEvent, TurnEvents, TurnSettings, fold, spell_call_id, values,
};

use super::deltas::Items;
use super::errors::{AlignmentError, refused};
use super::items::{Turn, end_name};

/// Settings of a parser, by name.
pub(super) type Options = Vec<(String, String)>;

/// A tool: its name, whether it is a custom one, and the JSON schema of its arguments.
type ToolTuple = (String, bool, String);

/// What a stream is started with.
#[pyclass(frozen, module = "sluice_parsers._native")]
pub(super) struct StartValues {
    request: Request,
    prompt: String,
    calls: AllowedCalls,
    /// Whether the stream tells its text without reasoning, too.
    remainder: bool,
    /// Which white space is left out, where not the parser says it.
    trim: Option<Trim>,
    /// How many calls the conversation has before the turn, if the ids of the turn's shall be those
    /// that the model's template wants.
    earlier_calls: Option<usize>,
}

#[pymethods]
impl StartValues {
    #[new]
    #[pyo3(signature = (tools, prompt, calls, options, trim, earlier_calls, remainder=false))]
    fn new(
        tools: Option<Vec<ToolTuple>>,
        prompt: String,
        calls: &str,
        options: Options,
        trim: Option<Vec<String>>,
        earlier_calls: Option<usize>,
        remainder: bool,
    ) -> PyResult<Self> {
        let tool = |(name, is_custom, schema): &ToolTuple| {
            let kind = if *is_custom { ToolKind::Custom } else { ToolKind::Function };
            values::tool(name, kind, schema)
        };
        let tools = match tools {
            Some(tools) => tools.iter().map(tool).collect(),
            None => [values::any_tool()].into(),
        };
        let request = Request { tools, options, ..Request::default() };
        let calls = match calls {
            "any" => AllowedCalls::Any,
            "one" => AllowedCalls::One,
            "none" => AllowedCalls::None,
            other => return Err(PyValueError::new_err(format!("calls={other:?}: it is any, one or none"))),
        };
        let trim = trim.map(|kinds| trim_of(&kinds)).transpose()?;
        Ok(Self { request, prompt, calls, remainder, trim, earlier_calls })
    }
}

/// A parser bound to a tokenizer.
#[pyclass(frozen, module = "sluice_parsers._native")]
pub(super) struct BoundParser {
    by_id: BoundPlugin,
    by_text: BoundPlugin,
    options: Options,
    decode: Option<Py<PyAny>>,
}

impl BoundParser {
    pub(super) fn new(
        by_id: BoundPlugin,
        by_text: BoundPlugin,
        options: Options,
        decode: Option<Py<PyAny>>,
    ) -> Self {
        Self { by_id, by_text, options, decode }
    }

    fn start(&self, bound: &BoundPlugin, values: &StartValues) -> PyResult<OutputStream> {
        let StartValues { request, prompt, calls, remainder, trim, earlier_calls } = values;
        // Those of the parser go first: it was loaded with them.
        let options = [request.options.clone(), self.options.clone()].concat();
        let request = Request { options, ..request.clone() };
        let pattern = bound.plugin().descriptor().history_call_ids.clone();
        let spelling = pattern.zip(*earlier_calls);
        // A model's own id goes back to it in the chat template. Others are drawn from the system
        // each time, so that a forked process doesn't give them again.
        let id = move |call: &NewCall<'_>| match (call.own_id, &spelling) {
            (Some(id), _) => id.to_owned(),
            (None, Some((pattern, earlier))) => {
                spell_call_id(pattern, call.name, earlier.saturating_add(call.index as usize))
            }
            (None, None) => {
                format!("call_{:016x}{:016x}", system::random::seed(), system::random::seed())
            }
        };
        let mut settings = TurnSettings::of(&request, CallIds::new(id));
        (settings.reads_on, settings.calls) = (true, *calls);
        (settings.shows_routes, settings.trim) = (*remainder, *trim);
        bound.start_with(&request, prompt, settings).map_err(|fault| refused(told(&fault)))
    }

    fn decode(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.decode.as_ref().map(|decode| decode.clone_ref(py))
    }
}

/// Which items lose the white space at their ends: those of these kinds.
fn trim_of(kinds: &[String]) -> PyResult<Trim> {
    let mut trim = Trim::default();
    for kind in kinds {
        match kind.as_str() {
            "reasoning" => trim.reasoning = true,
            "message" => trim.content = true,
            other => {
                return Err(PyValueError::new_err(format!("trim={other:?}: it is reasoning or message")));
            }
        }
    }
    Ok(trim)
}

/// A fault with the parser's own words.
fn told(fault: &Fault) -> String {
    format!("parser {}: {}", fault.parser, fault.in_full())
}

fn reason(name: &str) -> PyResult<FinishReason> {
    match name {
        "stop" => Ok(FinishReason::Stop),
        "length" => Ok(FinishReason::Length),
        "cancelled" => Ok(FinishReason::Cancelled),
        other => Err(PyValueError::new_err(format!("reason={other:?}: it is stop, length or cancelled"))),
    }
}

#[pymethods]
impl BoundParser {
    /// Starts a stream.
    fn start_stream(&self, py: Python<'_>, values: &StartValues) -> PyResult<Stream> {
        let stream = self.start(&self.by_id, values)?;
        let state = StreamState { stream, items: Items::default(), remainder: String::new(), end: None };
        Ok(Stream { state: Mutex::new(state), decode: self.decode(py) })
    }

    /// Parses a whole turn: by its text, or by its text and ids. Other threads run meanwhile.
    fn parse_text(
        &self,
        py: Python<'_>,
        text: &str,
        ids: Option<Vec<u32>>,
        finish: &str,
        values: &StartValues,
    ) -> PyResult<Turn> {
        let reason = reason(finish)?;
        py.detach(|| {
            let bound = if ids.is_some() { &self.by_id } else { &self.by_text };
            let mut stream = self.start(bound, values)?;
            let mut events = TurnEvents::default();
            push(&mut stream, text, &ids.unwrap_or_default(), self.decode.as_ref(), |pushed| {
                events.extend(pushed.iter().cloned());
            })?;
            let (last, end) = stream.finish(reason, None);
            events.extend(last.iter().cloned());
            let items = fold(events).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
            let (end, failure) = end_name(&end);
            let fault = stream.turn().fault().map(told);
            Ok(Turn { items: items.into_iter().map(Into::into).collect(), end, failure, fault })
        })
    }
}

/// Pushes into a stream. What `decode` raises is raised, and nothing was taken.
fn push<R>(
    stream: &mut OutputStream,
    text: &str,
    ids: &[u32],
    decode: Option<&Py<PyAny>>,
    then: impl FnOnce(&[TurnEvent]) -> R,
) -> PyResult<R> {
    let raised = RefCell::new(None);
    let call = |ids: &[u32]| {
        let decode = decode?;
        let text = Python::attach(|py| decode.call1(py, (ids.to_vec(),))?.extract::<String>(py));
        text.map_err(|error| *raised.borrow_mut() = Some(error)).ok()
    };
    let pushed = match decode {
        Some(_) => stream.push(text, ids, Some(&call)),
        None => stream.push(text, ids, None),
    };
    match pushed {
        Ok(events) => Ok(then(events)),
        Err(AlignError::NotDecoded) if raised.borrow().is_some() => {
            Err(raised.take().unwrap_or_else(|| AlignmentError::new_err("not decoded")))
        }
        Err(error) => Err(AlignmentError::new_err(error.to_string())),
    }
}

/// How a stream ended: its name, and the message of a failure.
type End = (&'static str, Option<String>);

struct StreamState {
    stream: OutputStream,
    items: Items,
    /// Text that is no reasoning, as the model wrote it, and wasn't asked for yet.
    remainder: String,
    end: Option<End>,
}

/// What isn't reasoning of the text whose routes these events tell.
fn without_reasoning(events: &[TurnEvent]) -> impl Iterator<Item = &str> {
    events.iter().filter_map(|event| match event {
        TurnEvent::Routed(routed) if routed.route != Route::Reasoning => Some(routed.text.as_str()),
        _ => None,
    })
}

/// The output of one turn.
#[pyclass(frozen, module = "sluice_parsers._native")]
pub(super) struct Stream {
    state: Mutex<StreamState>,
    decode: Option<Py<PyAny>>,
}

impl Stream {
    /// The state, if no other thread has it.
    fn state(&self) -> PyResult<MutexGuard<'_, StreamState>> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::WouldBlock) => {
                Err(PyRuntimeError::new_err("two threads use one stream at the same time: give each its own"))
            }
            Err(TryLockError::Poisoned(_)) => Err(PyRuntimeError::new_err("the stream failed before")),
        }
    }

    fn running(&self) -> PyResult<MutexGuard<'_, StreamState>> {
        let state = self.state()?;
        if state.end.is_some() {
            Err(PyRuntimeError::new_err("the stream was finished before"))
        } else {
            Ok(state)
        }
    }
}

#[pymethods]
impl Stream {
    /// Takes new text and the ids of its tokens.
    #[pyo3(signature = (text, ids=vec![]))]
    fn push<'py>(&self, py: Python<'py>, text: &str, ids: Vec<u32>) -> PyResult<Bound<'py, PyList>> {
        let mut state = self.running()?;
        let StreamState { stream, items, remainder, .. } = &mut *state;
        push(stream, text, &ids, self.decode.as_ref(), |events| {
            remainder.extend(without_reasoning(events));
            items.deltas(py, events)
        })?
    }

    /// Ends the turn.
    #[pyo3(signature = (reason="stop", ended_by=None))]
    fn finish<'py>(
        &self,
        py: Python<'py>,
        reason: &str,
        ended_by: Option<u32>,
    ) -> PyResult<Bound<'py, PyList>> {
        let reason = self::reason(reason)?;
        let mut state = self.running()?;
        let StreamState { stream, items, remainder, end } = &mut *state;
        let (events, ended) = stream.finish(reason, ended_by);
        *end = Some(end_name(&ended));
        remainder.extend(without_reasoning(events));
        items.deltas(py, events)
    }

    /// Takes what came since the last call of the text that is no reasoning.
    fn take_remainder(&self) -> PyResult<String> {
        Ok(std::mem::take(&mut self.state()?.remainder))
    }

    #[getter]
    fn end(&self) -> PyResult<Option<&'static str>> {
        Ok(self.state()?.end.as_ref().map(|(name, _)| *name))
    }

    #[getter]
    fn failure(&self) -> PyResult<Option<String>> {
        Ok(self.state()?.end.as_ref().and_then(|(_, failure)| failure.clone()))
    }

    #[getter]
    fn fault(&self) -> PyResult<Option<String>> {
        Ok(self.state()?.stream.turn().fault().map(told))
    }

    #[getter]
    fn has_ended(&self) -> PyResult<bool> {
        Ok(self.state()?.stream.has_ended())
    }

    #[getter]
    fn reasoning_tokens(&self) -> PyResult<u32> {
        Ok(self.state()?.stream.turn().tokens().reasoning)
    }
}
