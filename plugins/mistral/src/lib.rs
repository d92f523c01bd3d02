//! Parser for Mistral's models: `[THINK]…[/THINK]` reasoning, and calls that begin with the marker
//! `[TOOL_CALLS]` and have no end marker.
//!
//! What a call looks like depends on the version of the model's tokenizer (`mistral-common`, and
//! the models' chat templates):
//! - from 13 on (Magistral 1.1, Devstral 2, Ministral 3) it is `[TOOL_CALLS]NAME[ARGS]{…}`, once
//!   per call;
//! - in 11 (Mistral Small 3.2, Devstral 1) an id may stand before the arguments:
//!   `[TOOL_CALLS]NAME[CALL_ID]ID[ARGS]{…}`;
//! - up to 7 (Mistral 7B v0.3, Mixtral, Nemo, Small 3.1) one marker announces all calls, a JSON
//!   list: `[TOOL_CALLS] [{"name": …, "arguments": {…}}]`.
//!
//! The text after the marker tells them apart. Engines that leave `[ARGS]` out of their text give
//! `NAME{…}`, which is a call too. The arguments end with their JSON object; text after it is
//! content or reasoning, as it was before the call. Inside a JSON string every marker is text but
//! `</s>` and those that came as tokens: these break the call off. The model's call ids are
//! dropped: clients see the host's.
//!
//! A `[TOOL_CALLS]` without a declared name, a plausible name or a list after it goes out as prose.
//! If the turn ends before the call is open, the held bytes are dropped as a broken call. If the
//! request declares no tools, the marker is text. Magistral 1.0 reasons between `<think>` and
//! `</think>`, which are plain text to its tokenizer; this parser doesn't read them.

use parser_sdk::json::{JsonCalls, Object};
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Prose, Request, Tools, describe};

parser_sdk::markers! {
    THINK = "[THINK]",
    THINK_END = "[/THINK]",
    CALL = "[TOOL_CALLS]",
    CALL_ID = "[CALL_ID]",
    ARGUMENTS = "[ARGS]",
    TURN_END = "</s>",
}

/// Longest header of a call, its id and white space included, in bytes.
const HEADER: usize = 256;

/// The state of one stream.
#[derive(Debug)]
pub struct Mistral {
    tools: Tools,
    prose: Prose,
    state: State,
}

#[derive(Debug)]
enum State {
    Prose,
    /// After `[TOOL_CALLS]`, in a header whose bytes are all held.
    Header(Header),
    /// In the arguments of a call outside a list.
    Arguments(Object),
    /// In a list of calls.
    List(JsonCalls),
}

/// Text after `[TOOL_CALLS]`, without the markers in it.
#[derive(Debug, Default)]
struct Header {
    text: String,
    /// Offset in `text` at which the call's id begins.
    id: Option<usize>,
}

/// What a header begins.
enum Head<'a> {
    Unclear,
    /// A call: its name, and the offset in the text at which the arguments begin.
    Call(&'a str, usize),
    List,
    /// No call.
    Other,
}

impl Parser for Mistral {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        let models = ["mistral", "mistral3", "ministral", "ministral3", "mixtral"];
        Ok(Descriptor { reasoning_end: Some("[/THINK]".into()), ..describe!("mistral", models, [TURN_END]) })
    }

    fn start(request: &Request) -> Result<Self, String> {
        Ok(Self { tools: Tools::callable(request), prose: Prose::default(), state: State::Prose })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        let mut rest = chunk;
        while !rest.is_empty() {
            rest = &rest[self.read(rest, out)..];
        }
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        let literal = MARKERS[index];
        match (&mut self.state, index) {
            (State::Header(header), CALL_ID)
                if header.id.is_none() && self.tools.accepts(header.text.trim()) =>
            {
                header.id = Some(header.text.len());
                return;
            }
            (State::Header(header), ARGUMENTS) if self.tools.accepts(header.name()) => {
                let name = header.name().to_owned();
                return self.open(&name, 0, out);
            }
            (_, TURN_END) => {}
            (State::Arguments(arguments), _) if out.ends_strings() && arguments.is_open() => {}
            (State::Arguments(arguments), _) if arguments.in_string() || index != CALL => {
                return self.text(literal, out);
            }
            (State::List(calls), _) if calls.in_string() && !out.ends_strings() => {
                return self.text(literal, out);
            }
            _ => {}
        }
        self.end(literal.len(), true, index == TURN_END, out);
        match index {
            THINK => self.prose.reasoning(out),
            THINK_END | TURN_END => self.prose.content(out),
            CALL if !self.tools.is_empty() => self.state = State::Header(Header::default()),
            _ => self.prose.flow(out),
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        self.end(0, reason == FinishReason::Stop, true, out);
    }
}

