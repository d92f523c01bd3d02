//! Checker of one stream of events against its protocol's grammar, from this server or another: the
//! framing here, the events in each protocol's validator (`EventCheck`). Tests, `--check-streams`
//! and `host stream lint` run it.
//!
//! Invariant: a checker goes on after a violation. An event that was left out is named once and
//! then counted as if it had come, so that what follows is judged on its own.

use std::borrow::Cow;

use serde_json::Value;

use super::{Protocol, chat, completions, messages, responses, sse};

use super::stream_rule::{EventCheck, Fault};
pub use super::stream_rule::{Rule, Violation};

/// Violations after which [`StreamCheck::read`] looks no further: a stream of something else has one
/// in each line.
pub const MOST_VIOLATIONS: usize = 1000;
/// Bytes of a stream in which its protocol is looked for.
const LOOKED_AT: usize = 1 << 20;

/// Checker of one stream, which may be fed while it goes out.
#[derive(Debug)]
pub struct StreamCheck {
    protocol: Protocol,
    check: Box<dyn EventCheck>,
    events: u64,
    line: usize,
    done: bool,
}

impl StreamCheck {
    /// A checker that has seen nothing.
    pub fn new(protocol: Protocol) -> Self {
        let check: Box<dyn EventCheck> = match protocol {
            Protocol::Responses => Box::<responses::validator::Validator>::default(),
            Protocol::Chat => Box::<chat::validator::ChunkValidator>::default(),
            Protocol::Completions => Box::<completions::validator::CompletionsValidator>::default(),
            Protocol::Messages => Box::<messages::validator::MessagesValidator>::default(),
        };
        Self { protocol, check, events: 0, line: 1, done: false }
    }

    /// Checks the next whole events.
    ///
    /// # Errors
    /// The first violation in these events.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), String> {
        first(self.read(bytes))
    }

    /// Checks that the stream is whole.
    ///
    /// # Errors
    /// What is missing.
    pub fn finish(&self) -> Result<(), String> {
        first(self.missing())
    }

    /// Violations in the next whole events, about [`MOST_VIOLATIONS`] of them at most.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<Violation> {
        let mut found = Vec::new();
        let text = String::from_utf8_lossy(bytes);
        if let Err(error) = std::str::from_utf8(bytes) {
            let line = self.line + bytes[..error.valid_up_to()].split(|byte| *byte == b'\n').count() - 1;
            found.push(Violation { line, ..self.violation("", framing("not UTF-8")) });
        }
        let text = if text.contains('\r') {
            found.push(self.violation("", framing("lines end with a carriage return")));
            Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
        } else {
            text
        };
        let whole = text.strip_suffix("\n\n");
        for block in whole.unwrap_or(&text).split("\n\n").filter(|_| !text.is_empty()) {
            self.block(block, &mut found);
            self.line += block.matches('\n').count() + 2;
            if found.len() >= MOST_VIOLATIONS {
                return found;
            }
        }
        if whole.is_none() && !text.is_empty() {
            let cut = self.violation("", framing("the last event is cut off: no empty line after it"));
            found.push(Violation { line: self.line.saturating_sub(2).max(1), ..cut });
        }
        found
    }

    /// All that is missing at the end of the stream.
    pub fn missing(&self) -> Vec<Violation> {
        let mut faults = Vec::new();
        if !self.done {
            self.check.finish(&mut faults);
            if self.protocol != Protocol::Messages {
                faults.push(framing("[DONE] is missing at the end"));
            }
        }
        faults.into_iter().map(|fault| self.violation("", fault)).collect()
    }

    /// Number of events seen.
    pub fn events(&self) -> u64 {
        self.events
    }

    fn block(&mut self, block: &str, found: &mut Vec<Violation>) {
        let (name, data) = match sse::event(block) {
            Ok(None) => return,
            Ok(Some(event)) => (event.name, Cow::Borrowed(event.data)),
            Err(what) => {
                found.push(self.violation("", framing(what)));
                let Some((name, data)) = sse::lenient(block) else { return };
                (name, Cow::Owned(data))
            }
        };
        let mut faults = Vec::new();
        let value = self.json(name, &data, &mut faults);
        let kind = name.or_else(|| value.as_ref()?["type"].as_str()).unwrap_or_default();
        if let Some(value) = &value {
            self.check.event(value, &mut faults);
        }
        found.extend(faults.into_iter().map(|fault| self.violation(kind, fault)));
        self.events += 1;
    }

    /// The event's JSON. `None` if it is the end or has none.
    fn json(&mut self, name: Option<&str>, data: &str, faults: &mut Vec<Fault>) -> Option<Value> {
        if self.done {
            faults.push(framing("something follows [DONE]"));
        }
        let named = matches!(self.protocol, Protocol::Responses | Protocol::Messages);
        if data == "[DONE]" && self.protocol != Protocol::Messages {
            if name.is_some() {
                faults.push(framing("[DONE] has a name"));
            }
            if !self.done {
                self.check.finish(faults);
            }
            self.done = true;
            return None;
        }
        let value: Value = match serde_json::from_str(data) {
            Ok(value) => value,
            Err(error) => {
                faults.push(framing(format!("not JSON: {error}")));
                return None;
            }
        };
        if named && value["type"].as_str() != name {
            let (kind, name) = (&value["type"], name.unwrap_or("none"));
            faults.push(framing(format!("the event's name is {name}, expected its type {kind}")));
        }
        if !named && name.is_some() {
            faults.push(framing("a chunk has an event name"));
        }
        Some(value)
    }

    fn violation(&self, kind: &str, fault: Fault) -> Violation {
        let Fault { rule, what } = fault;
        let (kind, expected) = (kind.to_owned(), rule.expected());
        Violation { line: self.line, event: self.events, kind, rule, what, expected }
    }
}

impl Protocol {
    /// A checker for one stream.
    pub fn check(self) -> StreamCheck {
        StreamCheck::new(self)
    }
}

/// The protocol of a recorded stream, by its first event that only one protocol has.
pub fn protocol_of(bytes: &[u8]) -> Option<Protocol> {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LOOKED_AT)]).replace("\r\n", "\n");
    text.split("\n\n").find_map(|block| {
        let data: Value = serde_json::from_str(&sse::lenient(block)?.1).ok()?;
        match (data["object"].as_str(), data["type"].as_str()) {
            (Some("chat.completion.chunk"), _) => Some(Protocol::Chat),
            (Some("text_completion"), _) => Some(Protocol::Completions),
            (_, Some(kind)) if kind.starts_with("response.") => Some(Protocol::Responses),
            (_, Some(kind)) if messages::validator::EVENTS.contains(&kind) => Some(Protocol::Messages),
            _ => None,
        }
    })
}

/// The first violation of a whole stream.
#[cfg(test)]
pub(crate) fn check_whole(protocol: Protocol, bytes: &[u8]) -> Result<(), Violation> {
    let mut check = StreamCheck::new(protocol);
    let found = check.read(bytes);
    found.into_iter().chain(check.missing()).next().map_or(Ok(()), Err)
}

fn first(found: Vec<Violation>) -> Result<(), String> {
    found.into_iter().next().map_or(Ok(()), |violation| Err(violation.to_string()))
}

fn framing(what: impl Into<String>) -> Fault {
    Fault::new(Rule::Framing, what)
}

#[cfg(test)]
mod tests;
