//! Parser for {{name}}: reasoning in `<think>`, calls as
//! `<tool_call>{"name": …, "arguments": {…}}</tool_call>`.
//!
//! A starting point that works: put your model's markers in [`MARKERS`], say in `marker` what each
//! one changes, and keep a case in `cases/` for everything the model was seen to write. The host
//! holds the text; `Output` says where its bytes go and counts them.

use parser_sdk::json::{Call, Progress};
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Prose, Request, Tools, Trim};

const MARKERS: [&str; 5] = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>"];
const THINK: usize = 0;
const THINK_END: usize = 1;
const CALL: usize = 2;
const CALL_END: usize = 3;
const TURN_END: usize = 4;

/// The state of one stream.
#[derive(Debug)]
pub struct {{type}} {
    /// The tools that may be called.
    tools: Tools,
    /// The text between calls: content or reasoning.
    prose: Prose,
    /// The call whose JSON is being read.
    call: Option<Call>,
}

impl Parser for {{type}} {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        Ok(Descriptor {
            name: "{{name}}".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            // `model_type` values of config.json for which `host serve` should take this parser by
            // itself.
            models: vec![],
            markers: MARKERS.map(String::from).into(),
            // Markers that end the model's turn, by their place in the list.
            stops: vec![4],
            trim: Trim { reasoning: true, content: true },
            ..Descriptor::default()
        })
    }

    fn start(request: &Request) -> Result<Self, String> {
        Ok(Self { tools: Tools::callable(request), prose: Prose::default(), call: None })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        let Some(call) = &mut self.call else { return self.prose.flow(out) };
        if call.read(chunk.as_bytes(), &self.tools, out) != Progress::Unfinished {
            self.call = None;
            self.prose.flow(out);
        }
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        // Inside a string of a call's JSON a marker is text, unless it ends the turn or came as a
        // token of its own.
        if !out.ends_strings() && self.call.as_ref().is_some_and(Call::in_string) {
            return self.text(MARKERS[index], out);
        }
        self.end_call(index, out);
        match index {
            THINK => self.prose.reasoning(out),
            THINK_END | TURN_END => self.prose.content(out),
            // What was open before the call is open after it.
            CALL_END => self.prose.drop_markup(out),
            CALL if !self.tools.is_empty() => self.call = Some(Call::after(out.held())),
            _ => self.prose.flow(out),
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        match &mut self.call {
            // Its name never came: it is dropped, and a turn that the model ended so fails.
            Some(call) if !call.is_opened() => out.broken_call(0),
            Some(call) if call.has_arguments() && reason == FinishReason::Stop => call.close(out),
            Some(call) => call.release(out),
            None => {}
        }
    }
}

impl {{type}} {
    /// Ends the call, after which this marker came: it is complete if its arguments are whole. One
    /// that has no name yet is none: at the end of the turn it broke off, an empty block is markup,
    /// and else its bytes are prose.
    fn end_call(&mut self, marker: usize, out: &mut Output) {
        let bytes = MARKERS[marker].len();
        match self.call.take() {
            Some(call) if !call.is_opened() && marker == TURN_END => out.broken_call(bytes),
            Some(call) if !call.is_opened() && (marker != CALL_END || call.is_object()) => {
                self.prose.release(bytes, out);
            }
            Some(call) if !call.is_opened() => {}
            Some(mut call) if call.has_arguments() => call.close(out),
            Some(mut call) => call.give_up(out),
            None => {}
        }
    }
}

parser_sdk::export_parser!({{type}});
