//! Parser for K2 Horizon (`k2_v3`): reasoning in one of three pairs of tags, by effort, and calls in
//! one of three forms, by the chat template's `tool_call_format`.
//!
//! `<ifm|tool_calls>\n<ifm|tool_call>NAME\n<ifm|arg_key>KEY</ifm|arg_key>\n<ifm|arg_value>VALUE</ifm|arg_value>\n</ifm|tool_call>\n</ifm|tool_calls>`
//! is `xml`, the default; `xml_typed` has `<ifm|arg_type>TYPE</ifm|arg_type>` between key and value,
//! and `json` has `{"name": …, "arguments": {…}}` between the tags of a call. What a call begins with
//! tells them apart, whatever the request asked for. Each tag is one token. A string is raw text and
//! kept to the byte, other values are JSON. Any tag that ends reasoning ends it: the model copies the
//! tags of earlier turns, whatever its own opening was.
//!
//! A call opens when a key or an object follows, or its end where the name is declared or, in a
//! block, plausible. Until then its bytes are held, with the block's beginning, and they go out as
//! prose if something else follows. At the turn's end a call opens if its name is declared and
//! complete, and is dropped as a broken call otherwise. Empty calls and blocks are dropped. If the
//! request declares no tools, call markup is text.
//!
//! A call inside reasoning doesn't end the reasoning: text after the call is reasoning up to its end.

mod json;

use parser_sdk::json::JsonCalls;
use parser_sdk::params::{CallMark, Calls, Style, Tag};
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Request, describe};

parser_sdk::markers! {
    "<ifm|think>",
    "<ifm|think_fast>",
    "<ifm|think_faster>",
    "</ifm|think>",
    "</ifm|think_fast>",
    "</ifm|think_faster>",
    BLOCK = "<ifm|tool_calls>",
    BLOCK_END = "</ifm|tool_calls>",
    CALL = "<ifm|tool_call>",
    CALL_END = "</ifm|tool_call>",
    KEY = "<ifm|arg_key>",
    KEY_END = "</ifm|arg_key>",
    TYPE = "<ifm|arg_type>",
    TYPE_END = "</ifm|arg_type>",
    VALUE = "<ifm|arg_value>",
    VALUE_END = "</ifm|arg_value>",
    TURN = "<|ifm|im_start|>",
    TURN_END = "<|ifm|im_end|>",
    END = "<|ifm|endoftext|>",
}

/// The state of one stream.
#[derive(Debug)]
pub struct K2Horizon {
    calls: Calls,
    state: State,
    block: Block,
    name: String,
}

#[derive(Debug)]
enum State {
    /// In prose, or in an open call.
    Between,
    /// After `<ifm|tool_calls>`, before the first call.
    Announced,
    /// After `<ifm|tool_call>`.
    Name,
    /// In a call that is JSON.
    Json(Box<JsonCalls>),
}

/// The block around the current position in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    /// None.
    None,
    /// One whose beginning is held, since no call has come.
    Announced,
    /// One in which a call has come, or a call without a block.
    Called,
}

impl Parser for K2Horizon {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        let models = ["k2_horizon", "K2HorizonForCausalLM"];
        Ok(Descriptor {
            reasoning_end: Some("</ifm|think>".into()),
            ..describe!("k2-horizon", models, [TURN_END, END])
        })
    }

    fn start(request: &Request) -> Result<Self, String> {
        let calls = Calls::new(request, Style::TypedElements);
        Ok(Self { calls, state: State::Between, block: Block::None, name: String::new() })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        match self.state {
            State::Announced if chunk.trim_start().is_empty() && out.held() <= Tag::LONGEST => out.hold_gap(),
            State::Announced => self.release_as_prose(0, out),
            State::Name => self.read_name(chunk, out),
            State::Json(_) => self.read_json(chunk, out),
            State::Between => self.calls.text(chunk, out),
        }
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        let (literal, mark) = (MARKERS[index], mark(index));
        if self.json_takes(index, out) {
            return;
        }
        match self.state {
            State::Announced if matches!(index, CALL | BLOCK_END) => {}
            State::Announced | State::Name if self.opens_at(index) => self.open(literal.len(), out),
            State::Announced | State::Name if mark == CallMark::Stop => out.broken_call(literal.len()),
            State::Name if index == CALL_END && self.name.trim().is_empty() => {
                self.enter_block();
                self.calls.prose.called();
                return self.calls.prose.drop_markup(out);
            }
            State::Announced | State::Name => self.release_as_prose(literal.len(), out),
            State::Between | State::Json(_) => {}
        }
        if !self.calls.mark(mark, literal, out) {
            self.outside(index, out);
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        let is_whole = reason == FinishReason::Stop || self.name.ends_with(char::is_whitespace);
        match self.state {
            State::Name if is_whole && self.names_a_tool() => self.open(0, out),
            State::Announced | State::Name => out.broken_call(0),
            State::Json(_) => return self.end_json(false, reason == FinishReason::Stop, 0, out),
            State::Between => {}
        }
        self.calls.finish(reason, out);
    }
}

