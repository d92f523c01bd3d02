//! Parser for `HyperCLOVA X SEED Think 14B`: each part of a turn is a message, whose header says what
//! it is.
//!
//! - `<|im_start|>assistant/think\nREASONING<|im_end|>`
//! - `<|im_start|>assistant\nTEXT<|im_end|>`
//! - `<|im_start|>assistant -> tool/function_call\n[{"name": "NAME", "arguments": {…}}]<|im_end|>`. The
//!   model also writes `-> tool/NAME` with the arguments alone behind it, which counts if NAME is declared.
//!
//! The turn ends with `<|endofturn|>` or, behind calls, `<|stop|>`. The prompt opens a message and leaves
//! the rest of the header to the model, or writes it as well. Headers of calls are text where the
//! request declares no tools. Inside a JSON string every marker is text but those that end the turn or
//! came as tokens: these break the call off.

mod header;

use header::{Header, THOUGHTS};
use parser_sdk::json::JsonCalls;
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Prose, Request, Tools, describe};

parser_sdk::markers! {
    MESSAGE_END = "<|im_end|>",
    MESSAGE = "<|im_start|>",
    STOP = "<|stop|>",
    TURN_END = "<|endofturn|>",
}

/// Role of the model's messages.
const ROLE: &str = "assistant";

/// The state of one stream.
#[derive(Debug)]
pub struct HyperClova {
    tools: Tools,
    prose: Prose,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Behind the marker of a message, in its role, which is held.
    Role(String),
    /// Behind the role, in the rest of the header, which is held.
    Header(String),
    Prose,
    Calls(Box<JsonCalls>),
}

impl Parser for HyperClova {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        let models = ["hyperclovax"];
        Ok(Descriptor {
            reasoning_end: Some("<|im_end|>\n<|im_start|>assistant".into()),
            ..describe!("hyperclova", models, [STOP, TURN_END])
        })
    }

    fn start(request: &Request) -> Result<Self, String> {
        let state = State::Header(String::new());
        Ok(Self { tools: Tools::callable(request), prose: Prose::default(), state })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        match &mut self.state {
            State::Role(role) => {
                role.push_str(chunk);
                let role = std::mem::take(role);
                self.role(role, out);
            }
            State::Header(header) => {
                header.push_str(chunk);
                let header = std::mem::take(header);
                self.header(header, out);
            }
            State::Prose => self.prose.flow(out),
            State::Calls(calls) => {
                if !calls.read(chunk.as_bytes(), &self.tools, out) {
                    self.release(out);
                }
            }
        }
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        let literal = MARKERS[index];
        if let State::Calls(calls) = &mut self.state {
            match (calls.in_string(), out.ends_strings()) {
                (true, false) => return self.text(literal, out),
                (true, true) if index == MESSAGE_END => calls.end_string(out),
                _ => {}
            }
        }
        self.end(Some(index), true, literal.len(), out);
        self.prose.undecided_content(out);
        if index == MESSAGE {
            self.state = State::Role(String::new());
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        self.end(None, reason == FinishReason::Stop, 0, out);
    }
}

impl HyperClova {
    /// Decides whether the held text is the model's role.
    fn role(&mut self, role: String, out: &mut Output) {
        if let Some(header) = role.strip_prefix(ROLE) {
            out.drop(ROLE.len());
            return self.header(header.to_owned(), out);
        }
        if ROLE.starts_with(&role) {
            self.state = State::Role(role);
        } else {
            self.release(out);
        }
    }

    /// Decides what the message is whose header is held.
    fn header(&mut self, header: String, out: &mut Output) {
        let read = match Header::of(&header, &self.tools) {
            Header::Unclear => return self.state = State::Header(header),
            Header::Other => return self.release(out),
            Header::Text(read) => {
                self.state = State::Prose;
                read
            }
            Header::Thoughts(read) => {
                self.state = State::Prose;
                self.prose.turn_to_reasoning();
                read
            }
            Header::Calls(read) => {
                self.state = State::Calls(JsonCalls::objects(0, "name", "arguments").into());
                read
            }
            Header::Arguments(name, read) => {
                let payload = self.tools.payload(name);
                out.tool_call(name, payload);
                self.state = State::Calls(JsonCalls::arguments(payload).into());
                read
            }
        };
        out.drop(read);
        self.text(&header[read..], out);
    }

    /// Routes the held bytes as prose.
    fn release(&mut self, out: &mut Output) {
        self.state = State::Prose;
        self.prose.flow(out);
    }

    /// Ends what is open before a marker of `keep` bytes, or with the turn, which the model ended
    /// `by_itself` or not.
    fn end(&mut self, marker: Option<usize>, by_itself: bool, keep: usize, out: &mut Output) {
        let ends_message = marker == Some(MESSAGE_END);
        match std::mem::replace(&mut self.state, State::Prose) {
            State::Calls(mut calls) => {
                calls.end(ends_message, by_itself && marker != Some(MESSAGE), keep, out);
                if keep > 0 && !ends_message {
                    // The item of the call ends here, complete or not, so that a later `close` doesn't
                    // complete it.
                    out.message("");
                }
            }
            State::Header(header) if Header::begins_call(&header) => out.broken_call(keep),
            State::Header(header) if THOUGHTS.starts_with(&header) => out.drop(out.held() - keep),
            State::Role(role) if ROLE.starts_with(&role) => out.drop(out.held() - keep),
            State::Role(_) | State::Header(_) | State::Prose => self.prose.release(keep, out),
        }
    }
}

parser_sdk::export_parser!(HyperClova);
