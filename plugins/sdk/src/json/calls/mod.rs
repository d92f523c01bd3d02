//! The region between the markers of a format whose calls are JSON: one object or several, in a
//! list or not, each a call; or the arguments of a call whose name came before the region.
//! [`JsonCalls`] reads either.
//!
//! Invariant: a region that turns out to be no call is left to the parser as text, with every byte
//! since the last call held, and so are words behind a call. What a call's object or one around it
//! has beside the call makes the call incomplete ([`Foreign`]).

mod around;

use super::keys::{Foreign, Keys};
use super::{Call, Object, Progress, Scanner};
use crate::{Output, Payload, Route, Tools};

/// Reader of one region of calls.
#[derive(Debug)]
pub struct JsonCalls {
    state: State,
    /// Keys of a call's name and of its arguments.
    keys: Keys,
    /// Keys that lead from an object of the region to the call in it.
    path: Vec<String>,
    /// Scanners of the objects around the call, the outermost first.
    around: Vec<Scanner>,
    /// Text in these objects that no part of the call takes.
    foreign: Foreign,
    /// Where text goes that turns out to be no call.
    prose: Route,
}

#[derive(Debug)]
enum State {
    /// Before an object: number of held bytes of markup in front of it.
    Before(usize),
    /// In an object around the call, before it: number of held bytes, and whether the next key of
    /// the path was read last.
    Around(usize, bool),
    Object(Call),
    /// In an object around the call, behind it: its end closes the call.
    Behind(Call),
    /// After an object, where another one may follow.
    Between,
    /// There, behind the brackets and the white space that may belong to a call that follows:
    /// number of these bytes, which are held.
    Next(usize),
    Arguments(Object),
    /// After the arguments, where only brackets and a fence may follow.
    Done,
    /// In words behind a call, which are text up to the region's end.
    Words,
    /// In what turned out to be no call: all of the region is text, its end too.
    Text,
}

/// What may stand behind a call and before the next one.
const SEPARATORS: &[u8] = b" \n\r\t,;]}";

impl JsonCalls {
    /// Calls that are objects with the keys `name` and `arguments`; `held` bytes of markup are held
    /// before the first object.
    pub fn objects(held: usize, name: &str, arguments: &str) -> Self {
        Self { keys: Keys::new(name, arguments), ..Self::of(State::Before(held)) }
    }

    /// Holds the head of the region's first call ([`Output::hold_head`]), if it hasn't begun.
    pub fn hold_head(&self, out: &mut Output) {
        if matches!(self.state, State::Before(_)) {
            out.hold_head(b",}");
        }
    }

    /// The calls are inside the region's objects, under the keys `path`: in
    /// `{"function": {"name": …}}` under `function`.
    #[must_use]
    pub fn within(self, path: &[String]) -> Self {
        Self { path: path.to_vec(), ..self }
    }

    /// The region stands in text that goes there, and so does what turns out to be no call.
    #[must_use]
    pub fn in_prose(self, prose: Route) -> Self {
        Self { prose, ..self }
    }

    fn of(state: State) -> Self {
        let (keys, foreign) = (Keys::none(), Foreign::default());
        Self { state, keys, path: Vec::new(), around: Vec::new(), foreign, prose: Route::Content }
    }

    /// The arguments of a call that is open already.
    pub fn arguments(payload: Payload) -> Self {
        Self::of(State::Arguments(Object::new(payload)))
    }

    /// The rest of a region behind a call's arguments.
    pub fn behind_arguments() -> Self {
        Self::of(State::Done)
    }

    /// Whether a call is open whose arguments may go on.
    pub fn in_call(&self) -> bool {
        match &self.state {
            State::Object(call) => call.is_opened(),
            State::Arguments(_) => true,
            _ => false,
        }
    }

    /// Whether the rest of the region is text, because what was read last is no call.
    pub fn is_text(&self) -> bool {
        matches!(self.state, State::Text)
    }

