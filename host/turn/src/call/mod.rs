//! The open tool call of a turn: writes its arguments, and bounds the argument text that a parser
//! writes itself.
//!
//! Invariant: each argument byte is written once, as it is, decoded or escaped, as its route says.
//! `items` owns it.

mod parameters;
mod value;

use std::sync::Arc;

use serde::de::IgnoredAny;

use self::parameters::Parameters;
use super::event::ItemHead;
use super::open_json::OpenJson;
use super::step_error::StepError;
use contract::json_text::{Unescape, escape};
use contract::{ParameterValue, Payload, Route, Segment, Tool, ToolCall};

/// Number of bytes of derived arguments that every call may have.
const DERIVED_BYTES: u64 = 256;
/// Number of further bytes of derived arguments for each byte dropped for the call.
const DERIVED_RATIO: u64 = 8;
/// Number of bytes of JSON for which a call has room at once.
const USUAL_BYTES: usize = 256;

/// An open tool call.
#[derive(Debug)]
pub(super) struct Call {
    name: String,
    /// Head of the call's item, until `take_head` returns it for the client.
    head: Option<ItemHead>,
    /// All arguments so far, kept for JSON only, which must be checked for completeness.
    json: Option<String>,
    /// State of that JSON, and how much of it was read: only where somebody asks.
    open_json: OpenJson,
    followed: usize,
    /// Length of that JSON when it was checked last, and whether it was whole then.
    checked: Option<(usize, bool)>,
    unescape: Unescape,
    tools: Arc<[Tool]>,
    /// Whether a value that is left out makes the call incomplete.
    keeps_values: bool,
    /// Writer of values, once the parser has named one.
    parameters: Option<Box<Parameters>>,
    derived: u64,
    /// Number of markup bytes dropped for this call, its header included.
    dropped: u64,
}

