//! Parser for Llama 3.1, 3.2 and 3.3: JSON calls, `<|python_tag|>` and `<function=NAME>{…}</function>`.
//!
//! Calls are looked for where the request declares tools and allows calling them; otherwise all of this is text.
//! - `{"name": N, "parameters": {…}}` at a message's start is a call if N is declared ([`Bare`] says how long an object is held for that);
//!   more of them may follow, after `;`, a comma or white space. Behind `<|python_tag|>` any name will do.
//! - `<|python_tag|>NAME.call(key=VALUE, …)` is a call of NAME. Other code there is a call of the declared tool `python`, `ipython` or
//!   `code_interpreter` (`{"code": …}` if it is a function), and text if there is none.
//! - `<function=NAME>{…}</function>` is a call wherever it stands.

mod grammar;

use parser_sdk::json::{Bare, Body, Call, Name, Progress, Scanner, Verdict};
use parser_sdk::python::{Keywords, Opening};
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Payload, Request, Route, Tools, Trim};

const MARKERS: [&str; 8] = [
    "<|python_tag|>",
    "<function=",
    "</function>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
];
const TAG: usize = 0;
const FUNCTION: usize = 1;
const FUNCTION_END: usize = 2;
const HEADER: usize = 3;
const STOPS: std::ops::RangeInclusive<usize> = 5..=7;

/// Names of tools that take code.
const INTERPRETERS: [&str; 3] = ["python", "ipython", "code_interpreter"];

/// Longest head of a call that is waited for; what stands behind it decides nothing, however it was cut.
const HEAD: usize = 160;

const START: State = State::Open(Name::Declared, b" \n\r\t");
/// What separates calls, and brackets too many.
const SEPARATORS: &[u8] = b" \n\r\t;,}])";

/// The state of one stream.
#[derive(Debug)]
pub struct Llama3 {
    tools: Tools,
    /// The tool that takes code.
    interpreter: Option<(String, Payload)>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Where a call may begin, with such a name: at a message's start, or after a call. These bytes may stand before it.
    Open(Name, &'static [u8]),
    Prose,
    /// In a header: the role.
    Role,
    /// In an object that may be a call; before it so much markup is held.
    Bare(Bare, usize),
    Call(Call, Name),
    /// After `<|python_tag|>`: what follows it, until it is clear what it is.
    Tag(String),
    Keywords(Keywords),
    /// In code, which goes this way.
    Code(Route),
    /// After `<function=`: the same.
    Function(String),
    Arguments(Body, Scanner),
}

impl Parser for Llama3 {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        Ok(Descriptor {
            name: "llama3".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            // Not `llama`, which models of many other formats are too.
            models: vec!["mllama".into()],
            markers: MARKERS.map(String::from).into(),
            stops: vec![5, 6, 7],
            trim: Trim { reasoning: true, content: true },
            history_call_ids: None,
        })
    }

    fn start(request: &Request) -> Result<Self, String> {
        let tools = Tools::callable(request);
        let known = INTERPRETERS.into_iter().find(|name| tools.contains(name));
        let interpreter = known.map(|name| (name.to_owned(), tools.payload(name)));
        Ok(Self { tools, interpreter, state: START })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        let mut text = chunk;
        while !text.is_empty() {
            text = &text[self.read(text, out)..];
        }
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        let literal = MARKERS[index];
        if !STOPS.contains(&index) && self.is_text_here() {
            return self.text(literal, out);
        }
        match &mut self.state {
            State::Arguments(body, _) if index == FUNCTION_END => {
                body.close(out);
                out.drop_all();
                return self.state = State::Open(Name::Declared, SEPARATORS);
            }
            State::Open(..) if index == FUNCTION_END => return out.drop_all(),
            State::Tag(head) if index == FUNCTION && head.trim_ascii().is_empty() => {
                out.drop(out.held() - literal.len());
            }
            _ => self.end(literal.len(), true, out),
        }
        match index {
            TAG if !self.tools.is_empty() => self.state = State::Tag(String::new()),
            FUNCTION if !self.tools.is_empty() => self.state = State::Function(String::new()),
            TAG | FUNCTION | FUNCTION_END => self.prose(out),
            _ => {
                out.drop_all();
                self.state = if index == HEADER { State::Role } else { START };
            }
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        self.end(0, reason == FinishReason::Stop, out);
    }

    fn constrain(request: &Request) -> Result<Option<String>, String> {
        grammar::of(request)
    }
}

impl Llama3 {
    /// Reads the text's beginning; returns how many bytes of it, as do the others that take text.
    fn read(&mut self, text: &str, out: &mut Output) -> usize {
        match &mut self.state {
            State::Open(name, separators) => {
                let read = text.bytes().take_while(|byte| separators.contains(byte)).count();
                out.drop(read);
                match text.as_bytes().get(read) {
                    None => {}
                    Some(b'{' | b'[') if !self.tools.is_empty() => {
                        self.state = State::Bare(Bare::of(*name), 0);
                    }
                    Some(_) => self.state = State::Prose,
                }
                return read;
            }
            State::Prose => self.prose(out),
            State::Role => {
                let read = text.find('\n').unwrap_or(text.len());
                out.drop(read);
                self.state = if read < text.len() { START } else { State::Role };
                return read;
            }
            State::Bare(..) => return self.bare(text, out),
            State::Tag(head) => {
                head.push_str(text);
                self.tagged(out);
            }
            State::Code(route) => out.until_marker(*route),
            State::Function(head) => {
                head.push_str(text);
                self.function(out);
            }
            State::Call(..) | State::Keywords(_) | State::Arguments(..) => return self.call(text, out),
        }
        text.len()
    }