    /// Whether the call that was open already has all of its arguments.
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done | State::Words)
    }

    /// Whether the next byte is inside a string of a call.
    pub fn in_string(&self) -> bool {
        match &self.state {
            State::Object(call) => call.in_string(),
            State::Arguments(arguments) => arguments.in_string(),
            State::Around(..) | State::Behind(_) => self.around.last().is_some_and(Scanner::in_string),
            _ => false,
        }
    }

    /// Whether brackets of a call's JSON are open: the next closing bracket belongs to the call,
    /// not to the region.
    pub fn is_open(&self) -> bool {
        match &self.state {
            State::Object(call) => call.is_open(),
            State::Arguments(arguments) => arguments.is_open(),
            State::Around(..) | State::Behind(_) => true,
            _ => false,
        }
    }

    /// Reads `text`. Returns whether it belongs to calls; if not, all held bytes and the rest of
    /// the region are text: behind a call up to the region's end, else with it
    /// ([`Self::is_text`]).
    pub fn read(&mut self, mut text: &[u8], tools: &Tools, out: &mut Output) -> bool {
        while !text.is_empty() {
            let Some(read) = self.step(text, tools, out) else {
                if !matches!(self.state, State::Words) {
                    self.state = State::Text;
                }
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
            State::Before(held) | State::Next(held) => {
                read = after(b" \n\r\t[]");
                *held += read;
                let held = *held;
                match text.get(read) {
                    None => {}
                    Some(b'{') => self.begin(held),
                    Some(_) => {
                        if matches!(self.state, State::Next(_)) {
                            self.state = State::Words;
                        }
                        return None;
                    }
                }
            }
            State::Around(held, is_next) => {
                let (held, is_next) = (*held, *is_next);
                read = self.descend(text, held, is_next)?;
            }
            State::Behind(_) => read = self.ascend(text, out),
            State::Object(call) => match call.read(text, tools, out) {
                Progress::Unfinished => {}
                Progress::Closed(bytes) => {
                    read = bytes;
                    self.end_object();
                }
                Progress::NotACall => return None,
            },
            State::Between => {
                read = after(SEPARATORS);
                out.drop(read);
                if read < text.len() {
                    self.state = State::Next(0);
                }
            }
            State::Done => {
                read = after(b" \n\r\t,;[]}`");
                out.drop(read);
                if read < text.len() {
                    self.state = State::Words;
                }
            }
            State::Arguments(arguments) => {
                if let Some(end) = arguments.read(text, out) {
                    (self.state, read) = (State::Done, end);
                }
            }
            State::Words | State::Text => return None,
        }
        Some(read)
    }

    /// Begins an object, before which `held` bytes are held.
    fn begin(&mut self, held: usize) {
        self.state = if self.path.is_empty() {
            State::Object(Call::after(held).with_keys(self.keys.clone()))
        } else {
            self.foreign = Foreign::default();
            self.around.push(Scanner::default());
            State::Around(held, false)
        };
    }

    /// Ends the string that is open, if one is, at a marker that [ends
    /// strings](Output::ends_strings): its call is incomplete, or text if it has no name yet.
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
            State::Around(..) if self.around.last().is_some_and(Scanner::in_string) => State::Text,
            State::Behind(_) if self.around.last().is_some_and(Scanner::in_string) => {
                self.close(out);
                State::Between
            }
            _ => return,
        };
        self.around.clear();
    }

    /// Ends the region: at its own end if it `is_closed`, else with the turn, which the model ended
    /// `by_itself` or not. The `bytes` youngest bytes stay held. Where no call is open, the other
    /// held bytes are text, or markup if the region is empty; at the turn's end they are the
    /// opening of a broken call.
    pub fn end(&mut self, is_closed: bool, by_itself: bool, bytes: usize, out: &mut Output) {
        match &mut self.state {
            State::Object(call) if !call.is_opened() && is_closed => out.take(self.prose, out.held() - bytes),
            State::Object(call) if !call.is_opened() => out.broken_call(bytes),
            State::Object(call) if is_closed || (by_itself && call.has_arguments()) => call.close(out),
            State::Object(call) => call.release(out),
            State::Arguments(arguments) if is_closed => arguments.close(out),
            State::Arguments(arguments) => arguments.release(out),
            State::Before(0) | State::Next(_) => out.drop(out.held() - bytes),
            State::Before(_) if is_closed => out.drop(out.held() - bytes),
            State::Around(..) if is_closed => out.take(self.prose, out.held() - bytes),
            State::Before(_) | State::Around(..) => out.broken_call(bytes),
            State::Text => out.take(self.prose, out.held() - bytes),
            State::Behind(_) => {
                let is_cut_off = !is_closed && self.in_string();
                self.close(out);
                if is_cut_off {
                    out.broken_call(bytes);
                }
            }
            State::Between | State::Done | State::Words => {}
        }
    }
}
