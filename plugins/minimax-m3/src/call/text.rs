//! Text of an open call, outside of tags: a value's, the input of a custom tool, or what belongs to
//! nothing.

use parser_sdk::{Output, Payload, Reading, Route};

use super::{At, Call, INPUT, NAMESPACE, white};

/// Longest white space, in bytes, that is held behind what may end the call.
const GAP: usize = 128;

impl Call {
    /// Reads text that stands in no tag.
    pub(super) fn text(&mut self, text: &str, out: &mut Output) {
        match self.at {
            At::Between if self.is_bare_input(text) => {
                out.drop(text.len() - text.trim_start_matches(white).len());
                self.push(INPUT);
                out.parameter_at(self.path(), Reading::Declared);
                self.value(text, out);
            }
            At::Between if text.chars().all(white) => out.drop_all(),
            At::Between => {
                self.has_surplus = true;
                self.drop_surplus(0, out);
            }
            At::Ended { of_block, bytes } if text.chars().all(white) && bytes + text.len() <= GAP => {
                self.at = At::Ended { of_block, bytes: bytes + text.len() };
            }
            At::Blank | At::Value | At::Ended { .. } => self.value(text, out),
            At::Untagged { bytes, in_value } => {
                self.at = At::Untagged { bytes: bytes + text.len(), in_value }
            }
        }
    }

    /// Whether this text is the input of a custom tool, without a tag.
    fn is_bare_input(&self, text: &str) -> bool {
        self.payload == Payload::Text && self.given.is_empty() && !text.chars().all(white)
    }

    pub(super) fn value(&mut self, text: &str, out: &mut Output) {
        if self.at == At::Blank && text.chars().all(white) {
            return out.rest(Route::Value);
        }
        self.at = At::Value;
        out.until_marker(Route::Value);
    }

    pub(super) fn drop_surplus(&mut self, keep: usize, out: &mut Output) {
        // A marker alone is markup.
        self.has_surplus |= out.held() - keep > NAMESPACE.len();
        self.at = At::Between;
        out.flow(Route::Drop, keep);
    }

    /// Ends the open value.
    pub(super) fn end_value(&mut self, out: &mut Output) {
        if matches!(self.at, At::Blank | At::Value | At::Ended { .. }) {
            out.end_parameter();
        }
        self.at = At::Between;
    }
}
