//! The region between the markers of a format whose calls are JSON: one object or several, in a list or not, each a call; or the arguments
//! of a call whose name came before the region. [`Calls`] reads either.
//!
//! Invariant: a region that turns out to be no call is left to the parser as text, with every byte since the last call held.

use super::{Call, Object, Progress};
use crate::{Output, Payload, Tools};

/// Reader of one region of calls.
#[derive(Debug)]
pub struct Calls {
    state: State,
    /// Keys of a call's name and of its arguments.
    keys: (String, String),
}

#[derive(Debug)]
enum State {
    /// Before an object: number of held bytes of markup in front of it.
    Before(usize),
    Object(Call),
    /// After an object, where another one may follow.
    Between,
    Arguments(Object),
    /// After the arguments: the rest of the region is dropped.
    Done,
    Text,
}

impl Calls {
    /// Calls that are objects with the keys `name` and `arguments`; `held` bytes of markup are held before the first object.
    pub fn objects(held: usize, name: &str, arguments: &str) -> Self {
        Self { state: State::Before(held), keys: (name.to_owned(), arguments.to_owned()) }
    }

    /// The arguments of a call that is open already.
    pub fn arguments(payload: Payload) -> Self {
        Self { state: State::Arguments(Object::new(payload)), keys: <(String, String)>::default() }
    }

    /// A region in which nothing is a call.
    pub fn none() -> Self {
        Self { state: State::Text, keys: <(String, String)>::default() }
    }

    /// Whether the rest of the region is text, because what was read last is no call.
    pub fn is_text(&self) -> bool {
        matches!(self.state, State::Text)
    }

    /// Whether the next byte is inside a string of a call.
    pub fn in_string(&self) -> bool {
        match &self.state {
            State::Object(call) => call.in_string(),
            State::Arguments(arguments) => arguments.in_string(),
            _ => false,
        }
    }

    /// Whether brackets of a call's JSON are open: the next closing bracket belongs to the call, not to the region.
    pub fn is_open(&self) -> bool {
        match &self.state {
            State::Object(call) => call.is_open(),
            State::Arguments(arguments) => arguments.is_open(),
            _ => false,
        }
    }

    /// Reads `text`. Returns whether it belongs to calls; if not, all held bytes and the rest of the region are text.
    pub fn read(&mut self, mut text: &[u8], tools: &Tools, out: &mut Output) -> bool {
        while !text.is_empty() {
            let Some(read) = self.step(text, tools, out) else {
                self.state = State::Text;
                return false;
            };
            text = &text[read..];
        }
        true
    }

    /// Reads the first bytes of `text`. Returns how many, or `None` if they are no call.
    fn step(&mut self, text: &[u8], tools: &Tools, out: &mut Output) -> Option<usize> {
        let after = |separators: &[u8]| text.iter().take_while(|byte| separators.contains(byte)).count();
        let mut read = text.len();
        match &mut self.state {
            State::Before(held) => {
                read = after(b" \n\r\t[");
                *held += read;
                if read < text.len() {
                    let call = Call::after(*held).with_keys(&self.keys.0, &self.keys.1);
                    self.state = (text[read] == b'{').then_some(State::Object(call))?;
                }
            }
            State::Object(call) => match call.read(text, tools, out) {
                Progress::Unfinished => {}
                Progress::Closed(bytes) => (self.state, read) = (State::Between, bytes),
                Progress::NotACall => return None,
            },
            State::Between => {
                read = after(b" \n\r\t,;[]}");
                out.drop(read);
                if read < text.len() {
                    self.state = State::Before(0);
                }
            }
            State::Arguments(arguments) => {
                if let Some(end) = arguments.read(text, out) {
                    (self.state, read) = (State::Done, end);
                }
            }
            State::Done => out.drop(read),
            State::Text => return None,
        }
        Some(read)
    }

    /// Ends the string that is open, if one is, at a marker that [ends strings](Output::ends_strings): its call is incomplete, or text if it
    /// has no name yet.
    pub fn end_string(&mut self, out: &mut Output) {
        self.state = match &mut self.state {
            State::Object(call) if call.in_string() && !call.is_opened() => State::Text,
            State::Object(call) if call.in_string() => {
                if call.has_arguments() {
                    call.close(out);
                } else {
                    call.give_up(out);
                }
                State::Between
            }
            State::Arguments(arguments) if arguments.in_string() => {
                arguments.give_up(out);
                State::Between
            }
            _ => return,
        };
    }

    /// Ends the region: at its own end if it `is_closed`, else with the turn, which the model ended `by_itself` or not. The `bytes`
    /// youngest bytes stay held. Where no call is open, the other held bytes are text, or markup if the region is empty; at the turn's end
    /// they are the opening of a broken call.
    pub fn end(&mut self, is_closed: bool, by_itself: bool, bytes: usize, out: &mut Output) {
        match &mut self.state {
            State::Object(call) if !call.is_opened() && is_closed => out.content(out.held() - bytes),
            State::Object(call) if !call.is_opened() => out.broken_call(bytes),
            State::Object(call) if is_closed || (by_itself && call.has_arguments()) => call.close(out),
            State::Object(call) => call.release(out),
            State::Arguments(arguments) if is_closed => arguments.close(out),
            State::Arguments(arguments) => arguments.release(out),
            State::Before(0) => out.drop(out.held() - bytes),
            State::Before(_) if is_closed => out.drop(out.held() - bytes),
            State::Before(_) => out.broken_call(bytes),
            State::Text => out.content(out.held() - bytes),
            State::Between | State::Done => {}
        }
    }
}
