//! A call spelt as one JSON object, `{"name": N, "arguments": {…}}`, as Hermes, Qwen3, Llama and
//! others have it: [`Call`] opens the call when its name is known, then routes each byte at once.
//!
//! Invariant: nothing is routed before the name is known, so until then a byte's offset in the call
//! is its offset in the held bytes. Keys come in any order; the first `name` that is a string and
//! the first `arguments` or `parameters` count. Arguments go out verbatim, with two exceptions: a
//! string is decoded (its inside is the JSON), and `null` becomes `{}`. The arguments of a custom
//! tool are the decoded string `input` of their object; without that string they go out as they
//! are. Text that none of this takes, such as a member `note` or words between members, makes the
//! call incomplete ([`Foreign`]). An object whose name no tool can have is no call.

mod custom;
mod look_ahead;

use self::custom::Input;
use super::input::Seek;
use super::keys::{Foreign, Key, Keys};
use super::{Event, Scanner};
use crate::{Output, Payload, Route, Tools, is_plausible};

/// The literal that counts as no arguments; longer words in its place are foreign.
const NULL: &str = "null";

/// State of a call after the bytes read so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More is to come.
    Unfinished,
    /// The object ended after this number of bytes of the text, and the call is closed.
    Closed(usize),
    /// No object, or one without a name: nothing was routed, and the parser routes the bytes.
    NotACall,
}

/// A call being read.
#[derive(Debug, Default)]
pub struct Call {
    scanner: Scanner,
    /// Bytes of the call read so far, its opening marker included.
    read: usize,
    object: bool,
    key: Key,
    /// What the call carries, once it is open.
    payload: Option<Payload>,
    arguments: Option<ArgumentsSpan>,
    input: Input,
    keys: Keys,
    foreign: Foreign,
    /// Whether another object is around the call's, whose end closes the call.
    is_inner: bool,
    /// Whether the name that is being read may go on with a marker: that of a declared tool does.
    name_has_marker: bool,
}

/// Offsets of the arguments in the call, quotes excluded, and their route.
#[derive(Debug, Clone, Copy)]
struct ArgumentsSpan {
    route: Route,
    start: usize,
    end: Option<usize>,
}

impl Call {
    /// A call whose JSON comes after `held` bytes of markup, which are the only bytes held so far.
    pub fn after(held: usize) -> Self {
        Self { read: held, ..Self::default() }
    }

    /// The call with other keys than `name` and `arguments`.
    #[must_use]
    pub(super) fn with_keys(self, keys: Keys) -> Self {
        Self { keys, ..self }
    }

    /// The call inside another object: its own end doesn't close it.
    #[must_use]
    pub(super) fn inner(self) -> Self {
        Self { is_inner: true, ..self }
    }

    /// Whether the call was opened in the output, which can't be undone.
    pub fn is_opened(&self) -> bool {
        self.payload.is_some()
    }

    fn is_custom(&self) -> bool {
        self.payload == Some(Payload::Text)
    }

    /// Whether the arguments have been written to their end.
    pub fn has_arguments(&self) -> bool {
        self.arguments.as_ref().is_some_and(|arguments| arguments.end.is_some())
    }

    /// Whether the object has begun.
    pub fn is_object(&self) -> bool {
        self.object
    }

    /// Whether brackets of the JSON are open.
    pub fn is_open(&self) -> bool {
        self.scanner.depth() > 0
    }

    /// Whether the next byte is inside a string of the JSON that may hold a marker: keys of the
    /// call and the tool's name don't, unless a declared tool's name does.
    pub fn in_string(&self) -> bool {
        self.scanner.in_string() && !self.scanner.in_key() && (!self.in_name() || self.name_has_marker)
    }

    /// Whether the next byte is inside the tool's name.
    fn in_name(&self) -> bool {
        self.key == Key::Name && self.scanner.depth() == 1
    }

