//! Parser for Hunyuan A13B: `<think>` reasoning, an answer in `<answer>`, and a JSON list of calls
//! in `<tool_calls>`.
//!
//! `<think>\nREASONING\n</think>\n<answer>\nTEXT<tool_calls>[{"name": "NAME", "arguments": {…}}]</tool_calls>\n</answer>`.
//! Without thinking the prompt holds an empty `<think>` block. `json::JsonCalls` reads the list, and
//! objects without its brackets. A `<tool_calls>` that JSON doesn't follow goes out as prose, and
//! so does call markup where the request declares no tools. Inside a JSON string every marker is
//! text but the turn's end.

use parser_sdk::json::JsonCalls;
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Prose, Request, Tools, describe};

parser_sdk::markers! {
    THINK = "<think>",
    THINK_END = "</think>",
    ANSWER = "<answer>",
    ANSWER_END = "</answer>",
    CALLS = "<tool_calls>",
    CALLS_END = "</tool_calls>",
    TURN_END = "<|eos|>",
    // The last token of a prompt.
    TURN = "<|extra_0|>",
}

/// The state of one stream.
#[derive(Debug)]
pub struct Hunyuan {
    tools: Tools,
    prose: Prose,
    state: State,
}

#[derive(Debug)]
enum State {
    Prose,
    Calls(Box<JsonCalls>),
}

impl Parser for Hunyuan {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        let models = ["hunyuan_v1_moe", "hunyuan"];
        Ok(Descriptor { reasoning_end: Some("</think>".into()), ..describe!("hunyuan", models, [TURN_END]) })
    }

    fn start(request: &Request) -> Result<Self, String> {
        Ok(Self { tools: Tools::callable(request), prose: Prose::default(), state: State::Prose })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        if let State::Calls(calls) = &mut self.state {
            if calls.read(chunk.as_bytes(), &self.tools, out) {
                return;
            }
            if calls.is_text() {
                self.state = State::Prose;
                self.prose.mention(0, out);
            }
        }
        self.prose.flow(out);
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        if let State::Calls(calls) = &mut self.state {
            match (calls.in_string(), out.ends_strings()) {
                (true, false) => return self.text(MARKERS[index], out),
                (true, true) if index == CALLS_END => calls.end_string(out),
                _ => {}
            }
            self.end(MARKERS[index].len(), index == CALLS_END, index == TURN_END, out);
            if index == CALLS_END {
                self.prose.called();
                return self.prose.drop_markup(out);
            }
        }
        match index {
            THINK => self.prose.reasoning(out),
            THINK_END | TURN_END => self.prose.content(out),
            ANSWER | ANSWER_END | TURN => self.prose.drop_markup(out),
            CALLS if !self.tools.is_empty() => {
                let calls = JsonCalls::objects(out.held(), "name", "arguments");
                calls.hold_head(out);
                self.state = State::Calls(calls.into());
            }
            CALLS_END if !self.tools.is_empty() => self.prose.end_of_call(MARKERS[index], out),
            _ => self.prose.flow(out),
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        match self.state {
            State::Calls(_) => self.end(0, false, reason == FinishReason::Stop, out),
            State::Prose => self.prose.release(0, out),
        }
    }
}

impl Hunyuan {
    /// Ends the region of calls before a marker of `keep` bytes: at its own end if it `is_closed`,
    /// else with the turn, which the model ended `by_itself` or not.
    fn end(&mut self, keep: usize, is_closed: bool, by_itself: bool, out: &mut Output) {
        if let State::Calls(mut calls) = std::mem::replace(&mut self.state, State::Prose) {
            calls.end(is_closed, by_itself, keep, out);
            if keep > 0 && !is_closed {
                // The item of the call ends here, complete or not, so that a later `close` doesn't
                // complete it.
                out.message("");
            }
        }
    }
}

parser_sdk::export_parser!(Hunyuan);
