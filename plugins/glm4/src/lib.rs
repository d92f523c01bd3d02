//! Parser for GLM-4 and GLM-4-0414: a call is a message of its own, whose first line is the tool's
//! name, with the arguments behind it, `<|assistant|>get_weather\n{"city": "Oslo"}`.
//!
//! A call is looked for where a message begins, behind reasoning (GLM-Z1 writes `<think>`) and behind
//! another call, and only where the request declares tools. Nothing marks it, so the first line has
//! to be a declared tool's name, alone, and the next text an object. The model also writes an object
//! with name and arguments, bare or in a fence: [`Bare`] says when that is a call. Behind prose both
//! are text: they may be an example. `<|observation|>` follows calls only, so a name alone before it
//! is a call without arguments.
//!
//! Inside a JSON string every marker is text but those that end the turn or came as tokens: these break
//! the call off.

mod head;

use head::Head;
use parser_sdk::json::{Bare, Call, Name, Object, Progress, Verdict};
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Prose, Request, Tools, describe};

parser_sdk::markers! {
    THINK = "<think>",
    THINK_END = "</think>",
    "<|assistant|>",
    OBSERVATION = "<|observation|>",
    USER = "<|user|>",
    "<|system|>",
    END = "<|endoftext|>",
    // With these the prompt begins. They tell templates of the format from others that show reasoning.
    "[gMASK]",
    "<sop>",
}
/// Markers that end the turn.
const STOPS: [usize; 3] = [OBSERVATION, USER, END];

/// What is dropped behind a name and its arguments.
const BLANK: &[u8] = b" \n\r\t";
/// What is dropped behind an object that is a call: separators, and the rest of a list and a fence
/// around it.
const SEPARATORS: &[u8] = b" \n\r\t,;]}`";

/// The state of one stream.
#[derive(Debug)]
pub struct Glm4 {
    tools: Tools,
    prose: Prose,
    state: State,
}

#[derive(Debug)]
enum State {
    Prose,
    /// Where a call may begin, in text that is held.
    Head(String),
    /// In an object that may be a call, before which this many bytes are held.
    Bare(Bare, usize),
    /// In an object that is a call.
    Named(Call),
    /// In the arguments behind a name.
    Arguments(Object),
    /// Behind a call: what is dropped there.
    Between(&'static [u8]),
}

impl Parser for Glm4 {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        let models = ["glm4", "glm", "chatglm"];
        Ok(Descriptor { reasoning_end: Some("</think>".into()), ..describe!("glm4", models, STOPS) })
    }

    fn start(request: &Request) -> Result<Self, String> {
        let state = State::Head(String::new());
        Ok(Self { tools: Tools::callable(request), prose: Prose::default(), state })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        let mut text = chunk;
        while !text.is_empty() {
            text = &text[self.read(text, out)..];
        }
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        let literal = MARKERS[index];
        if self.in_string() && !out.ends_strings() {
            return self.text(literal, out);
        }
        self.end(Some(index), true, literal.len(), out);
        match index {
            THINK => self.prose.reasoning(out),
            THINK_END..=END => {
                self.prose.undecided_content(out);
                self.state = State::Head(String::new());
            }
            _ => self.prose.flow(out),
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        self.end(None, reason == FinishReason::Stop, 0, out);
    }
}

impl Glm4 {
    /// Reads the beginning of `text`; returns how many bytes it read.
    fn read(&mut self, text: &str, out: &mut Output) -> usize {
        match &mut self.state {
            State::Prose => self.prose.flow(out),
            State::Head(head) => {
                head.push_str(text);
                let head = std::mem::take(head);
                if self.tools.is_empty() { self.release(out) } else { self.head(head, out) }
            }
            State::Bare(bare, markup) => {
                let (verdict, read) = bare.read(text.as_bytes(), &self.tools);
                match verdict {
                    Verdict::Undecided => {}
                    Verdict::Call => {
                        self.state = State::Named(bare.call(*markup, &self.tools, out));
                        return read;
                    }
                    Verdict::Content => self.release(out),
                }
            }
            State::Named(call) => {
                if let Progress::Closed(read) = call.read(text.as_bytes(), &self.tools, out) {
                    self.state = State::Between(SEPARATORS);
                    return read;
                }
            }
            State::Arguments(arguments) => {
                if let Some(read) = arguments.read(text.as_bytes(), out) {
                    self.state = State::Between(BLANK);
                    return read;
                }
            }
            State::Between(separators) => {
                let read = text.bytes().take_while(|byte| separators.contains(byte)).count();
                out.drop(read);
                if read < text.len() {
                    self.state = State::Head(String::new());
                }
                return read;
            }
        }
        text.len()
    }

    /// Decides what the held text begins.
    fn head(&mut self, head: String, out: &mut Output) {
        match Head::of(&head, &self.tools) {
            Head::Other => self.release(out),
            Head::Unclear => self.state = State::Head(head),
            Head::Call(name, at) => {
                self.open(name, head.len() - at, out);
                self.text(&head[at..], out);
            }
            Head::Object(at) => {
                self.state = State::Bare(Bare::of(Name::Declared), out.held() - (head.len() - at));
                self.text(&head[at..], out);
            }
        }
    }

    /// Opens a call, whose arguments begin at the `keep` youngest held bytes.
    fn open(&mut self, name: &str, keep: usize, out: &mut Output) {
        let payload = self.tools.payload(name);
        out.drop(out.held() - keep);
        out.tool_call(name, payload);
        self.state = State::Arguments(Object::new(payload));
    }

    /// Routes the held bytes as prose, since they begin no call.
    fn release(&mut self, out: &mut Output) {
        self.state = State::Prose;
        self.prose.flow(out);
    }

    /// Whether the next byte is inside a string of a call.
    fn in_string(&self) -> bool {
        match &self.state {
            State::Bare(bare, _) => bare.in_string(),
            State::Named(call) => call.in_string(),
            State::Arguments(arguments) => arguments.in_string(),
            State::Prose | State::Head(_) | State::Between(_) => false,
        }
    }

    /// Ends what is open before a marker of `keep` bytes, or with the turn. A call may be complete only
    /// if neither the token limit nor a cancellation cut it off (`by_itself`).
    fn end(&mut self, marker: Option<usize>, by_itself: bool, keep: usize, out: &mut Output) {
        let ends_turn = marker.is_none_or(|marker| STOPS.contains(&marker));
        if let State::Bare(bare, markup) = &self.state
            && bare.is_named()
        {
            self.state = State::Named(bare.call(*markup, &self.tools, out));
        }
        match &mut self.state {
            State::Head(head) if marker == Some(OBSERVATION) && self.tools.contains(head.trim()) => {
                let name = head.trim().to_owned();
                self.open(&name, keep, out);
                out.derive("{}");
                out.close();
            }
            State::Bare(bare, _) if ends_turn && bare.begins_name() => out.broken_call(keep),
            State::Named(call) if by_itself && call.has_arguments() => call.close(out),
            State::Named(call) => call.release(out),
            State::Arguments(arguments) => {
                if !arguments.end(by_itself, out) && keep > 0 {
                    out.message("");
                }
            }
            State::Prose | State::Head(_) | State::Bare(..) | State::Between(_) => {
                self.prose.release(keep, out);
            }
        }
        self.state = State::Prose;
    }
}

parser_sdk::export_parser!(Glm4);
