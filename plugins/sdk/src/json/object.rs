//! Arguments of a call whose name came before them: one JSON object, whose last bracket ends the
//! call without a marker.

use super::{ArgumentsText, Scanner};
use crate::{Output, Payload, Route};

/// The arguments of one call.
#[derive(Debug)]
pub struct Object {
    arguments: ArgumentsText,
    scanner: Scanner,
}

impl Object {
    /// The arguments of a call with this payload.
    pub fn new(payload: Payload) -> Self {
        Self { arguments: ArgumentsText::new(payload), scanner: Scanner::default() }
    }

    /// Whether the next byte is inside a string.
    pub fn in_string(&self) -> bool {
        self.scanner.in_string()
    }

    /// Whether brackets of the object are open.
    pub fn is_open(&self) -> bool {
        self.scanner.depth() > 0
    }

    /// Reads `text` up to the object's end, where the call is closed. Returns the number of bytes
    /// read if the end came.
    pub fn read(&mut self, text: &[u8], out: &mut Output) -> Option<usize> {
        let end = self.scanner.read(text);
        // A list or a string ends by itself, and is no object to the scanner.
        let end = self.arguments.read(&text[..end.unwrap_or(text.len())], out).or(end);
        if end.is_some() {
            self.arguments.close(out);
        } else if let Some(stops) = self.arguments.json().and_then(|json| json.stops_behind(text)) {
            out.until_byte(Route::Arguments, stops);
        }
        end
    }

    /// Ends a call whose object didn't end. Returns whether the call is complete: the model stopped
    /// by itself, and no bracket is open.
    pub fn end(&mut self, by_itself: bool, out: &mut Output) -> bool {
        let is_whole = by_itself && !self.is_open();
        if is_whole {
            self.arguments.close(out);
        } else {
            self.arguments.release(out);
        }
        is_whole
    }

    /// Completes the call ([`ArgumentsText::close`]).
    pub fn close(&mut self, out: &mut Output) {
        self.arguments.close(out);
    }

    /// Ends the call as incomplete ([`ArgumentsText::give_up`]).
    pub fn give_up(&mut self, out: &mut Output) {
        self.arguments.give_up(out);
    }

    /// Routes the bytes that are still held ([`ArgumentsText::release`]).
    pub fn release(&mut self, out: &mut Output) {
        self.arguments.release(out);
    }
}
