//! Parser for Apertus: `<|inner_prefix|>…<|inner_suffix|>` reasoning, and calls in a JSON list
//! whose objects have the tool's name as their only key,
//! `<|tools_prefix|>[{"get_weather": {"city": "Oslo"}}]<|tools_suffix|>`.
//!
//! A marker of calls that no call follows is text. If the turn ends before the call is open, the
//! held bytes are dropped as a broken call. Inside a JSON string every marker is text but
//! `<|assistant_end|>` and those that came as tokens: these break the call off.

use parser_sdk::json::Object;
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Prose, Request, Tools, describe};

parser_sdk::markers! {
    INNER = "<|inner_prefix|>",
    INNER_END = "<|inner_suffix|>",
    CALLS = "<|tools_prefix|>",
    CALLS_END = "<|tools_suffix|>",
    TURN = "<|assistant_start|>",
    TURN_END = "<|assistant_end|>",
}

/// Length in bytes from which an undecided head is no call.
const HEAD: usize = 200;
/// What stands between calls.
const BETWEEN: &[u8] = b" \n\r\t,;}]";

/// The state of one stream.
#[derive(Debug)]
pub struct Apertus {
    tools: Tools,
    prose: Prose,
    state: State,
}

#[derive(Debug)]
enum State {
    Prose,
    /// After a marker of calls that went out as text: so does the marker of their end.
    Mentioned,
    /// Before a call's arguments, in text that is held.
    Head(String),
    Arguments(Object),
    /// After a call.
    Between,
}

/// What a text begins with.
enum Head<'a> {
    Unclear,
    /// No call.
    Other,
    /// A call: its name, and the offset of its arguments.
    Call(&'a str, usize),
}

impl Parser for Apertus {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        let models = ["apertus"];
        Ok(Descriptor {
            reasoning_end: Some("<|inner_suffix|>".into()),
            ..describe!("apertus", models, [TURN_END])
        })
    }

    fn start(request: &Request) -> Result<Self, String> {
        Ok(Self { tools: Tools::callable(request), prose: Prose::default(), state: State::Prose })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        let mut text = chunk;
        while !text.is_empty() {
            text = &text[self.read(text, out)..];
        }
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        let literal = MARKERS[index];
        if matches!(&self.state, State::Arguments(arguments) if arguments.in_string()) && !out.ends_strings()
        {
            return self.text(literal, out);
        }
        let was_mentioned = matches!(self.state, State::Mentioned);
        self.end(index, true, literal.len(), out);
        match index {
            INNER => self.prose.reasoning(out),
            INNER_END | TURN | TURN_END => self.prose.content(out),
            CALLS if !self.tools.is_empty() => {
                self.state = State::Head(String::new());
                out.hold_head(b"{");
            }
            CALLS_END if !self.tools.is_empty() && !was_mentioned => self.prose.drop_markup(out),
            _ => self.prose.flow(out),
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        self.end(TURN_END, reason == FinishReason::Stop, 0, out);
    }
}

impl Apertus {
    /// Reads the beginning of `text`; returns how many bytes it read.
    fn read(&mut self, text: &str, out: &mut Output) -> usize {
        match &mut self.state {
            State::Prose | State::Mentioned => self.prose.flow(out),
            State::Head(head) => {
                head.push_str(text);
                let head = std::mem::take(head);
                self.head(head, out);
            }
            State::Arguments(arguments) => {
                let end = arguments.read(text.as_bytes(), out);
                if end.is_some() {
                    self.state = State::Between;
                }
                return end.unwrap_or(text.len());
            }
            State::Between => {
                let read = text.bytes().take_while(|byte| BETWEEN.contains(byte)).count();
                out.drop(read);
                match text.as_bytes().get(read) {
                    None => {}
                    Some(b'{') => self.state = State::Head(String::new()),
                    Some(_) => self.state = State::Prose,
                }
                return read;
            }
        }
        text.len()
    }

    /// Decides what the text before a call begins.
    fn head(&mut self, head: String, out: &mut Output) {
        match Head::of(&head, &self.tools) {
            Head::Unclear => {
                self.state = State::Head(head);
                out.hold_head(b"{");
            }
            Head::Call(name, at) => {
                let payload = self.tools.payload(name);
                out.drop(out.held() - (head.len() - at));
                out.tool_call(name, payload);
                self.state = State::Arguments(Object::new(payload));
                self.text(&head[at..], out);
            }
            Head::Other => {
                self.state = State::Mentioned;
                self.prose.flow(out);
            }
        }
    }

    /// Ends what is open before the marker `index` of `bytes` bytes, or with the turn. A call may
    /// be complete only if neither the token limit nor a cancellation cut it off (`by_itself`).
    fn end(&mut self, index: usize, by_itself: bool, bytes: usize, out: &mut Output) {
        match &mut self.state {
            State::Head(_) if index == TURN_END => out.broken_call(bytes),
            State::Head(head)
                if index == CALLS_END && head.bytes().all(|byte| BETWEEN.contains(&byte) || byte == b'[') =>
            {
                out.drop(out.held() - bytes);
            }
            State::Head(_) => self.prose.release(bytes, out),
            State::Arguments(arguments) => {
                if !arguments.end(by_itself, out) && bytes > 0 {
                    out.message("");
                }
            }
            State::Prose | State::Mentioned | State::Between => {}
        }
        self.state = State::Prose;
    }
}

impl<'a> Head<'a> {
    /// Looks for an object with the tool's name as its key and an object as its value.
    fn of(text: &'a str, tools: &Tools) -> Self {
        let known = &text[..text.floor_char_boundary(HEAD)];
        let undecided = if text.len() < HEAD { Self::Unclear } else { Self::Other };
        let rest = known.trim_start_matches([' ', '\n', '\r', '\t', '[', ']']);
        let Some(key) = rest.strip_prefix('{').map(str::trim_start) else {
            return if rest.is_empty() { undecided } else { Self::Other };
        };
        let Some(name) = key.strip_prefix('"') else {
            return if key.is_empty() { undecided } else { Self::Other };
        };
        let Some((name, value)) = name.split_once('"') else {
            return if tools.may_begin(name) { undecided } else { Self::Other };
        };
        let value = value.trim_start();
        let Some(arguments) = value.strip_prefix(':').map(str::trim_start) else {
            return if value.is_empty() { undecided } else { Self::Other };
        };
        match arguments.as_bytes().first() {
            None if tools.accepts(name) => undecided,
            Some(b'{') if tools.accepts(name) => Self::Call(name, known.len() - arguments.len()),
            _ => Self::Other,
        }
    }
}

parser_sdk::export_parser!(Apertus);
