//! Numbers and words, and values between markers that needn't be strings.

use super::quoted::StringKind;
use super::{HELD, Input, Literals, MARKER, Place, ahead, scalar};
use crate::{Output, Types};

impl Literals {
    pub(super) fn word(&mut self, byte: u8, out: &mut Output) -> usize {
        if byte == b',' || byte == self.frame().close {
            self.end_word(out);
            return 0;
        }
        if matches!(byte, b'"' | b'\'') && ahead::is_prefix(&self.pending) {
            let is_raw = self.pending.iter().any(|letter| matches!(letter, b'r' | b'R'));
            self.begin_value(out);
            self.drop_pending(out);
            self.begin_quoted(byte, if is_raw { StringKind::Raw } else { StringKind::Value }, out);
            return 1;
        }
        self.pending.push(byte);
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let goes_on = if self.bare {
            // Half a marker may come at the end of the stream, and is no string.
            self.pending[0] == b'<' && self.pending.len() <= MARKER || ahead::is_prefix(&self.pending)
        } else {
            self.pending.iter().all(is_word)
        };
        if (goes_on || scalar::may_begin(&self.pending)) && self.pending.len() <= HELD {
            return 1;
        }
        self.pending.pop();
        if !self.bare {
            return self.no_literal();
        }
        self.begin_bare(out);
        0
    }

    /// Reads a byte between markers, of a value that is no string if it is a literal.
    pub(super) fn typed(&mut self, mark: usize, byte: u8, out: &mut Output) -> usize {
        let is_nested = matches!(byte, b'[' | b'{') && self.types.allows(Types::ARRAY.or(Types::OBJECT));
        if is_nested && self.pending.trim_ascii().is_empty() {
            self.drop_pending(out);
            self.place = Place::Value;
            return 0;
        }
        self.pending.push(byte);
        if !scalar::may_begin(self.pending.trim_ascii_start()) || self.pending.len() > HELD {
            self.begin_value(out);
            self.begin_string(out);
            self.pending.pop();
            self.take_text(out);
            self.place = Place::Marked { mark, is_key: false };
            return 0;
        }
        1
    }

    /// Types of the argument of this name.
    pub(super) fn types_of(&self, name: &[u8]) -> Types {
        let Some(tool) = self.tool.get().filter(|_| self.frames.len() == 1) else { return self.types };
        let listed = tool.parameters.iter().find(|parameter| parameter.name.as_bytes() == name);
        listed.map_or(Types::ANY, |parameter| parameter.types)
    }

    /// Whether the number or word that is held has a meaning.
    pub(super) fn is_scalar(&self) -> bool {
        let word = std::str::from_utf8(&self.pending).unwrap_or_default().trim_ascii();
        scalar::json(word).is_some() && !self.is_string()
    }

    /// Whether a word is a string whatever it says: by the schema, or as a custom tool's input.
    fn is_string(&self) -> bool {
        let is_typed = self.is_typed && self.frames.len() == 1 && self.types == Types::STRING;
        is_typed || self.input == Input::Sought
    }

    /// Ends a number or word. One without a meaning goes out unchanged, unless it is a string.
    pub(super) fn end_word(&mut self, out: &mut Output) {
        let pending = std::mem::take(&mut self.pending);
        let text = std::str::from_utf8(&pending).unwrap_or_default();
        let word = text.trim_ascii();
        let is_string = self.is_string();
        let may_have_zeros = !self.bare || !self.types.allows(Types::STRING);
        let zeros = if may_have_zeros { scalar::without_zeros(word) } else { None };
        self.begin_value(out);
        let before = text.len() - text.trim_ascii_start().len();
        match scalar::json(word).or(zeros.as_deref()).filter(|_| !is_string) {
            None if self.bare || is_string => {
                self.begin_string(out);
                out.drop(before);
                out.take(self.plain_route(), word.len());
                out.drop(text.len() - before - word.len());
                return self.end_string(false, out);
            }
            Some(json) if json != word => {
                out.drop(text.len());
                self.write(json, out);
            }
            _ => {
                out.drop(before);
                out.take(self.json_route(), word.len());
                out.drop(text.len() - before - word.len());
            }
        }
        self.place = Place::After;
    }
}
