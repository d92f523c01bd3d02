//! What the host does by itself with the text of a call that decides nothing.

use super::{Call, Input};
use crate::{Output, Route};

impl Call {
    /// Tells the host what to do with the text that comes. Bytes that it routes by itself aren't
    /// counted in `read`: once a call is open, only the order of offsets matters.
    pub(super) fn look_ahead(&mut self, out: &mut Output) {
        match self.input {
            _ if !self.object => {}
            _ if !self.is_opened() => out.hold_head(b",}"),
            Input::Sought(_) | Input::Read(..) | Input::Behind(_) => {}
            Input::No if self.arguments.is_none() => out.hold_head(b"{}"),
            Input::No if self.route() == Route::Arguments => {
                if let Some((depth, in_string)) = self.scanner.hand_over() {
                    out.until_json(Route::Arguments, depth, in_string);
                }
            }
            Input::No | Input::Inside(..) => {
                if let Some(stops) = self.scanner.stops() {
                    out.until_byte(self.route(), stops);
                }
            }
        }
    }
}
