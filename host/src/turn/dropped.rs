//! The markup dropped since the stream last said something: what a tool call may take its name and its derived text from.
//!
//! Rule of the name check: a tool's name is declared by the request, or it stands in the stream between the end of the last
//! run that wasn't dropped (or the opening of the last call) and the youngest byte held when the call opens. Held bytes
//! count because a parser may open a call first and drop its header afterwards; either way it is the model that wrote
//! the name, in text that nobody has been shown. `router` calls it.

use super::illegal::Illegal;

/// Dropped bytes that are remembered, at least; older ones can't name a tool.
const REMEMBERED: usize = 16 << 10;
/// Bytes that may be searched for undeclared names in one step.
const SEARCHED: usize = 4 << 20;

/// Markup before the next call.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    text: String,
    bytes: u64,
    searched: usize,
}

impl Dropped {
    /// A new step begins.
    pub(super) fn begin_step(&mut self) {
        self.searched = 0;
    }

    /// More markup.
    pub(super) fn push(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        self.text.push_str(text);
        if self.text.len() > 2 * REMEMBERED {
            let old = self.text.floor_char_boundary(self.text.len() - REMEMBERED);
            self.text.drain(..old);
        }
    }

    /// Something was said, or a call opened: what was dropped before doesn't belong to the next call.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.bytes = 0;
    }

    /// Bytes dropped.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the bytes dropped, and the `held` ones after them, say `name`.
    pub(super) fn says(&mut self, name: &str, held: &str) -> Result<bool, Illegal> {
        if self.searched > SEARCHED {
            return Err(Illegal::NameSearch);
        }
        self.searched += self.text.len() + held.len();
        Ok(self.text.contains(name) || held.contains(name) || self.seam(name.len(), held).contains(name))
    }

    /// What surrounds the border between dropped and held bytes, as far as a name of `length` bytes reaches across it.
    fn seam(&self, length: usize, held: &str) -> String {
        let start = self.text.ceil_char_boundary(self.text.len().saturating_sub(length - 1));
        let end = held.floor_char_boundary(length - 1);
        [&self.text[start..], &held[..end]].concat()
    }
}