    /// Reads on in an open call.
    fn call(&mut self, text: &str, out: &mut Output) -> usize {
        let (end, name) = match &mut self.state {
            State::Call(call, name) => match call.read(text.as_bytes(), &self.tools, out) {
                Progress::Closed(read) => (Some(read), *name),
                Progress::Unfinished | Progress::NotACall => (None, *name),
            },
            State::Keywords(keywords) => (keywords.read(text, out), Name::Any),
            State::Arguments(body, scanner) => {
                let end = scanner.read(text.as_bytes());
                body.read(&text.as_bytes()[..end.unwrap_or(text.len())], out);
                if end.is_some() {
                    body.close(out);
                }
                (end, Name::Declared)
            }
            _ => (None, Name::Declared),
        };
        if end.is_some() {
            self.state = State::Open(name, SEPARATORS);
        }
        end.unwrap_or(text.len())
    }

    fn prose(&mut self, out: &mut Output) {
        self.state = State::Prose;
        out.until_marker(Route::Content);
    }

    /// Looks at an object that may be a call, and reads it as one when it is.
    fn bare(&mut self, text: &str, out: &mut Output) -> usize {
        let State::Bare(bare, before) = &mut self.state else { return 0 };
        let (verdict, read) = bare.read(text.as_bytes(), &self.tools);
        match verdict {
            Verdict::Undecided => {}
            Verdict::Call => {
                self.state = State::Call(bare.call(*before, &self.tools, out), bare.name());
                return read;
            }
            Verdict::Content if *before > 0 => self.code(0, out),
            Verdict::Content => self.prose(out),
        }
        text.len()
    }

    /// Decides what follows `<|python_tag|>`: an object, `NAME.call(` with a keyword, or code.
    fn tagged(&mut self, out: &mut Output) {
        let State::Tag(head) = &self.state else { return };
        let body = head.trim_ascii_start().to_owned();
        if body.starts_with(['{', '[']) {
            self.state = State::Bare(Bare::of(Name::Any), out.held() - body.len());
            return self.text(&body, out);
        }
        match Opening::of(&body[..body.floor_char_boundary(HEAD)], ".call") {
            Opening::Unclear if body.len() < HEAD => {}
            Opening::Call(name, read) if self.interpreter.is_none() || self.tools.contains(name) => {
                out.drop(out.held() - (body.len() - read));
                out.tool_call(name, Payload::Json);
                self.state = State::Keywords(Keywords::default());
                self.text(&body[read..], out);
            }
            _ => self.code(0, out),
        }
    }

    /// What is held is the tag and code, but for the last `bytes`: a call of the interpreter, or text if there is none.
    fn code(&mut self, bytes: usize, out: &mut Output) {
        let mut route = Route::Content;
        self.state = State::Prose;
        if let Some((name, payload)) = &self.interpreter {
            out.drop(MARKERS[TAG].len());
            out.tool_call(name, *payload);
            route = Route::Arguments;
            if *payload == Payload::Json {
                out.derive("{\"code\": \"");
                route = Route::ArgumentsEscaped;
            }
            self.state = State::Code(route);
        }
        out.take(route, out.held() - bytes);
    }

    /// Decides whether a name and an object follow `<function=`.
    fn function(&mut self, out: &mut Output) {
        let State::Function(head) = &self.state else { return };
        let known = &head[..head.floor_char_boundary(HEAD)];
        let (name, body) = known.split_once('>').unwrap_or((known, ""));
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        let has_name = !name.is_empty() && name.bytes().all(is_name);
        let body = body.trim_ascii_start();
        if has_name && body.starts_with('{') {
            let body = head[known.len() - body.len()..].to_owned();
            let payload = self.tools.payload(name);
            out.drop(out.held() - body.len());
            out.tool_call(name, payload);
            self.state = State::Arguments(Body::new(payload), Scanner::default());
            self.text(&body, out);
        } else if !has_name || !body.is_empty() || head.len() > HEAD {
            self.prose(out);
        }
    }

    /// Whether every marker but the turn's end is text: in strings and in code.
    fn is_text_here(&self) -> bool {
        match &self.state {
            State::Bare(bare, _) => bare.in_string(),
            State::Call(call, _) => call.in_string(),
            State::Keywords(keywords) => keywords.in_string(),
            State::Arguments(_, scanner) => scanner.in_string(),
            State::Code(_) => true,
            _ => false,
        }
    }

    /// What is open or undecided ends before the last `bytes` held; it may be whole only if the model came this far by itself.
    fn end(&mut self, bytes: usize, by_itself: bool, out: &mut Output) {
        match &mut self.state {
            State::Tag(head) if !head.trim_ascii().is_empty() => self.code(bytes, out),
            State::Bare(_, 1..) => self.code(bytes, out),
            State::Keywords(_) => out.drop(out.held() - bytes),
            State::Arguments(body, _) => body.release(out),
            State::Call(call, _) if call.has_arguments() && by_itself => call.close(out),
            State::Call(call, _) => call.release(out),
            _ => out.content(out.held() - bytes),
        }
        if let (State::Code(route), true) = (&self.state, by_itself) {
            out.derive(if *route == Route::ArgumentsEscaped { "\"}" } else { "" });
            out.close();
        }
        self.state = State::Prose;
    }
}

parser_sdk::export_parser!(Llama3);