impl Call {
    /// Creates a call, perhaps of one of `tools`, for whose header `dropped` bytes were dropped
    /// already.
    pub(super) fn new(
        call: ToolCall,
        call_id: String,
        tools: Arc<[Tool]>,
        keeps_values: bool,
        dropped: u64,
    ) -> Self {
        let ToolCall { name, payload, id: _ } = call;
        Self {
            json: (payload == Payload::Json).then(|| String::with_capacity(USUAL_BYTES)),
            head: Some(ItemHead::ToolCall { call_id, name: name.clone(), payload }),
            name,
            open_json: OpenJson::outside(),
            followed: 0,
            checked: None,
            unescape: Unescape::default(),
            tools,
            keeps_values,
            parameters: None,
            derived: 0,
            dropped,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the head once; the caller sends it to the client.
    pub(super) fn take_head(&mut self) -> Option<ItemHead> {
        self.head.take()
    }

    /// Whether the client was sent the call's head.
    pub(super) fn is_announced(&self) -> bool {
        self.head.is_none()
    }

    pub(super) fn drop_bytes(&mut self, bytes: usize) {
        self.dropped += bytes as u64;
    }

    /// Whether the value of a parameter is open.
    pub(super) fn has_value(&self) -> bool {
        self.parameters.as_ref().is_some_and(|parameters| parameters.has_value())
    }

    /// Whether a value had no place, and was left out where none may be.
    pub(super) fn has_misfit(&self) -> bool {
        self.parameters.as_ref().is_some_and(|parameters| parameters.has_misfit())
    }

    /// Appends arguments to `out`: as they are, escaped, decoded or typed, as `route` says. `bound`
    /// is the number of bytes that may wait.
    pub(super) fn write(
        &mut self,
        route: Route,
        text: &str,
        bound: usize,
        out: &mut String,
    ) -> Result<(), StepError> {
        if route == Route::Value {
            return self.value(text, bound, out);
        }
        self.check_unmixed(self.parameters.is_some())?;
        let before = out.len();
        if route != Route::ArgumentsUnescaped {
            self.unescape.finish(out);
        }
        match route {
            Route::ArgumentsEscaped => escape(text, out),
            Route::ArgumentsUnescaped => self.unescape.push(text, out),
            _ => out.push_str(text),
        }
        self.note(&out[before..]);
        Ok(())
    }

    /// Appends text of the open value.
    fn value(&mut self, text: &str, bound: usize, out: &mut String) -> Result<(), StepError> {
        let before = out.len();
        let Some(parameters) = &mut self.parameters else { return Err(StepError::NoValue) };
        parameters.text(text, out);
        if parameters.waiting() > bound {
            return Err(StepError::HeldBytes(bound));
        }
        self.note(&out[before..]);
        Ok(())
    }

    /// Appends arguments that the parser wrote itself. `held` bytes may yet be dropped for this
    /// call.
    pub(super) fn derive(&mut self, text: &str, held: usize, out: &mut String) -> Result<(), StepError> {
        self.derived += text.len() as u64;
        self.check_derived(held)?;
        self.write(Route::Arguments, text, 0, out)
    }

    /// Begins the value of a parameter. `held` bytes may yet be dropped for this call.
    pub(super) fn parameter(
        &mut self,
        parameter: ParameterValue,
        held: usize,
        out: &mut String,
    ) -> Result<(), StepError> {
        let is_raw = self.parameters.is_none() && self.json.as_ref().is_some_and(|json| !json.is_empty());
        self.check_unmixed(is_raw)?;
        let written = parameter.path.iter().map(|segment| match segment {
            Segment::Key(key) | Segment::Element { name: key, .. } => key.len() as u64,
            Segment::Item(_) => 1,
        });
        self.derived += written.sum::<u64>();
        self.check_derived(held)?;
        let payload = if self.json.is_some() { Payload::Json } else { Payload::Text };
        let new =
            || Box::new(Parameters::new(Arc::clone(&self.tools), &self.name, payload, self.keeps_values));
        let before = out.len();
        self.parameters.get_or_insert_with(new).begin(parameter, out)?;
        self.note(&out[before..]);
        Ok(())
    }

    /// Ends the value of a parameter.
    pub(super) fn end_parameter(&mut self, out: &mut String) {
        self.with_parameters(out, Parameters::end);
    }

    /// Ends the arguments, which are whole.
    pub(super) fn close(&mut self, out: &mut String) {
        self.with_parameters(out, Parameters::close);
    }

    fn with_parameters(&mut self, out: &mut String, act: impl FnOnce(&mut Parameters, &mut String)) {
        if let Some(parameters) = &mut self.parameters {
            let before = out.len();
            act(parameters, out);
            self.note(&out[before..]);
        }
    }

    /// Checks that JSON isn't written both by parameters and beside them.
    fn check_unmixed(&self, is_mixed: bool) -> Result<(), StepError> {
        if is_mixed && self.json.is_some() { Err(StepError::Mixed) } else { Ok(()) }
    }

    /// Checks that derived text stays within its bound if `held` more bytes are dropped for this
    /// call.
    pub(super) fn check_derived(&self, held: usize) -> Result<(), StepError> {
        let bound = DERIVED_BYTES + DERIVED_RATIO * (self.dropped + held as u64);
        if self.derived > bound { Err(StepError::Derived) } else { Ok(()) }
    }

    /// Ends the arguments: an unfinished escape is written as it stands.
    pub(super) fn finish(&mut self, out: &mut String) {
        let before = out.len();
        self.unescape.finish(out);
        self.note(&out[before..]);
    }

    /// Whether the arguments are JSON, and end inside a string.
    pub(super) fn string_is_open(&mut self) -> bool {
        let Some(json) = &self.json else { return false };
        self.followed += self.open_json.follow(&json.as_bytes()[self.followed..]);
        self.open_json.in_string()
    }

    /// Whether the arguments are JSON that ends here inside a string. Whole JSON, as nearly all is at
    /// its end, isn't read again.
    pub(super) fn ends_in_string(&mut self) -> bool {
        !self.is_whole() && self.string_is_open()
    }

    /// Whether the arguments are a complete JSON object. False for plain text, whose end can't be
    /// recognised.
    pub(super) fn is_whole(&mut self) -> bool {
        let Some(json) = &self.json else { return false };
        if let Some((bytes, is_whole)) = self.checked
            && bytes == json.len()
        {
            return is_whole;
        }
        let is_whole = !self.is_foreign() && serde_json::from_str::<IgnoredAny>(json).is_ok();
        self.checked = Some((json.len(), is_whole));
        is_whole
    }

    /// Whether the arguments should be a JSON object and are something else, such as a number, a
    /// list or a bare word: nobody can run such a call. `null` and nothing at all stand for a tool
    /// without parameters.
    pub(super) fn is_foreign(&self) -> bool {
        let json = self.json.as_deref().unwrap_or_default().trim();
        !(json.is_empty() || json.starts_with('{') || json == "null")
    }

    /// Whether arguments that should be JSON aren't. Empty arguments are allowed: they are those of
    /// a tool without parameters.
    pub(super) fn is_malformed(&mut self) -> bool {
        self.json.as_deref().is_some_and(|json| !json.trim().is_empty()) && !self.is_whole()
    }

    fn note(&mut self, written: &str) {
        if let Some(json) = &mut self.json {
            json.push_str(written);
        }
    }
}