impl K2Horizon {
    /// Handles a marker that stands outside an open call.
    fn outside(&mut self, index: usize, out: &mut Output) {
        let has_tools = !self.calls.tools.is_empty();
        if matches!(index, BLOCK_END | TURN..) {
            self.block = Block::None;
        }
        self.state = State::Between;
        match index {
            0..=2 => self.calls.prose.reasoning(out),
            3..=5 => self.calls.prose.content(out),
            BLOCK if has_tools => {
                (self.state, self.block) = (State::Announced, Block::Announced);
                out.hold_gap();
            }
            CALL if has_tools => {
                self.state = State::Name;
                self.name.clear();
                out.hold_head(b"");
            }
            BLOCK_END | CALL_END | KEY_END | TYPE_END | VALUE_END if has_tools => {
                self.calls.prose.end_of_call(MARKERS[index], out);
            }
            TURN => self.calls.begin_turn(out),
            17.. => self.calls.prose.content(out),
            _ => self.calls.prose.flow(out),
        }
    }

    /// Reads text of a call's name, or what shows that the call is JSON. A second word shows that
    /// there is no call.
    fn read_name(&mut self, text: &str, out: &mut Output) {
        self.name.push_str(text);
        let words = self.name.trim_start();
        if words.starts_with(['{', '[']) {
            let body = words.len();
            return self.begin_json(&text[text.len() - body..], out);
        }
        let name = words.trim_end();
        if self.name.len() > Tag::LONGEST || !self.calls.tools.may_begin(name) {
            self.release_as_prose(0, out);
        } else {
            out.hold_head(b"");
        }
    }

    /// Whether a call of the name read so far opens at this marker.
    fn opens_at(&self, index: usize) -> bool {
        let has_name = self.calls.tools.accepts(self.name.trim());
        match mark(index) {
            _ if !matches!(self.state, State::Name) => false,
            CallMark::Key => has_name,
            CallMark::End if self.block != Block::None => has_name,
            CallMark::End | CallMark::Stop | CallMark::Value | CallMark::ValueEnd => self.names_a_tool(),
            _ => false,
        }
    }

    fn names_a_tool(&self) -> bool {
        self.calls.tools.contains(self.name.trim())
    }

    /// Opens the call. The `keep` youngest held bytes stand after its name.
    fn open(&mut self, keep: usize, out: &mut Output) {
        self.calls.open(self.name.trim(), keep, out);
        self.enter_block();
    }

    /// A call has come, and its markup is none of the prose.
    fn enter_block(&mut self) {
        (self.state, self.block) = (State::Between, Block::Called);
    }

    /// Routes the held bytes but the `keep` youngest as prose, since they begin no call.
    fn release_as_prose(&mut self, keep: usize, out: &mut Output) {
        self.state = State::Between;
        if self.block == Block::Announced {
            self.block = Block::None;
        }
        self.calls.prose.mention(keep, out);
    }
}

/// What a marker means inside a call.
fn mark(index: usize) -> CallMark {
    match index {
        BLOCK | BLOCK_END | TURN => CallMark::Outside,
        CALL => CallMark::Call,
        CALL_END => CallMark::End,
        KEY => CallMark::Key,
        KEY_END => CallMark::KeyEnd,
        TYPE => CallMark::Type,
        TYPE_END => CallMark::TypeEnd,
        VALUE => CallMark::Value,
        VALUE_END => CallMark::ValueEnd,
        17.. => CallMark::Stop,
        _ => CallMark::Other,
    }
}

parser_sdk::export_parser!(K2Horizon);
