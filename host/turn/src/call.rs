//! The open tool call of a turn: writes its arguments, and bounds the argument text that a parser writes itself.
//!
//! Invariant: each argument byte is written once, as it is, decoded or escaped, as its route says. `items` owns it.

use serde::de::IgnoredAny;

use super::event::ItemHead;
use super::open_json::OpenJson;
use super::step_error::StepError;
use contract::json_text::{Unescape, escape};
use contract::{Payload, Route};

/// Number of bytes of derived arguments that every call may have.
const DERIVED_BYTES: u64 = 256;
/// Number of further bytes of derived arguments for each byte dropped for the call.
const DERIVED_RATIO: u64 = 8;

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
    unescape: Unescape,
    derived: u64,
    /// Number of markup bytes dropped for this call, its header included.
    dropped: u64,
}

impl Call {
    /// Creates a call for whose header `dropped` bytes were dropped already.
    pub(super) fn new(name: String, payload: Payload, call_id: String, dropped: u64) -> Self {
        let json = (payload == Payload::Json).then(String::new);
        let head = Some(ItemHead::ToolCall { call_id, name: name.clone(), payload });
        let (open_json, unescape) = (OpenJson::outside(), Unescape::default());
        Self { name, head, json, open_json, followed: 0, unescape, derived: 0, dropped }
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

    /// Appends arguments to `out`: as they are, escaped or decoded, as `route` says.
    pub(super) fn write(&mut self, route: Route, text: &str, out: &mut String) {
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
    }

    /// Appends arguments that the parser wrote itself. `held` bytes may yet be dropped for this call.
    pub(super) fn derive(&mut self, text: &str, held: usize, out: &mut String) -> Result<(), StepError> {
        self.derived += text.len() as u64;
        self.check_derived(held)?;
        self.write(Route::Arguments, text, out);
        Ok(())
    }

    /// Checks that derived text stays within its bound if `held` more bytes are dropped for this call.
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

    /// Whether the arguments are a complete JSON object. False for plain text, whose end can't be recognised.
    pub(super) fn is_whole(&self) -> bool {
        !self.is_foreign()
            && self.json.as_deref().is_some_and(|json| serde_json::from_str::<IgnoredAny>(json).is_ok())
    }

    /// Whether the arguments should be a JSON object and are something else, such as a number, a list or a bare word: nobody can run such a
    /// call. `null` and nothing at all stand for a tool without parameters.
    pub(super) fn is_foreign(&self) -> bool {
        let json = self.json.as_deref().unwrap_or_default().trim();
        !(json.is_empty() || json.starts_with('{') || json == "null")
    }

    /// Whether arguments that should be JSON aren't. Empty arguments are allowed: they are those of a tool without parameters.
    pub(super) fn is_malformed(&self) -> bool {
        self.json.as_deref().is_some_and(|json| !json.trim().is_empty()) && !self.is_whole()
    }

    fn note(&mut self, written: &str) {
        if let Some(json) = &mut self.json {
            json.push_str(written);
        }
    }
}
