//! Parser for Qwen3-Coder and Qwen3.5: `<think>` reasoning and calls written as XML, their
//! parameters typed by the tool's schema.
//!
//! `<tool_call>\n<function=NAME>\n<parameter=KEY>\nVALUE\n</parameter>…\n</function>\n</tool_call>`,
//! as in the models' chat templates. The host routes prose and string values up to the next marker
//! without calling the parser. A tag's marker includes the newline before the tag, so that no text
//! is held to trim that newline; it is the value's where none stands in front of the value. Inside a
//! call, `params::CallReader` tells markup from values that look like markup.
//!
//! A call opens when its header is complete and what follows can continue a call. Until then its
//! bytes are held: they go out as prose if something else follows, and are dropped as a broken call
//! if the turn ends. Empty blocks are dropped. In a `<tool_call>` block the call's name is declared
//! or plausible; outside a block it is declared. If the request declares no tools, call markup is
//! text. A call inside reasoning doesn't end the reasoning: text after the call is reasoning up to
//! `</think>`. Where a model leaves out `</think>`, all text after the call is reasoning: the
//! client has the call, and the answer comes in a later turn.

use parser_sdk::params::{CallMark, Calls, Style, Tag, Tagged};
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Payload, Request, describe};

parser_sdk::markers! {
    THINK = "<think>",
    THINK_END = "</think>",
    CALL = "<tool_call>",
    CALL_END = "</tool_call>",
    TURN = "<|im_start|>",
    TURN_END = "<|im_end|>",
    FUNCTION = "<function=",
    "</function>",
    "<parameter=",
    "</parameter>",
    "\n</function>",
    "\n<parameter=",
    "\n</parameter>",
    "\r\n</function>",
    "\r\n<parameter=",
    "\r\n</parameter>",
}

/// The state of one stream.
#[derive(Debug)]
pub struct Qwen3Coder {
    calls: Calls,
    state: State,
    /// Whether the stream is in a `<tool_call>` block.
    in_block: bool,
    tag: Tag,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In prose, or in an open call.
    Between,
    /// After `<tool_call>`, before `<function=`.
    Announced,
    /// After `<function=`, before `>`.
    Name,
    /// After `>`, before the first parameter.
    Named,
}

impl Parser for Qwen3Coder {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        // Qwen3-Coder itself is a qwen3_moe or a qwen3_next, as are models with JSON calls.
        let models =
            ["qwen3_moe", "qwen3_next", "qwen3_5", "qwen3_5_moe", "qwen3_5_text", "qwen3_5_moe_text"];
        Ok(Descriptor {
            reasoning_end: Some("</think>".into()),
            ..describe!("qwen3-coder", models, [TURN_END])
        })
    }

    fn start(request: &Request) -> Result<Self, String> {
        let calls = Calls::new(request, Style::Attribute);
        Ok(Self { calls, state: State::Between, in_block: false, tag: Tag::default() })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        let mut rest = chunk;
        while !rest.is_empty() {
            let read = match self.state {
                State::Announced | State::Named => self.white(rest, out),
                State::Name => self.read_tag(rest, out),
                State::Between => {
                    self.calls.text(rest, out);
                    rest.len()
                }
            };
            rest = &rest[read..];
        }
        self.look_ahead(out);
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        let (literal, mark) = (MARKERS[index], mark(index));
        match self.state {
            State::Between => {}
            State::Announced if index == FUNCTION => {}
            State::Announced if index == CALL_END => out.drop_all(),
            State::Name | State::Named
                if matches!(mark, CallMark::Key | CallMark::End) && self.fits(self.tag.name(), true) =>
            {
                self.open(literal.len(), out);
            }
            State::Named if self.in_block && matches!(index, CALL_END | TURN_END) => {
                self.open(literal.len(), out);
            }
            _ if index == TURN_END => out.broken_call(literal.len()),
            _ => self.release_as_prose(literal.len(), out),
        }
        if !self.calls.mark(mark, literal, out) {
            self.outside(index, out);
            self.look_ahead(out);
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        match self.state {
            State::Named if self.in_block => self.open(0, out),
            State::Announced | State::Name | State::Named => out.broken_call(0),
            State::Between => {}
        }
        self.calls.finish(reason, out);
    }
}

