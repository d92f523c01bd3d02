//! Parser for Llama 3.1, 3.2 and 3.3, and for Llama 4 and models in `ChatML` that write the same:
//! JSON calls, `<|python_tag|>` and `<function=NAME>{…}</function>`.
//!
//! Calls are looked for where the request declares tools and allows calling them; otherwise all of
//! this is text.
//! - `{"name": N, "parameters": {…}}` at a message's start is a call if N is declared. [`Bare`] has
//!   the whole rule, and says how long an object is held. More calls may follow, after `;`, a comma
//!   or white space. A Markdown fence may stand around them at a message's start. After
//!   `<|python_tag|>`, N need not be declared. Behind prose an object is text: it may be an example.
//! - `<|python_tag|>NAME.call(key=VALUE, …)` is a call of NAME. Other code after the tag is a call
//!   of the declared tool `python`, `ipython` or `code_interpreter` (`{"code": …}` if it is a
//!   function), and text if none of them is declared.
//! - `<function=NAME>{…}</function>` is a call wherever it stands.
//! - Text that is undecided at the turn's end is dropped as a broken call if a marker announced a
//!   call or a declared tool's name has begun.

mod before;
mod open_call;
mod opening;

use parser_sdk::json::{Bare, Name, Object, Verdict};
use parser_sdk::literals::{Literals, Opening};
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Payload, Request, Route, Tools, describe};

use before::{BLANK, Before, Next, SEPARATORS};
use open_call::OpenCall;
use opening::{after_fence, of_element};

parser_sdk::markers! {
    TAG = "<|python_tag|>",
    FUNCTION = "<function=",
    FUNCTION_END = "</function>",
    START_HEADER = "<|start_header_id|>",
    "<|end_header_id|>",
    TURN_END = "<|eot_id|>",
    MESSAGE_END = "<|eom_id|>",
    TEXT_END = "<|end_of_text|>",
    EOT = "<|eot|>",
    HEADER_START = "<|header_start|>",
    "<|header_end|>",
    IM_START = "<|im_start|>",
    IM_END = "<|im_end|>",
}
/// Markers before a role.
const HEADERS: [usize; 3] = [START_HEADER, HEADER_START, IM_START];
const STOPS: std::ops::RangeInclusive<usize> = TURN_END..=TEXT_END;
/// Markers that end a turn of Llama 4 and of `ChatML`. They are no stops, which every tokenizer would
/// have to have for a constrained call.
const ENDS: [usize; 2] = [EOT, IM_END];

/// Names of tools that take code.
const INTERPRETERS: [&str; 3] = ["python", "ipython", "code_interpreter"];

const START: State = State::Open((Name::Declared, BLANK));
/// The state of one stream.
#[derive(Debug)]
pub struct Llama3 {
    tools: Tools,
    /// Name and payload of the declared tool that takes code.
    interpreter: Option<(String, Payload)>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Where a call may begin: at a message's start, or after a call.
    Open(Next),
    /// At a message's start, in text that may open a fence.
    Fence(String),
    Prose,
    /// In a header: the role, one word.
    Role,
    /// In an object that may be a call, with the markup that is held before it.
    Bare(Bare, Before),
    /// In a call, after which another one may begin.
    Call(OpenCall, Next),
    /// After the marker with this index, which may announce a call: the text since the marker,
    /// while it is undecided.
    Head(usize, String),
}

