//! Tells whether a string ends at its quote by what stands behind that. Templates write strings
//! without escaping a quote inside, so it ends them only where the call goes on as calls do: with a
//! key and its sign, with a list's next value, or with brackets and behind them the next call, text
//! or the end.
//!
//! Invariant: no more than [`WINDOW`] bytes decide, white space in front aside, however the stream
//! is cut. Where they don't, the string has ended if they end in what may be a key, and else they are
//! its text.

use super::frame::{Frame, Kind};
use super::{HELD, Opening, scalar};

/// Bytes that decide, white space in front aside.
const WINDOW: usize = 48;

/// What shows that a string has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shown {
    Nothing,
    /// The rest ends in what may be a key.
    PerhapsKey,
    /// A key with its sign, or the call's end.
    Plain,
}

/// Reader of what stands behind a quote.
#[derive(Debug)]
pub(super) struct Ahead<'a> {
    frames: &'a [Frame],
    rest: &'a [u8],
    /// The string's quote; none if it is a marker.
    quote: Option<u8>,
    is_bare: bool,
    shown: Shown,
    /// Whether the end of a list was read behind the call's.
    ends_list: bool,
}

impl<'a> Ahead<'a> {
    pub(super) fn new(frames: &'a [Frame], rest: &'a [u8], quote: Option<u8>, is_bare: bool) -> Self {
        Self { frames, rest, quote, is_bare, shown: Shown::Nothing, ends_list: false }
    }

    /// Whether a value ended before the rest; `None` if more must be known.
    pub(super) fn ended(mut self) -> Option<bool> {
        let bytes = self.rest;
        let found = self.behind_value();
        let is_long = bytes.trim_ascii_start().len() >= WINDOW || bytes.len() > HELD;
        // The text is cut between characters.
        let decides = is_long && std::str::from_utf8(bytes).is_ok();
        found.or_else(|| decides.then_some(self.shown != Shown::Nothing))
    }

    /// Whether the rest ends the call, as far as it goes, and the list around it, where there is one
    /// (`in_list`).
    pub(super) fn leaves_call(mut self, in_list: bool) -> bool {
        self.behind_value() != Some(false) && self.frames.is_empty() && (self.ends_list || !in_list)
    }

    /// Whether the string has ended, as far as the rest goes: a key is behind it, or the call's end.
    pub(super) fn shows_end(mut self, in_list: bool) -> bool {
        self.behind_value() != Some(false)
            && self.shown == Shown::Plain
            && (!self.frames.is_empty() || self.ends_list || !in_list)
    }

    fn skip(&mut self, what: &[u8]) -> Option<u8> {
        let skipped = self.rest.iter().take_while(|byte| what.contains(byte)).count();
        self.rest = &self.rest[skipped..];
        self.rest.first().copied()
    }

    fn frame(&self) -> Option<&'a Frame> {
        self.frames.last()
    }

    fn behind_value(&mut self) -> Option<bool> {
        let Some(frame) = self.frame() else { return self.behind_call() };
        match self.skip(b" \n\r\t")? {
            b',' if self.skip(b" \n\r\t,")? != frame.close => {
                if frame.kind == Kind::List {
                    self.value()
                } else {
                    self.key()
                }
            }
            _ if self.rest[0] == frame.close => {
                (self.frames, self.rest) = (&self.frames[..self.frames.len() - 1], &self.rest[1..]);
                if self.frames.is_empty() {
                    self.shown = Shown::Plain;
                }
                self.behind_value()
            }
            _ => Some(false),
        }
    }

    fn key(&mut self) -> Option<bool> {
        let quote = self.rest[0];
        let key = if matches!(quote, b'"' | b'\'') {
            self.shown = self.shown.max(Shown::PerhapsKey);
            self.rest[1..].iter().position(|byte| *byte == quote)? + 2
        } else {
            let is_name = |byte: &u8| !byte.is_ascii_whitespace() && !b":=,()[]{}<\"'".contains(byte);
            self.rest.iter().take_while(|byte| is_name(byte)).count()
        };
        self.rest = &self.rest[key..];
        if key == 0 {
            return Some(false);
        }
        self.shown = self.shown.max(Shown::PerhapsKey);
        match self.skip(b" \n\r\t")? {
            b':' => Some(true),
            b'=' => {
                self.shown = Shown::Plain;
                Some(*self.rest.get(1)? != b'=')
            }
            _ => Some(false),
        }
    }

    /// The next value of a list.
    fn value(&mut self) -> Option<bool> {
        let close = self.frame()?.close;
        if b"\"'[{(".contains(&self.rest[0]) {
            return Some(true);
        }
        let ends = |byte: &u8| *byte == b',' || *byte == close || matches!(byte, b'"' | b'\'');
        let end = self.rest.iter().position(ends);
        let word = self.rest[..end.unwrap_or(self.rest.len())].trim_ascii_end();
        if !(self.is_bare || scalar::may_begin(word) || is_prefix(word)) {
            return Some(false);
        }
        Some(!matches!(self.rest[end?], b'"' | b'\'') || is_prefix(word))
    }

    /// Behind the call stand brackets, the next call, or text, in which the string doesn't end.
    fn behind_call(&mut self) -> Option<bool> {
        let before = self.rest;
        let next = self.skip(b" \n\r\t,;]");
        self.ends_list = before[..before.len() - self.rest.len()].contains(&b']');
        match next? {
            b'"' | b'\'' | b'\\' => return Some(false),
            _ => {}
        }
        let text = std::str::from_utf8(self.rest).ok()?;
        let closes = |at: usize| {
            let behind = self.rest[at + 1..].trim_ascii_start().first();
            Some(self.rest[at]) == self.quote && behind.is_some_and(|byte| b",)]}".contains(byte))
        };
        match Opening::of_keywords(text, "") {
            Opening::Call(..) => Some(true),
            _ if (0..self.rest.len()).any(closes) => Some(false),
            _ => None,
        }
    }
}

/// Whether a quote behind this word begins a string, as in `f'…'`.
pub(super) fn is_prefix(word: &[u8]) -> bool {
    matches!(word.len(), 1 | 2) && word.iter().all(|byte| b"fFrRbBuU".contains(byte))
}
