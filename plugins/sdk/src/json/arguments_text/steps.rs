//! What [`ArgumentsText`] makes of the next bytes in each place.

use super::{ArgumentsText, Place};
use crate::json::fence::{FENCE, TICKS};
use crate::json::input::{Seek, Sought};
use crate::json::quoted::Quoted;
use crate::json::{Event, Scanner};
use crate::{Output, Payload, Route};

impl ArgumentsText {
    pub(super) fn write(&mut self, bytes: usize, out: &mut Output) -> usize {
        self.written = true;
        out.arguments(bytes);
        bytes
    }

    pub(super) fn before(&mut self, text: &[u8], out: &mut Output) -> usize {
        let white = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        out.drop(white);
        self.place = match (text.get(white), self.payload) {
            (None, _) => return white,
            (Some(b'`'), _) if !self.fenced => Place::Fence(false),
            (Some(b'{'), Payload::Text) => Place::Seek(Seek::default()),
            (Some(b'"'), Payload::Json) => {
                out.drop(1);
                self.place = Place::String(Quoted::default(), None);
                return white + 1;
            }
            (Some(b'{' | b'['), Payload::Json) => Place::Json(Scanner::at_value()),
            _ => Place::Verbatim,
        };
        white
    }

    pub(super) fn value(&mut self, text: &[u8], out: &mut Output) -> usize {
        let Place::Json(scanner) = &mut self.place else { return 0 };
        let end = scanner.read_to(Event::ValueEnd, text);
        if end.is_some() {
            self.place = Place::Ended;
        }
        self.write(end.unwrap_or(text.len()), out)
    }

    pub(super) fn rest(&mut self, text: &[u8], out: &mut Output) -> usize {
        let Place::Rest(rest) = &mut self.place else { return 0 };
        let end = rest.read(text);
        let read = end.unwrap_or(text.len());
        out.drop(read);
        self.is_foreign |= rest.is_foreign();
        if end.is_some() {
            self.place = Place::Ended;
        }
        read
    }

    /// Reads the line that opens a fence: three backticks, and one word behind them up to the line's
    /// end or the value.
    pub(super) fn fence(&mut self, text: &[u8], out: &mut Output) -> usize {
        for (read, byte) in text.iter().enumerate() {
            let is_tick = *byte == b'`';
            let Place::Fence(has_word_ended) = &mut self.place else { return read };
            let is_second = *has_word_ended && !byte.is_ascii_whitespace();
            *has_word_ended |= byte.is_ascii_whitespace();
            let begins_value = matches!(byte, b'\n' | b'{' | b'"' | b'[');
            if (self.held < TICKS && !is_tick) || self.held == FENCE || (is_second && !begins_value) {
                self.release_held(out);
                return read;
            }
            if begins_value {
                out.drop(self.held);
                (self.place, self.fenced, self.held) = (Place::Before, true, 0);
                return read;
            }
            self.held += 1;
        }
        text.len()
    }

    pub(super) fn seek(&mut self, text: &[u8], out: &mut Output) -> usize {
        let Place::Seek(seek) = &mut self.place else { return 0 };
        for (read, byte) in text.iter().enumerate() {
            self.held += 1;
            match seek.push(*byte) {
                Sought::Seeking => {}
                Sought::Found => {
                    out.drop(self.held);
                    let rest = Some(std::mem::take(seek).into_rest());
                    (self.place, self.held) = (Place::String(Quoted::default(), rest), 0);
                    return read + 1;
                }
                Sought::Missing => {
                    self.release_held(out);
                    return read + 1;
                }
            }
        }
        text.len()
    }

    pub(super) fn string(&mut self, text: &[u8], out: &mut Output) -> usize {
        let Place::String(string, rest) = &mut self.place else { return 0 };
        let end = string.read(text);
        let inside = end.unwrap_or(text.len());
        self.written |= inside > 0;
        out.take(Route::ArgumentsUnescaped, inside);
        if end.is_none() {
            return inside;
        }
        out.drop(1);
        self.place = match rest.take() {
            Some(mut rest) => {
                rest.read(b"\"");
                Place::Rest(rest)
            }
            None => Place::Ended,
        };
        inside + 1
    }
}