impl Parser for Llama3 {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        // Not `llama`, since models of many other formats have that type, too.
        let models = ["mllama"];
        Ok(describe!("llama3", models, STOPS))
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
        if !STOPS.contains(&index) && self.is_text_here(out.ends_strings()) {
            return self.text(literal, out);
        }
        match &mut self.state {
            State::Call(OpenCall::Object(arguments), _) if index == FUNCTION_END => {
                if arguments.in_string() {
                    arguments.give_up(out);
                } else {
                    arguments.close(out);
                }
                out.drop_all();
                return self.state = State::Open((Name::Declared, SEPARATORS));
            }
            State::Open(..) if index == FUNCTION_END => return out.drop_all(),
            State::Head(TAG, head) if index == FUNCTION && head.trim_ascii().is_empty() => {
                out.drop(out.held() - literal.len());
            }
            _ => self.end(literal.len(), STOPS.contains(&index) || ENDS.contains(&index), true, out),
        }
        match index {
            TAG | FUNCTION if !self.tools.is_empty() => self.state = State::Head(index, String::new()),
            TAG | FUNCTION | FUNCTION_END => self.read_as_prose(false, out),
            _ => {
                out.drop_all();
                self.state = if HEADERS.contains(&index) { State::Role } else { START };
            }
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        self.end(0, true, reason == FinishReason::Stop, out);
    }
}

impl Llama3 {
    /// Reads the beginning of `text`. Returns how many bytes it read, as `bare` does.
    fn read(&mut self, text: &str, out: &mut Output) -> usize {
        match &mut self.state {
            State::Open((name, separators)) => {
                let read = text.bytes().take_while(|byte| separators.contains(byte)).count();
                out.drop(read);
                match text.as_bytes().get(read) {
                    None => {}
                    Some(b'{' | b'[') if !self.tools.is_empty() => {
                        self.state = State::Bare(Bare::of(*name), Before::behind(separators));
                    }
                    Some(b'`') if *separators == BLANK && !self.tools.is_empty() => {
                        self.state = State::Fence(String::new());
                    }
                    Some(_) => self.state = State::Prose,
                }
                return read;
            }
            State::Prose => out.until_marker(Route::Content),
            State::Role => {
                let Some(is_role) = out.drop_role(text.as_bytes()) else { return text.len() };
                self.state = if is_role { START } else { State::Prose };
                return text.len().saturating_sub(out.held());
            }
            State::Bare(..) => return self.bare(text, out),
            State::Fence(head) => {
                head.push_str(text);
                let head = std::mem::take(head);
                self.fence(head, out);
            }
            State::Head(marker, head) => {
                head.push_str(text);
                let (marker, head) = (*marker, std::mem::take(head));
                self.announced(marker, head, out);
            }
            State::Call(call, next) => {
                let Some(read) = call.read(text, &self.tools, out) else { return text.len() };
                let behind = call.take_behind();
                self.state = State::Open(*next);
                out.hiding(text.len() - read, |out| self.text(&behind, out));
                return read;
            }
        }
        text.len()
    }

    /// Reads the held bytes, which are no call, as prose or code.
    fn read_as_prose(&mut self, is_code: bool, out: &mut Output) {
        self.state = State::Prose;
        if is_code {
            self.code(out);
        }
        self.read("", out);
    }

    /// Reads an object that may be a call, and opens the call once it is certain.
    fn bare(&mut self, text: &str, out: &mut Output) -> usize {
        let State::Bare(bare, before) = &mut self.state else { return 0 };
        let (verdict, read) = bare.read(text.as_bytes(), &self.tools);
        match verdict {
            Verdict::Undecided if before.bytes() > 0 => out.hold_head(b",:}"),
            Verdict::Undecided => {}
            Verdict::Call => {
                let call = OpenCall::Named(bare.call(before.bytes(), &self.tools, out));
                self.state = State::Call(call, before.next(bare));
                return read;
            }
            Verdict::Content => {
                let is_code = matches!(before, Before::Tag(_));
                self.read_as_prose(is_code, out);
            }
        }
        text.len()
    }

    /// Decides whether a fence opens here, and an object or a list in it.
    fn fence(&mut self, head: String, out: &mut Output) {
        match after_fence(&head) {
            Opening::Unclear => self.state = State::Fence(head),
            Opening::Call(_, read) => {
                let before = Before::Fence(out.held() - (head.len() - read));
                self.state = State::Bare(Bare::of(Name::Declared), before);
                self.text(&head[read..], out);
            }
            Opening::Other => self.read_as_prose(false, out),
        }
    }

