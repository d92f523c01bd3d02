//! The tag that begins a turn or a message of it: a role and attributes. More words than these are
//! prose.

use super::{BlockFormat, Blocks, Message, State};
use crate::Output;
use crate::params::Tag;
use crate::params::attributes::{are_pairs, is_name};

/// Whether the tag of a turn names no more than a role and attributes; with `goes_on`, the last may
/// be unfinished.
pub(super) fn is_role(tag: &str, goes_on: bool) -> bool {
    let tag = tag.trim_start();
    let (role, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
    (is_name(role) && are_pairs(attributes, goes_on)) || are_pairs(tag, goes_on)
}

impl<F: BlockFormat> Blocks<F> {
    /// Begins the message whose tag has been read; the `keep` youngest held bytes end the tag.
    pub(super) fn begin_message(&mut self, keep: usize, out: &mut Output) {
        self.end_turn_tag(keep, out);
        let message = F::message(self.tag.text());
        self.may_call = message == Message::Calls;
        match message {
            Message::Reasoning => self.calls.prose.reasoning(out),
            Message::Content | Message::Calls => self.calls.prose.content(out),
        }
    }

    /// Drops the tag that begins a turn, but for the `keep` youngest held bytes. If it has more words
    /// than a role and attributes, it is prose.
    pub(super) fn end_turn_tag(&mut self, keep: usize, out: &mut Output) {
        let is_markup = out.held() <= Tag::LONGEST + keep && is_role(self.tag.text(), false);
        self.state = State::Between;
        if is_markup {
            out.drop(out.held() - keep);
        } else {
            self.calls.prose.release(keep, out);
        }
    }
}
