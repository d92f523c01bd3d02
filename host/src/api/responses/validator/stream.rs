//! Checker of a stream of bytes: the framing, and then the events.

use serde_json::Value;

use super::super::super::sse;
use super::{Rule, Validator, Violation};

/// Checks a stream while it is sent. It is fed whole events, in one or more pieces.
#[derive(Debug, Default)]
pub struct ResponsesValidator {
    validator: Validator,
    done: bool,
}

impl ResponsesValidator {
    /// Checks the next events.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Violation> {
        let events = sse::events(bytes).map_err(|what| self.framing("", what))?;
        events.into_iter().try_for_each(|event| self.event(event))
    }

    /// Checks that the stream is whole.
    pub fn finish(&self) -> Result<(), Violation> {
        self.validator.finish()?;
        if self.done { Ok(()) } else { Err(self.framing("", "the stream ends without [DONE]")) }
    }

    fn event(&mut self, event: sse::Event<'_>) -> Result<(), Violation> {
        let kind = event.name.unwrap_or_default();
        if self.done {
            return Err(self.framing(kind, "something follows [DONE]"));
        }
        if event.data == "[DONE]" {
            self.done = true;
            return match event.name {
                None => self.validator.finish(),
                Some(_) => Err(self.framing(kind, "[DONE] has a name")),
            };
        }
        let value: Value = serde_json::from_str(event.data)
            .map_err(|error| self.framing(kind, format!("not JSON: {error}")))?;
        if value["type"].as_str() != event.name {
            return Err(self.framing(kind, format!("the event's name is not its type {}", value["type"])));
        }
        self.validator.event(&value)
    }

    fn framing(&self, kind: &str, what: impl Into<String>) -> Violation {
        let kind = kind.to_owned();
        Violation { event: self.validator.events(), kind, rule: Rule::Framing, what: what.into() }
    }
}

/// Checks a whole stream.
pub fn check_sse(bytes: &[u8]) -> Result<(), Violation> {
    let mut check = ResponsesValidator::default();
    check.feed(bytes)?;
    check.finish()
}
