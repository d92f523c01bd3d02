//! Markup dropped since text was last shown, in which a tool call's name may stand. Its size bounds
//! the call's derived text.
//!
//! Rule of the name check: a tool's name is declared by the request, or it occurs in the stream
//! between the end of the last run that wasn't dropped (or the opening of the last call) and the
//! newest byte held when the call opens. Held bytes count because a parser may open a call first
//! and drop its header afterwards. Either way the model wrote the name, in text that nobody has
//! been shown. `ledger` owns it, `router` checks names.

use super::step_error::StepError;

/// Minimum number of dropped bytes that are kept; names are not found in older ones.
const REMEMBERED: usize = 16 << 10;
/// Number of bytes searched for undeclared names in one step after which no further search begins.
const SEARCHED: usize = 4 << 20;

/// Markup dropped before the next call.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    text: String,
    bytes: u64,
    searched: usize,
}

impl Dropped {
    /// Begins a new step, which has its own bound on searches.
    pub(super) fn begin_step(&mut self) {
        self.searched = 0;
    }

    /// Appends dropped text.
    pub(super) fn push(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        self.text.push_str(text);
        if self.text.len() > 2 * REMEMBERED {
            let old = self.text.floor_char_boundary(self.text.len() - REMEMBERED);
            self.text.drain(..old);
        }
    }

    /// Forgets the markup: text was shown or a call opened, so that it doesn't belong to the next
    /// call.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.bytes = 0;
    }

    /// The markup, as far as it is kept.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Number of bytes dropped, including those that are no longer kept.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether `name` occurs in the dropped bytes followed by the `held` ones.
    pub(super) fn contains_name(&mut self, name: &str, held: &str) -> Result<bool, StepError> {
        if self.searched > SEARCHED {
            return Err(StepError::NameSearch);
        }
        self.searched += self.text.len() + held.len();
        Ok(self.text.contains(name)
            || held.contains(name)
            || self.around_border(name.len(), held).contains(name))
    }

    /// Text around the border of dropped and held bytes, as far as a name of `length` bytes can
    /// reach across it.
    fn around_border(&self, length: usize, held: &str) -> String {
        let start = self.text.ceil_char_boundary(self.text.len().saturating_sub(length - 1));
        let end = held.floor_char_boundary(length - 1);
        [&self.text[start..], &held[..end]].concat()
    }
}