impl Qwen3Coder {
    /// Tells the host to hold what comes, as far as it decides nothing.
    fn look_ahead(&self, out: &mut Output) {
        match self.state {
            State::Name => out.hold_head(b">"),
            State::Announced | State::Named => out.hold_gap(),
            State::Between => {}
        }
    }

    /// Handles a marker that stands outside an open call.
    fn outside(&mut self, index: usize, out: &mut Output) {
        let (calls, in_block, prose) = (!self.calls.tools.is_empty(), self.in_block, &mut self.calls.prose);
        self.state = State::Between;
        self.in_block &= !matches!(index, CALL_END | TURN | TURN_END);
        match index {
            THINK => prose.reasoning(out),
            THINK_END | TURN_END => prose.content(out),
            TURN => self.calls.begin_turn(out),
            CALL if calls => (self.state, self.in_block) = (State::Announced, true),
            FUNCTION if calls => {
                self.state = State::Name;
                self.tag.begin();
            }
            CALL_END | 7.. if in_block => prose.drop_markup(out),
            CALL_END if calls => prose.end_of_call(MARKERS[index], out),
            _ if calls && matches!(mark(index), CallMark::End | CallMark::ValueEnd) => {
                prose.end_of_call(MARKERS[index], out);
            }
            _ => prose.flow(out),
        }
    }

    /// Skips white space in a header. Other text opens the call of a custom tool, and shows for any
    /// other that there is no call. Returns how many bytes of `text` it read, as `read_tag` does.
    fn white(&mut self, text: &str, out: &mut Output) -> usize {
        let rest = text.trim_start().len();
        let takes_text = self.calls.tools.payload(self.tag.name()) == Payload::Text;
        match rest {
            0 => {}
            _ if self.state == State::Named && takes_text => self.open(rest, out),
            _ => self.release_as_prose(rest, out),
        }
        text.len() - rest
    }

    fn read_tag(&mut self, text: &str, out: &mut Output) -> usize {
        let mut tag = std::mem::take(&mut self.tag);
        let tagged = tag.read(text, |name, is_whole| self.fits(name, is_whole));
        self.tag = tag;
        match tagged {
            Tagged::Whole(read) => {
                self.state = State::Named;
                return read;
            }
            Tagged::Nothing => self.release_as_prose(0, out),
            Tagged::Unfinished => {}
        }
        text.len()
    }

    /// Whether a call here may have this name or, unless `is_whole`, a name that begins with it.
    fn fits(&self, name: &str, is_whole: bool) -> bool {
        let tools = &self.calls.tools;
        match (self.in_block, is_whole) {
            (true, true) => tools.accepts(name),
            (true, false) => tools.may_begin(name),
            (false, true) => tools.contains(name),
            (false, false) => tools.names().any(|declared| declared.starts_with(name)),
        }
    }

    /// Opens the call. The `keep` youngest held bytes stand after its header.
    fn open(&mut self, keep: usize, out: &mut Output) {
        self.calls.open(self.tag.name(), keep, out);
        self.state = State::Between;
    }

    /// Routes the held bytes but the `keep` youngest as prose, since they begin no call.
    fn release_as_prose(&mut self, keep: usize, out: &mut Output) {
        (self.state, self.in_block) = (State::Between, false);
        self.calls.prose.mention(keep, out);
    }
}

/// What a marker means inside a call.
fn mark(index: usize) -> CallMark {
    match index {
        CALL | CALL_END => CallMark::Outside,
        FUNCTION => CallMark::Call,
        TURN_END => CallMark::Stop,
        7 | 10 | 13 => CallMark::End,
        8 | 11 | 14 => CallMark::Key,
        9 | 12 | 15 => CallMark::ValueEnd,
        _ => CallMark::Other,
    }
}

parser_sdk::export_parser!(Qwen3Coder);