    /// Decides what stands after a marker: after `<|python_tag|>` an object, `NAME.call(` with a
    /// keyword, or code; after `<function=` a name and an object.
    fn announced(&mut self, marker: usize, head: String, out: &mut Output) {
        let code = head.trim_ascii_start();
        let (opening, text) = match marker {
            TAG if code.starts_with(['{', '[']) => {
                self.state = State::Bare(Bare::of(Name::Any), Before::Tag(out.held() - code.len()));
                return self.text(code, out);
            }
            TAG => (Opening::of_keywords(code, ".call"), code),
            _ => (of_element(&head), head.as_str()),
        };
        match opening {
            Opening::Unclear => self.state = State::Head(marker, head),
            Opening::Call(name, read) if marker == FUNCTION => {
                let payload = self.tools.payload(name);
                let call = State::Call(OpenCall::Object(Object::new(payload)), (Name::Declared, SEPARATORS));
                self.open(name, payload, call, &text[read..], out);
            }
            Opening::Call(name, read) if self.interpreter.is_none() || self.tools.contains(name) => {
                let arguments = Literals::new(b')', Payload::Json);
                let call = State::Call(OpenCall::Keywords(arguments), (Name::Any, SEPARATORS));
                self.open(name, Payload::Json, call, &text[read..], out);
            }
            _ => self.read_as_prose(marker == TAG, out),
        }
    }

    /// Opens a call, and reads `rest`. The held bytes are the call's head and `rest`.
    fn open(&mut self, name: &str, payload: Payload, call: State, rest: &str, out: &mut Output) {
        out.drop(out.held() - rest.len());
        out.tool_call(name, payload);
        self.state = call;
        self.text(rest, out);
    }

    /// Opens a call of the interpreter, if one is declared. The held bytes are the tag and code.
    fn code(&mut self, out: &mut Output) {
        if let Some((name, payload)) = &self.interpreter {
            out.drop(MARKERS[TAG].len());
            out.tool_call(name, *payload);
            self.state = State::Call(OpenCall::of_text("code", *payload, out), (Name::Any, SEPARATORS));
        }
    }

    /// Whether every marker but the turn's end is text: in code, and in strings unless it
    /// `ends_strings`.
    fn is_text_here(&self, ends_strings: bool) -> bool {
        match &self.state {
            State::Call(OpenCall::Text(_), _) => true,
            State::Bare(bare, _) => bare.in_string() && !ends_strings,
            State::Call(call, _) => call.in_string() && !ends_strings,
            _ => false,
        }
    }

    /// Ends an open call or undecided text before the last `bytes` held bytes. A call is complete
    /// only if neither the token limit nor a cancellation cut it off (`by_itself`).
    fn end(&mut self, bytes: usize, turn_ends: bool, by_itself: bool, out: &mut Output) {
        match &self.state {
            State::Head(TAG, head) if !head.trim_ascii().is_empty() => self.code(out),
            State::Bare(bare, before) if bare.is_named() => {
                let call = OpenCall::Named(bare.call(before.bytes(), &self.tools, out));
                self.state = State::Call(call, before.next(bare));
            }
            State::Bare(_, Before::Tag(_)) => self.code(out),
            State::Role => out.drop(out.held() - bytes),
            _ => {}
        }
        match &mut self.state {
            State::Call(call, _) => call.end(by_itself, bytes, out),
            State::Head(..) | State::Bare(_, Before::Tag(_)) if turn_ends => out.broken_call(bytes),
            State::Bare(bare, _) if turn_ends && bare.begins_name() => out.broken_call(bytes),
            _ => out.content(out.held() - bytes),
        }
        self.state = State::Prose;
    }
}

parser_sdk::export_parser!(Llama3);
