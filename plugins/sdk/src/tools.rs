//! The tools that a turn may call: their names, and whether a call of each carries JSON or text.
//!
//! Made once per stream from the request; formats that match names loosely go through
//! [`Tools::names`].
//!
//! Invariant: [`is_plausible`] alone decides what counts as the name of a tool that isn't declared.

use std::sync::Arc;

use contract::{Payload, Request, Tool, ToolKind};

/// Length of the longest plausible name, in bytes.
const NAME: usize = 128;

/// The tools that may be called. A copy costs nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tools(Arc<[Tool]>);

impl Tools {
    /// The tools that the request declares.
    pub fn callable(request: &Request) -> Self {
        Self(Arc::clone(&request.tools))
    }

    /// Whether no tool may be called.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `name` is the name of a tool that may be called.
    pub fn contains(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The tool's name, given what a call says: a model may put a name in a namespace of the same
    /// name.
    pub fn resolve<'a>(&self, said: &'a str) -> &'a str {
        match said.split_once('.') {
            Some((space, name)) if space == name && self.contains(name) && !self.contains(said) => name,
            _ => said,
        }
    }

    /// The tools' names, as declared.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|tool| tool.name.as_str())
    }

    /// The tool of this name.
    pub fn find(&self, name: &str) -> Option<&Tool> {
        self.0.iter().find(|tool| tool.name == name)
    }

    /// The tool of this name, to be kept.
    pub(crate) fn called(&self, name: &str) -> CalledTool {
        let index = self.0.iter().position(|tool| tool.name == name);
        CalledTool { tools: self.clone(), index }
    }

    /// Whether a call may have this name: it is a declared tool's, or [plausible](is_plausible).
    pub fn accepts(&self, name: &str) -> bool {
        is_plausible(name) || self.contains(name)
    }

    /// Whether an [accepted](Self::accepts) name may begin with `name`.
    pub fn may_begin(&self, name: &str) -> bool {
        begins_plausibly(name) || self.names().any(|declared| declared.starts_with(name))
    }

    /// What a call of `name` carries: text for a custom tool, JSON for a function and for a name
    /// that isn't declared.
    pub fn payload(&self, name: &str) -> Payload {
        match self.find(name).map(|tool| tool.kind) {
            Some(ToolKind::Custom) => Payload::Text,
            Some(ToolKind::Function) | None => Payload::Json,
        }
    }
}

/// The tool of a call, if it is declared.
#[derive(Debug, Default)]
pub(crate) struct CalledTool {
    pub(crate) tools: Tools,
    index: Option<usize>,
}

impl CalledTool {
    /// The declared tool.
    pub(crate) fn get(&self) -> Option<&Tool> {
        self.index.map(|index| &self.tools.0[index])
    }
}

/// Whether an undeclared tool may have this name: 1 to 128 of the characters `A-Z a-z 0-9 _ . : -`,
/// a letter or digit among them.
pub fn is_plausible(name: &str) -> bool {
    begins_plausibly(name) && name.bytes().any(|byte| byte.is_ascii_alphanumeric())
}

/// Whether a [plausible](is_plausible) name may begin with `name`.
pub fn begins_plausibly(name: &str) -> bool {
    let may_stand = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    name.len() <= NAME && name.bytes().all(may_stand)
}
