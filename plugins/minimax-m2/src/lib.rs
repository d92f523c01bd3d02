//! Parser for MiniMax-M2, M2.1 and M2.5: `<think>` reasoning and calls written as XML, their parameters typed by the tool's schema.
//!
//! `<minimax:tool_call>\n<invoke name="NAME">\n<parameter name="KEY">VALUE</parameter>\n…</invoke>\n…</minimax:tool_call>`, as the models'
//! chat template and tool calling guide have it; one block holds all calls of a turn. The prompt opens the turn with `]~b]ai\n<think>\n`,
//! and `[e~[` ends it. The tags around reasoning and around a block, and the markers of turns, are tokens; the tags inside a block are
//! text. A string is raw text and kept to the byte, as the template writes it; other values are JSON. `params::CallReader` says what is
//! markup inside a value, and where markup and text can't be told apart.
//!
//! A call opens when its tag is complete and the name in it is declared or plausible. A block that begins with anything but `<invoke name=`
//! goes out as prose. An empty block is dropped; an opening that the turn's end cuts off is dropped as a broken call. Outside a block, or
//! if the request declares no tools, call markup is text. A call inside reasoning doesn't end the reasoning: text after the call is reasoning up to
//! `</think>`.

mod grammar;

use parser_sdk::params::{Calls, Mark, Style, Tag, Tagged};
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Request, Trim};

const MARKERS: [&str; 10] = [
    "<think>",
    "</think>",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "]~b]",
    "[e~[",
    "<invoke name=",
    "</invoke>",
    "<parameter name=",
    "</parameter>",
];
const THINK: usize = 0;
const THINK_END: usize = 1;
const BLOCK: usize = 2;
const BLOCK_END: usize = 3;
const TURN: usize = 4;
const TURN_END: usize = 5;
const CALL: usize = 6;
const CALL_END: usize = 7;
const PARAMETER: usize = 8;
const PARAMETER_END: usize = 9;

/// The state of one stream.
#[derive(Debug)]
pub struct MiniMaxM2 {
    calls: Calls,
    state: State,
    /// Whether the stream is in a block in which calls may stand.
    in_block: bool,
    tag: Tag,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In prose, or in an open call.
    Between,
    /// After `<minimax:tool_call>`, before the first call.
    Announced,
    /// After `<invoke name=`, before `>`.
    Name,
}

impl Parser for MiniMaxM2 {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        Ok(Descriptor {
            name: "minimax-m2".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            models: vec!["minimax_m2".into(), "MiniMaxM2ForCausalLM".into()],
            markers: MARKERS.map(String::from).into(),
            stops: vec![5],
            trim: Trim { reasoning: true, content: true },
            history_call_ids: None,
        })
    }

    fn start(request: &Request) -> Result<Self, String> {
        let calls = Calls::new(request, Style::Quoted);
        Ok(Self { calls, state: State::Between, in_block: false, tag: Tag::default() })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        let mut rest = chunk;
        while !rest.is_empty() {
            rest = &rest[self.read(rest, out)..];
        }
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        let literal = MARKERS[index];
        match self.state {
            State::Announced if matches!(index, CALL | BLOCK_END) => {}
            State::Announced | State::Name if index == TURN_END => out.broken_call(literal.len()),
            State::Announced | State::Name => self.release_as_prose(literal.len(), out),
            State::Between => {}
        }
        if !self.calls.mark(mark(index), literal, out) {
            self.outside(index, out);
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        if matches!(self.state, State::Announced | State::Name) {
            out.broken_call(0);
        }
        self.calls.finish(reason, out);
    }

    fn constrain(request: &Request) -> Result<Option<String>, String> {
        grammar::of(request)
    }
}

impl MiniMaxM2 {
    /// Handles a marker that stands outside an open call.
    fn outside(&mut self, index: usize, out: &mut Output) {
        let (calls, prose) = (!self.calls.tools.is_empty(), &mut self.calls.prose);
        let was_in_block = self.in_block;
        self.in_block &= !matches!(index, BLOCK_END | TURN | TURN_END);
        self.state = State::Between;
        match index {
            THINK => prose.reasoning(out),
            THINK_END | TURN_END => prose.content(out),
            TURN => self.calls.begin_turn(out),
            BLOCK if calls => (self.state, self.in_block) = (State::Announced, true),
            CALL if self.in_block => {
                self.state = State::Name;
                self.tag.begin();
            }
            BLOCK_END | CALL_END.. if was_in_block => prose.drop_markup(out),
            _ => prose.flow(out),
        }
    }

    /// Reads the beginning of `text`. Returns how many bytes it read, as `read_tag` does.
    fn read(&mut self, text: &str, out: &mut Output) -> usize {
        match self.state {
            State::Between => self.calls.text(text, out),
            State::Announced if text.trim_start().is_empty() => {}
            State::Announced => self.release_as_prose(0, out),
            State::Name => return self.read_tag(text, out),
        }
        text.len()
    }

    fn read_tag(&mut self, text: &str, out: &mut Output) -> usize {
        let tools = &self.calls.tools;
        let fits = |name: &str, is_whole| if is_whole { tools.accepts(name) } else { tools.may_begin(name) };
        match self.tag.read(text, fits) {
            Tagged::Whole(read) => {
                self.calls.open(self.tag.name(), text.len() - read, out);
                self.state = State::Between;
                return read;
            }
            Tagged::Nothing => self.release_as_prose(0, out),
            Tagged::Unfinished => {}
        }
        text.len()
    }

    /// Routes the held bytes but the `keep` youngest as prose, since they begin no call.
    fn release_as_prose(&mut self, keep: usize, out: &mut Output) {
        (self.state, self.in_block) = (State::Between, false);
        self.calls.prose.release(keep, out);
    }
}

/// What a marker means inside a call.
fn mark(index: usize) -> Mark {
    match index {
        BLOCK | BLOCK_END => Mark::Outside,
        CALL => Mark::Call,
        TURN_END => Mark::Stop,
        CALL_END => Mark::End,
        PARAMETER => Mark::Key,
        PARAMETER_END => Mark::ValueEnd,
        _ => Mark::Other,
    }
}

parser_sdk::export_parser!(MiniMaxM2);
