//! Parser for Qwen3: `<think>` reasoning and Hermes JSON calls in `<tool_call>` blocks.
//!
//! The host routes prose up to the next marker without calling the parser; only a call's JSON is
//! read byte by byte. Calls are looked for where the request declares tools; otherwise
//! `<tool_call>` is text like any other.
//! - A `<tool_call>` followed by text that is no JSON object, or by an object without a name, goes
//!   out as prose.
//! - An empty block is dropped. A call that the turn's end cuts off before its name is complete is
//!   dropped and reported as a broken call.
//! - A call inside reasoning doesn't end the reasoning: text after the call is reasoning up to
//!   `</think>`. Where a model leaves out `</think>`, all text after the call is reasoning: the
//!   client has the call, and the answer comes in a later turn.
//!
//! Inside a JSON string of a call every marker is text but `<|im_end|>` and those that came as
//! tokens: these break the call off.

use parser_sdk::json::{Call, Progress};
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Prose, Request, Tools, describe};

parser_sdk::markers! {
    THINK = "<think>",
    THINK_END = "</think>",
    CALL = "<tool_call>",
    CALL_END = "</tool_call>",
    TURN = "<|im_start|>",
    TURN_END = "<|im_end|>",
}

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
    /// In the role: the word after `<|im_start|>`.
    Role,
    /// In a call's JSON.
    Call,
    /// After a call's JSON, up to `</tool_call>`.
    Called,
}

impl Parser for Qwen3 {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        let models = ["qwen3", "qwen3_moe", "qwen3_next"];
        Ok(Descriptor { reasoning_end: Some("</think>".into()), ..describe!("qwen3", models, [TURN_END]) })
    }

    fn start(request: &Request) -> Result<Self, String> {
        let (tools, prose) = (Tools::callable(request), Prose::default());
        Ok(Self { tools, prose, state: State::Prose, call: Call::default() })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        let mut text = chunk.as_bytes();
        while !text.is_empty() {
            let read = match self.state {
                State::Prose => {
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
        let in_string = self.state == State::Call && self.call.in_string();
        if self.state == State::Call {
            if in_string && !out.ends_strings() {
                return self.text(MARKERS[index], out);
            }
            match index {
                CALL_END => return self.end_call(out),
                TURN_END if !self.call.is_opened() => out.broken_call(0),
                _ => self.interrupt_call(MARKERS[index].len(), out),
            }
        }
        if self.state == State::Role {
            out.drop(out.held() - MARKERS[index].len());
        }
        self.state = State::Prose;
        match index {
            THINK => self.prose.reasoning(out),
            THINK_END => self.prose.content(out),
            CALL if !self.tools.is_empty() => {
                self.state = State::Call;
                self.call = Call::after(MARKERS[CALL].len());
                out.hold_head(b",}");
            }
            CALL_END if !self.tools.is_empty() => self.prose.end_of_call(MARKERS[index], out),
            TURN => {
                out.drop_all();
                self.prose.turn_to_content();
                // Behind half a string stands its other half.
                self.state = if in_string { State::Prose } else { State::Role };
            }
            TURN_END => out.drop_all(),
            _ => self.prose.flow(out),
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        match self.state {
            State::Call => {}
            State::Role => return out.drop_all(),
            _ => return,
        }
        if !self.call.is_opened() {
            out.broken_call(0);
        } else if self.call.has_arguments() && reason == FinishReason::Stop {
            self.call.close(out);
        } else {
            self.call.release(out);
        }
    }
}

impl Qwen3 {
    /// Drops the role of a turn's header. Returns how many bytes of `text` it read, as `json` and
    /// `after_json` do.
    fn role(&mut self, text: &[u8], out: &mut Output) -> usize {
        if out.drop_role(text).is_none() {
            return text.len();
        }
        self.state = State::Prose;
        text.len().saturating_sub(out.held())
    }

    fn json(&mut self, text: &[u8], out: &mut Output) -> usize {
        match self.call.read(text, &self.tools, out) {
            Progress::Unfinished => text.len(),
            Progress::Closed(read) => {
                self.state = State::Called;
                self.prose.called();
                read
            }
            Progress::NotACall => {
                self.state = State::Prose;
                self.prose.mention(0, out);
                self.prose.flow(out);
                text.len()
            }
        }
    }

    /// Drops white space, commas and surplus closing brackets after a call's object. Another object
    /// is another call; other text is prose.
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

    /// Ends the call at a `</tool_call>` outside a string: completes an open call, and drops an
    /// empty block.
    fn end_call(&mut self, out: &mut Output) {
        match () {
            () if !self.call.is_opened() => {}
            () if self.call.in_string() && !self.call.has_arguments() => self.call.give_up(out),
            () => self.call.close(out),
        }
        if self.call.is_opened() || !self.call.is_object() {
            self.prose.called();
            out.drop_all();
        }
        self.state = State::Prose;
        self.prose.flow(out);
    }

    /// Ends the call at any other marker outside a string, of `bytes` bytes: the call is complete
    /// only if its arguments are.
    fn interrupt_call(&mut self, bytes: usize, out: &mut Output) {
        if !self.call.is_opened() {
            self.prose.mention(bytes, out);
        } else if self.call.has_arguments() {
            self.call.close(out);
        } else {
            self.call.give_up(out);
        }
        self.state = State::Prose;
    }
}

parser_sdk::export_parser!(Qwen3);
