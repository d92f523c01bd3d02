//! The end of a call: what shows it, and whether the call is whole.

use parser_sdk::{Output, Payload};

use super::{At, Call, Progress};
use crate::Tools;
use crate::tag::{BLOCK, Tag};

impl Call {
    /// Whether, behind the call's end inside a value, this tag shows that the call has ended, and
    /// how. It is held, with the `keep` youngest bytes behind it.
    pub(super) fn ended(
        &mut self,
        tag: &Tag,
        keep: usize,
        tools: &Tools,
        out: &mut Output,
    ) -> Option<Progress> {
        let At::Ended { of_block, .. } = self.at else { return None };
        let progress = match tag {
            Tag::Close(name) if name == BLOCK && !of_block => Progress::BlockClosed,
            Tag::Call(name) if tools.contains(name) && !of_block => Progress::Followed(name.clone()),
            Tag::Open(name) if name == BLOCK => Progress::Closed,
            _ => return None,
        };
        self.end_value(out);
        self.open.clear();
        out.drop(out.held() - keep);
        Some(progress)
    }

    /// Ends the call: whole, or, if words of it belong to no element, incomplete.
    pub(crate) fn close(&self, out: &mut Output) {
        if self.has_surplus {
            return out.message("");
        }
        if self.payload == Payload::Json && self.given.is_empty() {
            out.derive("{}");
        }
        out.close();
    }

    /// Whether the call is whole where its own tag is missing: it has parameters, and all of them
    /// ended.
    pub(crate) fn is_over(&self) -> bool {
        let is_between = self.at == At::Between && self.open.is_empty();
        matches!(self.at, At::Ended { .. }) || is_between && !self.given.is_empty()
    }
}
