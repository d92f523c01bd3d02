//! A call spelt as one JSON object, `{"name": N, "arguments": {…}}`, as Hermes, Qwen3, Llama and others have it:
//! [`Call`] opens the call when its name is known, then routes each byte at once.
//!
//! Invariant: nothing is routed before the name is known, so until then a byte's place in the call is its place among those held.
//! Keys come in any order; the first `name` that is a string and the first `arguments` or `parameters` count.
//! Arguments are verbatim whatever they are, but two: a string is decoded (its inside is the JSON), and `null` is `{}`.

use super::{Event, Scanner};
use crate::{Output, Payload, Route};

/// What the bytes read so far amount to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More is to come.
    Unfinished,
    /// The object ended after so many bytes, and the call is closed.
    Closed(usize),
    /// No object, or one without a name: nothing was routed, and the bytes are the parser's to route.
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
    opened: bool,
    arguments: Option<Arguments>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Key {
    Name,
    Arguments,
    #[default]
    Other,
}

/// Where the arguments stand in the call, quotes excluded, and how they are routed.
#[derive(Debug)]
struct Arguments {
    route: Route,
    start: usize,
    end: Option<usize>,
}

impl Call {
    /// A call before whose JSON the `held` bytes of markup stand that are held already, and nothing else.
    pub fn after(held: usize) -> Self {
        Self { read: held, ..Self::default() }
    }

    /// Whether the call is open to the client; there is no way back then.
    pub fn is_opened(&self) -> bool {
        self.opened
    }

    /// Whether the arguments have been written to their end.
    pub fn has_arguments(&self) -> bool {
        self.arguments.as_ref().is_some_and(|arguments| arguments.end.is_some())
    }

    /// Whether it has begun as an object.
    pub fn is_object(&self) -> bool {
        self.object
    }

    /// Whether the next byte is inside a string of the JSON.
    pub fn in_string(&self) -> bool {
        self.scanner.in_string()
    }

    /// Reads on; `declared` are the names of the request's tools.
    pub fn read(&mut self, text: &[u8], declared: &[String], out: &mut Output) -> Progress {
        let mut index = 0;
        while let Some(&byte) = text.get(index) {
            let skipped = self.scanner.skip(&text[index..]);
            if skipped == 0 {
                match self.scanner.push(byte) {
                    Event::Nothing => {}
                    Event::Object => self.object = true,
                    Event::Key => self.key = self.key(),
                    Event::ValueStart => self.begin_value(byte),
                    Event::ValueEnd => self.end_value(byte, declared, out),
                    Event::ValueEndBefore => self.end_arguments(self.read),
                    Event::End if self.opened => {
                        self.end_arguments(self.read);
                        out.drop(1);
                        self.close(out);
                        return Progress::Closed(index + 1);
                    }
                    Event::NotAnObject | Event::End => return Progress::NotACall,
                }
            }
            let bytes = skipped.max(1);
            if self.opened {
                out.take(self.route(), bytes);
            }
            self.read += bytes;
            index += bytes;
        }
        Progress::Unfinished
    }

    /// Completes the call, with `{}` where the model wrote no arguments.
    pub fn close(&self, out: &mut Output) {
        let written = self.arguments.as_ref().is_some_and(|arguments| {
            arguments.route != Route::Drop && arguments.end.unwrap_or(self.read) > arguments.start
        });
        if !written {
            out.derive("{}");
        }
        out.close();
    }

    fn key(&self) -> Key {
        match self.scanner.string().as_deref() {
            Some("name") => Key::Name,
            Some("arguments" | "parameters") if self.arguments.is_none() => Key::Arguments,
            _ => Key::Other,
        }
    }

    fn begin_value(&mut self, byte: u8) {
        if self.key == Key::Arguments {
            let (route, start) = match byte {
                b'"' => (Route::ArgumentsUnescaped, self.read + 1),
                b'n' => (Route::Drop, self.read),
                _ => (Route::Arguments, self.read),
            };
            self.arguments = Some(Arguments { route, start, end: None });
        }
    }

    /// A string or a container ends with `byte`.
    fn end_value(&mut self, byte: u8, declared: &[String], out: &mut Output) {
        match self.key {
            Key::Name if !self.opened => self.open(declared, out),
            Key::Arguments => self.end_arguments(self.read + usize::from(byte != b'"')),
            _ => {}
        }
    }

    fn end_arguments(&mut self, at: usize) {
        if let Some(arguments) = &mut self.arguments {
            arguments.end.get_or_insert(at);
        }
    }

    /// Opens the call if its name is one, and routes what was read before the present byte.
    fn open(&mut self, declared: &[String], out: &mut Output) {
        let Some(name) = self.name(declared) else { return };
        self.opened = true;
        if let Some(Arguments { route, start, end: Some(end) }) = &self.arguments {
            out.tool_call(name, Payload::Json);
            out.drop(*start);
            out.take(*route, end - start);
            out.drop(self.read - end);
        } else {
            out.drop(self.read);
            out.tool_call(name, Payload::Json);
        }
    }

    /// The name as declared, or else as written: the host looks for it in the dropped bytes.
    fn name(&self, declared: &[String]) -> Option<String> {
        let name = self.scanner.string().filter(|name| !name.is_empty())?;
        if declared.contains(&name) {
            return Some(name);
        }
        self.scanner.raw_string().map(|raw| String::from_utf8_lossy(raw).into_owned())
    }

    /// Where the present byte goes.
    fn route(&self) -> Route {
        match &self.arguments {
            Some(Arguments { route, start, end })
                if *start <= self.read && end.is_none_or(|end| self.read < end) =>
            {
                *route
            }
            _ => Route::Drop,
        }
    }
}
