//! Ids by which clients know a turn's calls: the model's own where it has one that clients can be
//! given, else one that the host makes.

use std::collections::HashSet;

/// Longest id of a model that clients are given, in bytes: as long as OpenAI's may be.
const OWN_BYTES: usize = 64;

/// Ids of a turn's calls, each of which is given once.
pub struct CallIds {
    make: Box<dyn FnMut() -> String + Send>,
    given: HashSet<String>,
}

impl CallIds {
    /// Ids that `make` makes, which is never given what it made; those of a conversation's calls
    /// are unique.
    pub fn new(make: impl FnMut() -> String + Send + 'static) -> Self {
        Self { make: Box::new(make), given: HashSet::new() }
    }

    /// Gives none of these ids, which other calls of the conversation have.
    #[must_use]
    pub fn besides(mut self, others: impl IntoIterator<Item = String>) -> Self {
        self.given.extend(others);
        self
    }

    /// Whether clients can be given a model's `id`: no other call has it, and every client takes
    /// it, those of Messages among them.
    pub(super) fn may_give(&self, id: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        (1..=OWN_BYTES).contains(&id.len()) && id.bytes().all(is_plain) && !self.given.contains(id)
    }

    /// The next call's id: `own`, which [`Self::may_give`] allows, else one that is made.
    pub(super) fn next(&mut self, own: Option<&str>) -> String {
        let Some(own) = own else { return self.made() };
        self.given.insert(own.to_owned());
        own.to_owned()
    }

    /// An id that was made, and isn't a model's. A generator whose ids are equal makes the same one
    /// again.
    fn made(&mut self) -> String {
        let mut id = (self.make)();
        while !self.given.insert(id.clone()) {
            let next = (self.make)();
            if next == id {
                break;
            }
            id = next;
        }
        id
    }
}

/// Returns `call_1`, `call_2`, …, unique within one turn, for tests and tools.
pub fn counted_call_ids() -> CallIds {
    let mut calls = 0;
    CallIds::new(move || {
        calls += 1;
        format!("call_{calls}")
    })
}