    /// Notes whether a declared tool's name goes on with what a marker begins with.
    fn notice_name(&mut self, tools: &Tools) {
        let name = if self.in_name() { self.scanner.raw_string() } else { None };
        let goes_on = |name: &[u8], declared: &str| {
            let rest = declared.as_bytes().strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with(b"<") || rest.starts_with(b"["))
        };
        self.name_has_marker = name.is_some_and(|name| tools.names().any(|one| goes_on(name, one)));
    }

    /// Reads `text`; `tools` are the tools that may be called.
    pub fn read(&mut self, text: &[u8], tools: &Tools, out: &mut Output) -> Progress {
        let (mut index, mut run, mut route) = (0, 0, Route::Drop);
        while let Some(&byte) = text.get(index) {
            let skipped = self.scanner.pass(&text[index..]);
            if skipped == 0 {
                let event = self.scanner.push(byte);
                if event == Event::Key {
                    self.key = self.key();
                }
                if !matches!(event, Event::Nothing) {
                    self.foreign.notice(event, byte, &self.scanner, self.key != Key::Other);
                }
                match event {
                    Event::Nothing | Event::Key | Event::Stray => {}
                    Event::Object => self.object = true,
                    Event::ValueStart => self.begin_value(byte),
                    Event::ValueEnd if self.key == Key::Name && !self.open(tools, out) => {
                        return Progress::NotACall;
                    }
                    Event::ValueEnd => self.end_value(byte),
                    Event::ValueEndBefore => self.end_arguments(self.read),
                    Event::End if self.is_opened() => {
                        self.end_arguments(self.read);
                        out.take(route, run);
                        out.drop(1);
                        if !self.is_inner {
                            self.close(out);
                        }
                        return Progress::Closed(index + 1);
                    }
                    Event::NotAnObject | Event::End => return Progress::NotACall,
                }
            }
            let bytes = skipped.max(1);
            let mut held = !self.is_opened();
            if !matches!(self.input, Input::No) {
                out.take(route, std::mem::take(&mut run));
                held |= self.seek(&text[index..index + bytes], out);
            }
            if !held {
                let next = self.route();
                if next != route {
                    out.take(route, std::mem::take(&mut run));
                    route = next;
                }
                run += bytes;
            }
            self.read += bytes;
            index += bytes;
        }
        out.take(route, run);
        self.notice_name(tools);
        self.look_ahead(out);
        Progress::Unfinished
    }

    /// Completes the call, with `{}` where the model wrote no arguments, unless there was text that
    /// no part of the call takes. To be called before the markup behind the call is dropped.
    pub fn close(&mut self, out: &mut Output) {
        if self.foreign.is_found(Some(&self.scanner)) || self.input.is_foreign() {
            return self.give_up(out);
        }
        self.release(out);
        let written = self.arguments.as_ref().is_some_and(|arguments| {
            arguments.route != Route::Drop && arguments.end.unwrap_or(self.read) > arguments.start
        });
        if !written && !self.is_custom() {
            out.derive("{}");
        }
        out.close();
    }

    /// Routes the held bytes of an open call's arguments, at the end of the arguments.
    /// [`Call::close`] does it too.
    pub fn release(&mut self, out: &mut Output) {
        if let (Input::Sought(_), Some(arguments)) = (&self.input, &self.arguments) {
            if self.is_opened() {
                out.take(arguments.route, self.read - arguments.start);
            }
            self.input = Input::No;
        }
    }

    /// Ends the call as incomplete, because prose follows. The new message keeps a later `close`
    /// from completing the call.
    pub fn give_up(&mut self, out: &mut Output) {
        self.release(out);
        out.message("");
    }

    fn key(&self) -> Key {
        match self.keys.key(self.scanner.string().as_deref()) {
            Key::Arguments if self.arguments.is_some() => Key::Other,
            Key::Name if self.is_opened() => Key::Other,
            key => key,
        }
    }

    fn begin_value(&mut self, byte: u8) {
        if self.key == Key::Arguments {
            let (route, start) = match byte {
                b'"' => (Route::ArgumentsUnescaped, self.read + 1),
                b'n' => (Route::Drop, self.read),
                _ => (Route::Arguments, self.read),
            };
            self.arguments = Some(ArgumentsSpan { route, start, end: None });
            if byte == b'{' && (self.is_custom() || !self.is_opened()) {
                self.input = Input::Sought(Seek::default());
            }
        }
    }

    /// A string or a container ends with `byte`.
    fn end_value(&mut self, byte: u8) {
        if self.key == Key::Arguments {
            self.end_arguments(self.read + usize::from(byte != b'"'));
        }
    }

    fn end_arguments(&mut self, at: usize) {
        let Some(arguments) = self.arguments.as_mut().filter(|arguments| arguments.end.is_none()) else {
            return;
        };
        arguments.end = Some(at);
        if arguments.route == Route::Drop && at - arguments.start != NULL.len() {
            self.foreign.add();
        }
    }

    /// Opens the call if a tool can have its name, and routes the bytes read before the present
    /// byte. Returns whether it did.
    fn open(&mut self, tools: &Tools, out: &mut Output) -> bool {
        let Some(name) = self.name(tools) else { return false };
        let payload = tools.payload(&name);
        self.payload = Some(payload);
        if let (true, Input::Read(input, rest)) = (self.is_custom(), std::mem::take(&mut self.input)) {
            self.arguments = Some(input);
            self.input = Input::Behind(rest);
        }
        if let Some(ArgumentsSpan { route, start, end: Some(end) }) = self.arguments {
            out.tool_call(name, payload);
            out.drop(start);
            out.take(route, end - start);
            out.drop(self.read - end);
        } else {
            out.drop(self.read);
            out.tool_call(name, payload);
        }
        true
    }

    /// The name, decoded if a tool of that name is declared, else as written, since the host looks
    /// for it in the dropped bytes.
    fn name(&self, tools: &Tools) -> Option<String> {
        let name = self.scanner.string()?;
        if tools.contains(&name) {
            return Some(name.into_owned());
        }
        let raw = self.scanner.raw_string().filter(|_| is_plausible(&name))?;
        Some(String::from_utf8_lossy(raw).into_owned())
    }

    /// Route of the present byte, which is at offset `read`.
    fn route(&self) -> Route {
        match &self.arguments {
            Some(ArgumentsSpan { route, start, end })
                if *start <= self.read && end.is_none_or(|end| self.read < end) =>
            {
                *route
            }
            _ => Route::Drop,
        }
    }
}
