//! Arguments that are one JSON object whose end is the call's: a name stood before them, and no marker need follow.

use super::{Body, Scanner};
use crate::{Output, Payload, Route};

/// The arguments of one call.
#[derive(Debug)]
pub struct Object {
    body: Body,
    scanner: Scanner,
}

impl Object {
    /// The arguments of a call that carries this.
    pub fn new(payload: Payload) -> Self {
        Self { body: Body::new(payload), scanner: Scanner::default() }
    }

    /// Whether the next byte is inside a string.
    pub fn in_string(&self) -> bool {
        self.scanner.in_string()
    }

    /// Whether brackets are open.
    pub fn is_open(&self) -> bool {
        self.scanner.depth() > 0
    }

    /// Reads on up to the object's end, where the call is closed: after how many bytes that came.
    pub fn read(&mut self, text: &[u8], out: &mut Output) -> Option<usize> {
        let end = self.scanner.read(text);
        self.body.read(&text[..end.unwrap_or(text.len())], out);
        if end.is_some() {
            self.body.close(out);
        } else if let Some(stops) = self.body.json().and_then(|json| json.stops_behind(text)) {
            out.until_byte(Route::Arguments, stops);
        }
        end
    }

    /// The call ends without the object's end: it is whole if the model came this far by itself and no bracket is open. Returns whether it is.
    pub fn end(&mut self, by_itself: bool, out: &mut Output) -> bool {
        let is_whole = by_itself && !self.is_open();
        if is_whole {
            self.body.close(out);
        } else {
            self.body.release(out);
        }
        is_whole
    }

    /// Completes the call ([`Body::close`]).
    pub fn close(&mut self, out: &mut Output) {
        self.body.close(out);
    }

    /// Routes what is still held ([`Body::release`]).
    pub fn release(&mut self, out: &mut Output) {
        self.body.release(out);
    }
}
