//! The region between the markers of a format whose calls are JSON: one object or several, in a
//! list or not, each a call; or the arguments of a call whose name came before the region.
//! [`Calls`] reads either.
//!
//! Invariant: a region that turns out to be no call is left to the parser as text, with every byte
//! since the last call held.

use super::{Call, Event, Object, Progress, Scanner};
use crate::{Output, Payload, Route, Tools};

/// Reader of one region of calls.
#[derive(Debug)]
pub struct Calls {
    state: State,
    /// Keys of a call's name and of its arguments.
    keys: (String, String),
    /// Keys that lead from an object of the region to the call in it.
    path: Vec<String>,
    /// Scanners of the objects around the call, the outermost first.
    around: Vec<Scanner>,
    /// Where text goes that turns out to be no call.
    prose: Route,
    /// Whether a call has ended.
    has_called: bool,
}

#[derive(Debug)]
enum State {
    /// Before an object: number of held bytes of markup in front of it.
    Before(usize),
    /// In an object around the call, before it: number of held bytes, and whether the next key of
    /// the path was read last.
    Around(usize, bool),
    Object(Call),
    /// In an object around the call, behind it.
    Behind,
    /// After an object, where another one may follow.
    Between,
    Arguments(Object),
    /// After the arguments, where only brackets and a fence may follow.
    Done,
    Text,
}

impl Calls {
    /// Calls that are objects with the keys `name` and `arguments`; `held` bytes of markup are held
    /// before the first object.
    pub fn objects(held: usize, name: &str, arguments: &str) -> Self {
        Self { keys: (name.to_owned(), arguments.to_owned()), ..Self::of(State::Before(held)) }
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
        let (keys, path, around) = (<(String, String)>::default(), Vec::new(), Vec::new());
        Self { state, keys, path, around, prose: Route::Content, has_called: false }
    }

    /// The arguments of a call that is open already.
    pub fn arguments(payload: Payload) -> Self {
        Self::of(State::Arguments(Object::new(payload)))
    }

    /// The rest of a region behind a call's arguments.
    pub fn behind_arguments() -> Self {
        Self { has_called: true, ..Self::of(State::Done) }
    }

    /// Whether a call of the region has ended.
    pub fn has_called(&self) -> bool {
        self.has_called
    }

    /// Whether a call is open.
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

    /// Whether the next byte is inside a string of a call.
    pub fn in_string(&self) -> bool {
        match &self.state {
            State::Object(call) => call.in_string(),
            State::Arguments(arguments) => arguments.in_string(),
            State::Around(..) | State::Behind => self.around.last().is_some_and(Scanner::in_string),
            _ => false,
        }
    }

    /// Whether brackets of a call's JSON are open: the next closing bracket belongs to the call,
    /// not to the region.
    pub fn is_open(&self) -> bool {
        match &self.state {
            State::Object(call) => call.is_open(),
            State::Arguments(arguments) => arguments.is_open(),
            State::Around(..) | State::Behind => true,
            _ => false,
        }
    }

    /// Reads `text`. Returns whether it belongs to calls; if not, all held bytes and the rest of
    /// the region are text.
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
                read = after(b" \n\r\t[]");
                *held += read;
                if read < text.len() && text[read] != b'{' {
                    return None;
                }
                if read < text.len() {
                    self.state = if self.path.is_empty() {
                        State::Object(Call::after(*held).with_keys(&self.keys.0, &self.keys.1))
                    } else {
                        self.around.push(Scanner::default());
                        State::Around(*held, false)
                    };
                }
            }
            State::Around(held, is_next) => {
                let (held, is_next) = (*held, *is_next);
                read = self.descend(text, held, is_next)?;
            }
            State::Behind => {
                read = self.ascend(text);
                out.drop(read);
            }
            State::Object(call) => match call.read(text, tools, out) {
                Progress::Unfinished => {}
                Progress::Closed(bytes) => {
                    read = bytes;
                    self.has_called = true;
                    self.state = if self.around.is_empty() { State::Between } else { State::Behind };
                    // The objects around the call haven't seen its last bracket.
                    if let Some(around) = self.around.last_mut() {
                        around.push(b'}');
                    }
                }
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
                    (self.state, read, self.has_called) = (State::Done, end, true);
                }
            }
            State::Done => {
                read = after(b" \n\r\t,;[]}`");
                out.drop(read);
                if read < text.len() {
                    return None;
                }
            }
            State::Text => return None,
        }
        Some(read)
    }

    /// Reads on to the call in an object. Returns the number of bytes read, or `None` if there is
    /// no call in the object.
    fn descend(&mut self, text: &[u8], held: usize, mut is_next: bool) -> Option<usize> {
        for (index, &byte) in text.iter().enumerate() {
            let next = self.path.get(self.around.len() - 1)?;
            let around = self.around.last_mut()?;
            match around.push(byte) {
                Event::Key => is_next = around.string().as_deref() == Some(next),
                Event::ValueStart if is_next && byte == b'{' => {
                    if self.around.len() == self.path.len() {
                        let call = Call::after(held + index).with_keys(&self.keys.0, &self.keys.1);
                        self.state = State::Object(call);
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

    /// Reads on to the end of the outermost object around the call. Returns the number of bytes
    /// read.
    fn ascend(&mut self, text: &[u8]) -> usize {
        for (index, &byte) in text.iter().enumerate() {
            while self.around.last_mut().is_some_and(|around| around.push(byte) == Event::End) {
                self.around.pop();
            }
            if self.around.is_empty() {
                self.state = State::Between;
                return index + 1;
            }
        }
        text.len()
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
            State::Behind if self.around.last().is_some_and(Scanner::in_string) => State::Between,
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
            State::Before(0) => out.drop(out.held() - bytes),
            State::Before(_) if is_closed => out.drop(out.held() - bytes),
            State::Around(..) if is_closed => out.take(self.prose, out.held() - bytes),
            State::Before(_) | State::Around(..) => out.broken_call(bytes),
            State::Text => out.take(self.prose, out.held() - bytes),
            State::Behind if !is_closed && self.around.last().is_some_and(Scanner::in_string) => {
                out.broken_call(bytes);
            }
            State::Between | State::Behind | State::Done => {}
        }
    }
}
