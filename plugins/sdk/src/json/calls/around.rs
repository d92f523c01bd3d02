//! Objects around a call: `{"type": "function", "function": {"name": …}}` has one.

use super::{JsonCalls, State};
use crate::Output;
use crate::json::{Call, Event, Scanner};

impl JsonCalls {
    /// Ends a call's own object.
    pub(super) fn end_object(&mut self) {
        self.state = match (std::mem::replace(&mut self.state, State::Between), self.around.last_mut()) {
            (State::Object(call), Some(around)) => {
                // The objects around the call haven't seen its last bracket.
                around.push(b'}');
                State::Behind(call)
            }
            _ => State::Between,
        };
    }

    /// Reads on to the call in an object. Returns the number of bytes read, or `None` if there is
    /// no call in the object.
    pub(super) fn descend(&mut self, text: &[u8], held: usize, mut is_next: bool) -> Option<usize> {
        for (index, &byte) in text.iter().enumerate() {
            let next = self.path.get(self.around.len() - 1)?;
            let around = self.around.last_mut()?;
            let event = around.push(byte);
            if event == Event::Key {
                is_next = around.string().as_deref() == Some(next);
            }
            self.foreign.notice(event, byte, around, is_next);
            match event {
                Event::ValueStart if is_next && byte == b'{' => {
                    if self.around.len() == self.path.len() {
                        let call = Call::after(held + index).with_keys(self.keys.clone());
                        self.state = State::Object(call.inner());
                        return Some(index);
                    }
                    let mut inner = Scanner::default();
                    inner.push(byte);
                    self.around.push(inner);
                    is_next = false;
                }
                Event::ValueStart => is_next = false,
                Event::End | Event::NotAnObject => return None,
                _ => {}
            }
        }
        self.state = State::Around(held + text.len(), is_next);
        Some(text.len())
    }

    /// Drops the bytes up to the end of the outermost object around the call, and closes the call
    /// there. Returns the number of bytes read.
    pub(super) fn ascend(&mut self, text: &[u8], out: &mut Output) -> usize {
        for (index, &byte) in text.iter().enumerate() {
            while let Some(around) = self.around.last_mut() {
                let event = around.push(byte);
                self.foreign.notice(event, byte, around, false);
                if event != Event::End {
                    break;
                }
                self.around.pop();
            }
            if self.around.is_empty() {
                out.drop(index + 1);
                self.close(out);
                return index + 1;
            }
        }
        out.drop(text.len());
        text.len()
    }

    /// Closes the call in an object that ended or is cut off behind the call.
    pub(super) fn close(&mut self, out: &mut Output) {
        if let State::Behind(mut call) = std::mem::replace(&mut self.state, State::Between) {
            if self.foreign.is_found(self.around.last()) { call.give_up(out) } else { call.close(out) }
        }
    }
}
