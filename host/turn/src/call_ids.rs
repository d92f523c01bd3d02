//! Ids by which clients know a turn's calls: the model's own where it has one that clients can be
//! given, else one that the host makes.

use std::collections::HashSet;

/// Longest id of a model that clients are given, in bytes: as long as OpenAI's may be.
const OWN_BYTES: usize = 64;

/// Ids of a turn's calls, each of which is given once.
pub struct CallIds {
    make: Box<dyn FnMut(&NewCall<'_>) -> String + Send>,
    given: HashSet<String>,
    calls: u32,
}

/// A call that needs an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewCall<'a> {
    /// Number of the turn's calls before it.
    pub index: u32,
    /// Name of its tool.
    pub name: &'a str,
    /// Id that the model wrote for it, of any form, if no call has it yet. Clients are given one of
    /// letters, digits, `_` and `-` without asking.
    pub own_id: Option<&'a str>,
}

impl CallIds {
    /// Ids that `make` makes, which is never given what it made; those of a conversation's calls
    /// are unique.
    pub fn new(make: impl FnMut(&NewCall<'_>) -> String + Send + 'static) -> Self {
        Self { make: Box::new(make), given: HashSet::new(), calls: 0 }
    }

    /// Gives none of these ids, which other calls of the conversation have.
    #[must_use]
    pub fn besides(mut self, others: impl IntoIterator<Item = String>) -> Self {
        self.given.extend(others);
        self
    }

    /// The id of the next call, of the tool `name`; `own_id` is the model's, which its stream has.
    pub(super) fn next(&mut self, name: &str, own_id: Option<&str>) -> String {
        let own_id = own_id.filter(|id| !self.given.contains(*id));
        let call = NewCall { index: self.calls, name, own_id };
        self.calls = self.calls.saturating_add(1);
        let id = match own_id {
            Some(id) if may_give(id) => id.to_owned(),
            _ => self.made(call),
        };
        self.given.insert(id.clone());
        id
    }

    /// An id that was made, and isn't a model's. A generator whose ids are equal makes the same one
    /// again.
    fn made(&mut self, call: NewCall<'_>) -> String {
        let mut id = (self.make)(&call);
        while self.given.contains(&id) {
            let next = (self.make)(&call);
            if next == id {
                break;
            }
            id = next;
        }
        id
    }
}

/// Whether every client takes a model's `id`, those of Messages among them.
fn may_give(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=OWN_BYTES).contains(&id.len()) && id.bytes().all(is_plain)
}

/// Returns the id that `pattern` ([`Descriptor::history_call_ids`]) gives to the call `index` of the
/// tool `name`. It is filled in in one pass, so that `{index}` inside a tool's name stays as it is.
///
/// [`Descriptor::history_call_ids`]: contract::Descriptor::history_call_ids
pub fn spell_call_id(pattern: &str, name: &str, index: usize) -> String {
    let mut id = String::with_capacity(pattern.len() + name.len());
    let mut rest = pattern;
    while let Some(at) = rest.find('{') {
        id.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("{name}") {
            id.push_str(name);
            rest = after;
        } else if let Some(after) = rest.strip_prefix("{index}") {
            id.push_str(&index.to_string());
            rest = after;
        } else {
            id.push('{');
            rest = &rest[1..];
        }
    }
    id + rest
}

/// Returns `call_1`, `call_2`, …, unique within one turn, for tests and tools.
pub fn counted_call_ids() -> CallIds {
    let mut calls = 0;
    CallIds::new(move |_| {
        calls += 1;
        format!("call_{calls}")
    })
}