impl Mistral {
    /// Reads the beginning of `text`; returns how many bytes it read.
    fn read(&mut self, text: &str, out: &mut Output) -> usize {
        match &mut self.state {
            State::Prose => self.prose.flow(out),
            State::Header(header) => {
                header.text.push_str(text);
                return self.read_header(text, out);
            }
            State::Arguments(arguments) => {
                let end = arguments.read(text.as_bytes(), out);
                if end.is_some() {
                    self.state = State::Prose;
                }
                return end.unwrap_or(text.len());
            }
            State::List(calls) => {
                if !calls.read(text.as_bytes(), &self.tools, out) {
                    self.release_as_prose(out);
                }
            }
        }
        text.len()
    }

    /// Decides what the header begins, after `text` was added to it; returns how many bytes of
    /// `text` it read.
    fn read_header(&mut self, text: &str, out: &mut Output) -> usize {
        let State::Header(header) = &mut self.state else { return 0 };
        match header.head(&self.tools) {
            Head::Unclear => text.len(),
            Head::Call(name, at) => {
                let (name, arguments) = (name.to_owned(), header.text.len() - at);
                self.open(&name, arguments, out);
                text.len() - arguments
            }
            Head::List => {
                let list = std::mem::take(&mut header.text);
                self.state = State::List(JsonCalls::objects(out.held() - list.len(), "name", "arguments"));
                self.read(&list, out);
                text.len()
            }
            Head::Other => {
                self.release_as_prose(out);
                text.len()
            }
        }
    }

    /// Opens a call, whose arguments are the `keep` youngest held bytes.
    fn open(&mut self, name: &str, keep: usize, out: &mut Output) {
        let payload = self.tools.payload(name);
        out.drop(out.held() - keep);
        out.tool_call(name, payload);
        self.state = State::Arguments(Object::new(payload));
    }

    /// Ends what is open before a marker of `keep` bytes, or with the turn if `is_last`. A call may
    /// be complete only if neither the token limit nor a cancellation cut it off (`by_itself`).
    fn end(&mut self, keep: usize, by_itself: bool, is_last: bool, out: &mut Output) {
        match &mut self.state {
            State::Header(_) if is_last => out.broken_call(keep),
            State::Header(header) if header.text.trim().is_empty() => out.drop(out.held() - keep),
            State::Prose | State::Header(_) => self.prose.release(keep, out),
            State::Arguments(arguments) => _ = arguments.end(by_itself, out),
            State::List(calls) => calls.end(false, by_itself, keep, out),
        }
        if keep > 0 && matches!(self.state, State::Arguments(_) | State::List(_)) {
            // The item of the call ends here, complete or not, so that a later `close` doesn't
            // complete it.
            out.message("");
        }
        self.state = State::Prose;
    }

    /// Routes the held bytes as prose, since they begin no call.
    fn release_as_prose(&mut self, out: &mut Output) {
        self.state = State::Prose;
        self.prose.flow(out);
    }
}

impl Header {
    fn name(&self) -> &str {
        self.text[..self.id.unwrap_or(self.text.len())].trim()
    }

    /// What the header begins. Only the first [`HEADER`] bytes of the text decide, however the
    /// stream is cut into chunks.
    fn head(&self, tools: &Tools) -> Head<'_> {
        let known = &self.text[..self.text.floor_char_boundary(HEADER)];
        let text = known.trim_start();
        let (name, rest) = match self.id {
            None if text.starts_with(['[', '{']) => return Head::List,
            None => text
                .split_at(text.find(|char: char| char.is_whitespace() || char == '{').unwrap_or(text.len())),
            Some(at) => (self.name(), after_id(known.get(at..).unwrap_or_default())),
        };
        let rest = rest.trim_start();
        if !tools.may_begin(name) || (rest.is_empty() && self.text.len() > HEADER) {
            return Head::Other;
        }
        match rest.as_bytes().first() {
            None => Head::Unclear,
            Some(b'{') if tools.accepts(name) => Head::Call(name, known.len() - rest.len()),
            Some(_) => Head::Other,
        }
    }
}

/// The text after the id with which `text` begins.
fn after_id(text: &str) -> &str {
    text.trim_start().trim_start_matches(|char: char| char.is_ascii_alphanumeric() || "_-".contains(char))
}

parser_sdk::export_parser!(Mistral);
