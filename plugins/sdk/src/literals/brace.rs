//! The brace that opens an object or, in Python, a set, which is written as a list.
//!
//! Invariant: the first member decides, of which no more than [`HELD`] bytes are held; a longer one
//! is a key.

use super::frame::{Frame, Kind};
use super::{HELD, Literals, Place, scalar};
use crate::Output;

/// What a brace opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opened {
    Object,
    Set,
}

/// Whether the text behind a brace, with the brace, ends inside a string.
pub(super) fn in_string(held: &[u8]) -> bool {
    let first = held[1..].trim_ascii_start();
    matches!(first.first(), Some(b'"' | b'\'')) && behind_string(first).is_none()
}

/// What stands behind the string with which `text` begins: the byte that shows its end.
fn behind_string(text: &[u8]) -> Option<u8> {
    let mut escaped = false;
    for (at, byte) in text.iter().enumerate().skip(1) {
        if *byte == text[0] && !escaped {
            let behind = text[at + 1..].trim_ascii_start().first();
            if let Some(end @ (b':' | b'=' | b',' | b'}')) = behind {
                return Some(*end);
            }
        }
        escaped = *byte == b'\\' && !escaped;
    }
    None
}

/// What a brace with this text behind it opens; `None` if more must be known.
fn opened(text: &[u8]) -> Option<Opened> {
    let text = text.trim_ascii_start();
    let set = |is_set| Some(if is_set { Opened::Set } else { Opened::Object });
    match text.first()? {
        b'}' => set(false),
        b'(' | b'[' | b'{' => set(true),
        b'"' | b'\'' => match behind_string(text)? {
            b',' | b'}' => set(true),
            _ => set(false),
        },
        _ => {
            let end = text.iter().position(|byte| b":=,}".contains(byte))?;
            let word = std::str::from_utf8(&text[..end]).unwrap_or_default().trim_ascii_end();
            set(matches!(text[end], b',' | b'}') && scalar::json(word).is_some())
        }
    }
}

impl Literals {
    /// Reads the first of `bytes`, behind a brace that is held.
    pub(super) fn brace(&mut self, bytes: &[u8], out: &mut Output) -> usize {
        self.pending.push(bytes[0]);
        let is_long = self.pending.len() > HELD;
        if let Some(opened) = opened(&self.pending[1..]).or(is_long.then_some(Opened::Object)) {
            let held = std::mem::take(&mut self.pending);
            self.open_brace(opened, held, bytes.len() - 1, out);
        }
        1
    }

    /// Opens an object or set, and reads what is held behind its brace, the first byte of `held`,
    /// before the `keep` youngest held bytes.
    pub(super) fn open_brace(&mut self, opened: Opened, held: Vec<u8>, keep: usize, out: &mut Output) {
        self.begin_value(out);
        let (kind, place) = match opened {
            Opened::Object => (Kind::Object, Place::Key),
            Opened::Set => (Kind::List, Place::Value),
        };
        if opened == Opened::Object {
            out.take(self.json_route(), 1);
        } else {
            out.drop(1);
            self.write("[", out);
        }
        self.frames.push(Frame::new(kind, b'}'));
        self.place = place;
        self.replay(held, 1, keep, out);
    }
}
