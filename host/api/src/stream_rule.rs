//! The rules that streams must keep, what is said of a broken one, and what checks a protocol's
//! events. `stream_check` and the protocols' validators use it.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// A rule that streams must keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Server-sent events, their names, and `[DONE]`.
    Framing,
    /// Types of events, items, parts, blocks, and reasons.
    Vocabulary,
    /// Fields and their types.
    Fields,
    /// `sequence_number`.
    Sequence,
    /// Order of the beginning, the content and the end.
    Lifecycle,
    /// Ids, and other fields that don't grow.
    Identity,
    /// Indices.
    Index,
    /// Order of events inside an item or block.
    Order,
    /// Texts.
    Text,
    /// Statuses and finish reasons.
    Status,
    /// Token counts.
    Usage,
}

impl Rule {
    /// What the rule expects of a stream.
    pub fn expected(self) -> &'static str {
        match self {
            Self::Framing => {
                "whole events of at most one `event: TYPE` line and one `data: JSON` line, each ended by an empty line; \
                 after the last one `data: [DONE]`, except in Messages"
            }
            Self::Vocabulary => "types and reasons that the protocol has",
            Self::Fields => "every required field, with its type",
            Self::Sequence => "sequence_number 0, 1, 2, …",
            Self::Lifecycle => "the beginning, then the content, then one end",
            Self::Identity => {
                "ids that are unique and not empty; they and other fields that don't grow stay the same"
            }
            Self::Index => "indices that count from 0",
            Self::Order => {
                "an item or block that begins, is filled, and is done, with every event of its kind"
            }
            Self::Text => {
                "the same text in the deltas, the done event, the part, the item and the final output"
            }
            Self::Status => "a status or finish reason that fits the events before it",
            Self::Usage => "token counts at the end, which add up",
        }
    }
}

/// A broken rule, without the event that broke it.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The rule that is broken.
    pub(crate) rule: Rule,
    /// What is wrong.
    pub(crate) what: String,
}

impl Fault {
    /// A fault against `rule`; `what` says what is wrong.
    pub(crate) fn new(rule: Rule, what: impl Into<String>) -> Self {
        Self { rule, what: what.into() }
    }
}

/// Checks that something holds; else it is a fault against `rule`.
pub(crate) fn check(holds: bool, rule: Rule, otherwise: &str) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(Fault::new(rule, otherwise)) }
}

/// Checker of the events of one protocol, in order.
pub(super) trait EventCheck: fmt::Debug + Send {
    /// Checks the next event, and adds what is wrong with it to `faults`.
    fn event(&mut self, event: &Value, faults: &mut Vec<Fault>);

    /// Adds what is missing at the end of the stream.
    fn finish(&self, faults: &mut Vec<Fault>);
}

/// Error of a stream that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Line at which the event begins, from 1.
    pub line: usize,
    /// Number of the event in the stream, from 0.
    pub event: u64,
    /// The event's type; empty if it has none.
    #[serde(rename = "type")]
    pub kind: String,
    /// The rule that is broken.
    pub rule: Rule,
    /// What is wrong.
    pub what: String,
    /// What the rule expects.
    pub expected: &'static str,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { event, kind, rule, what, .. } = self;
        let kind = if kind.is_empty() { String::new() } else { format!(" ({kind})") };
        write!(f, "event {event}{kind}, rule {rule:?}: {what}")
    }
}

impl std::error::Error for Violation {}
