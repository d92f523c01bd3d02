//! The tools that a turn may call, as a parser needs them: their names, and what a call of each carries.
//!
//! Made once per stream from the request; formats that match names loosely go through [`Tools::names`].
//!
//! Invariant: what counts as the name of a tool that isn't declared is said here alone ([`is_plausible`]).

use crate::types::{Payload, Request, ToolChoice, ToolKind};

/// Longest plausible name, in bytes.
const NAME: usize = 128;

/// The tools that may be called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tools(Vec<(String, Payload)>);

impl Tools {
    /// Those that the request declares; none where it forbids calls.
    pub fn callable(request: &Request) -> Self {
        if request.tool_choice == ToolChoice::None {
            return Self::default();
        }
        let payload = |kind| match kind {
            ToolKind::Function => Payload::Json,
            ToolKind::Custom => Payload::Text,
        };
        Self(request.tools.iter().map(|tool| (tool.name.clone(), payload(tool.kind))).collect())
    }

    /// Whether no tool may be called.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this is the name of one.
    pub fn contains(&self, name: &str) -> bool {
        self.names().any(|declared| declared == name)
    }

    /// Their names, as declared.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Whether a call may be of this name: it is declared, or [plausible](is_plausible).
    pub fn accepts(&self, name: &str) -> bool {
        is_plausible(name) || self.contains(name)
    }

    /// Whether a name that is [accepted](Self::accepts) may begin so.
    pub fn may_begin(&self, name: &str) -> bool {
        begins_plausibly(name) || self.names().any(|declared| declared.starts_with(name))
    }

    /// What a call of `name` carries: text for a custom tool, JSON for a function and for a name that isn't declared.
    pub fn payload(&self, name: &str) -> Payload {
        self.0.iter().find(|(declared, _)| declared == name).map_or(Payload::Json, |(_, payload)| *payload)
    }
}

/// Whether a tool may be called so that isn't declared: 1 to 128 of the characters `A-Z a-z 0-9 _ . : -`, a letter or digit among them.
pub fn is_plausible(name: &str) -> bool {
    begins_plausibly(name) && name.bytes().any(|byte| byte.is_ascii_alphanumeric())
}

/// Whether such a name may begin so.
pub fn begins_plausibly(name: &str) -> bool {
    let may_stand = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    name.len() <= NAME && name.bytes().all(may_stand)
}
