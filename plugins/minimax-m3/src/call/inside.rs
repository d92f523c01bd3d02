//! Calls that a value spells as part of its text.
//!
//! Invariant: their ends are text, too, and so are the ends of elements in them that are called as
//! the value is.

use crate::tag::{BLOCK, CALL, Tag};

/// Numbers of blocks, of calls and of elements with the value's name that began inside a value and
/// haven't ended there.
#[derive(Debug, Default)]
pub(super) struct Inside {
    blocks: usize,
    calls: usize,
    values: usize,
}

impl Inside {
    /// Whether this tag begins or ends such a part of the text of the element `value`.
    pub(super) fn takes(&mut self, tag: &Tag, value: Option<&str>) -> bool {
        match tag {
            Tag::Call(_) => self.calls += 1,
            Tag::Open(name) if name == BLOCK => self.blocks += 1,
            Tag::Open(name) if self.calls > 0 => self.values += usize::from(value == Some(name)),
            Tag::Close(name) if name == CALL && self.calls > 0 => {
                (self.calls, self.values) = (self.calls - 1, 0);
            }
            Tag::Close(name) if name == BLOCK && self.blocks > 0 => self.blocks -= 1,
            Tag::Close(name) if value == Some(name) && self.values > 0 => self.values -= 1,
            _ => return false,
        }
        true
    }
}
