//! Parser for Qwen3: `<think>` reasoning and Hermes JSON calls in `<tool_call>` blocks.
//!
//! Prose goes out until the next marker without the host asking again; only a call's JSON is read byte by byte.
//! Calls are looked for where the request declares tools and allows calling them; otherwise `<tool_call>` is text like any other.
//! - A `<tool_call>` that text follows which is no JSON object was only mentioned: it stays where it stands, as does an object without a name.
//! - One that nothing follows is dropped: an empty block quietly; the opening of a call that the turn's end cuts off, up to its name, as a
//!   broken call.
//! - A call inside reasoning doesn't end it: what was open before the call is open after it, up to its own `</think>`. Where a model leaves
//!   that out and goes on after a call, what it writes stays reasoning: the client has the call, and the answer comes in a later turn.
//!
//! Inside a string of a call every marker but the end of the turn is text.

mod grammar;

use parser_sdk::json::{Call, Progress};
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Prose, Request, Tools, Trim};

const MARKERS: [&str; 6] =
    ["<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_start|>", "<|im_end|>"];
const THINK: usize = 0;
const THINK_END: usize = 1;
const CALL: usize = 2;
const CALL_END: usize = 3;
const TURN: usize = 4;
const TURN_END: usize = 5;

/// The state of one stream.
#[derive(Debug)]
pub struct Qwen3 {
    tools: Tools,
    prose: Prose,
    state: State,
    call: Call,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Prose,
    /// After a `<tool_call>` that was none and went out as text: its `</tool_call>` goes the same way.
    Mentioned,
    /// After `<|im_start|>`, up to the end of the line: the role.
    Role,
    /// In a call's JSON.
    Call,
    /// After a call's JSON, up to `</tool_call>`.
    Called,
}

impl Parser for Qwen3 {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        Ok(Descriptor {
            name: "qwen3".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            models: vec!["qwen3".into(), "qwen3_moe".into(), "qwen3_next".into()],
            markers: MARKERS.map(String::from).into(),
            stops: vec![5],
            trim: Trim { reasoning: true, content: true },
            history_call_ids: None,
        })
    }

    fn start(request: &Request) -> Result<Self, String> {
        let (tools, prose) = (Tools::callable(request), Prose::default());
        Ok(Self { tools, prose, state: State::Prose, call: Call::default() })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        let mut text = chunk.as_bytes();
        while !text.is_empty() {
            let read = match self.state {
                State::Prose | State::Mentioned => {
                    self.prose.flow(out);
                    text.len()
                }
                State::Role => self.role(text, out),
                State::Call => self.json(text, out),
                State::Called => self.after_json(text, out),
            };
            text = &text[read..];
        }
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        if self.state == State::Call {
            if self.call.in_string() && index != TURN_END {
                return self.text(MARKERS[index], out);
            }
            match index {
                CALL_END => return self.end_call(out),
                TURN_END if !self.call.is_opened() => out.broken_call(0),
                _ => self.interrupt_call(MARKERS[index].len(), out),
            }
        }
        let was_mentioned = self.state == State::Mentioned;
        self.state = State::Prose;
        match index {
            THINK => self.prose.reasoning(out),
            THINK_END => self.prose.content(out),
            CALL if !self.tools.is_empty() => {
                self.state = State::Call;
                self.call = Call::after(MARKERS[CALL].len());
            }
            CALL_END if !self.tools.is_empty() && !was_mentioned => self.prose.go_on(out),
            TURN => {
                out.drop_all();
                self.prose.turn_to_content();
                self.state = State::Role;
            }
            TURN_END => out.drop_all(),
            _ => self.prose.flow(out),
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        if self.state != State::Call {
            return;
        }
        if !self.call.is_opened() {
            out.broken_call(0);
        } else if self.call.has_arguments() && reason == FinishReason::Stop {
            self.call.close(out);
        } else {
            self.call.release(out);
        }
    }

    fn constrain(request: &Request) -> Result<Option<String>, String> {
        grammar::of(request)
    }
}

impl Qwen3 {
    /// Reads the role of a turn's header; returns how many bytes it took, as the next two do.
    fn role(&mut self, text: &[u8], out: &mut Output) -> usize {
        let end = out.drop_line(text);
        if end.is_some() {
            self.state = State::Prose;
        }
        end.unwrap_or(text.len())
    }

    fn json(&mut self, text: &[u8], out: &mut Output) -> usize {
        match self.call.read(text, &self.tools, out) {
            Progress::Unfinished => text.len(),
            Progress::Closed(read) => {
                self.state = State::Called;
                read
            }
            Progress::NotACall => {
                self.state = State::Mentioned;
                self.prose.flow(out);
                text.len()
            }
        }
    }

    /// Drops white space and brackets too many; another object is another call, and what else comes is prose.
    fn after_json(&mut self, text: &[u8], out: &mut Output) -> usize {
        let read = text.iter().take_while(|byte| b" \n\r\t,}]".contains(byte)).count();
        out.drop(read);
        match text.get(read) {
            Some(b'{') => {
                self.state = State::Call;
                self.call = Call::after(0);
            }
            Some(_) => self.state = State::Prose,
            None => {}
        }
        read
    }

    /// `</tool_call>` outside a string: the model says that the call is whole. The block may be empty.
    fn end_call(&mut self, out: &mut Output) {
        if self.call.is_opened() {
            self.call.close(out);
        }
        if self.call.is_opened() || !self.call.is_object() {
            out.drop_all();
        }
        self.state = State::Prose;
        self.prose.flow(out);
    }

    /// Another marker, of `bytes` bytes, outside a string: the call ends here, and is whole only if its arguments are.
    fn interrupt_call(&mut self, bytes: usize, out: &mut Output) {
        if !self.call.is_opened() {
            self.prose.release(bytes, out);
        } else if self.call.has_arguments() {
            self.call.close(out);
        } else {
            self.call.give_up(out);
        }
        self.state = State::Prose;
    }
}

parser_sdk::export_parser!(Qwen3);
