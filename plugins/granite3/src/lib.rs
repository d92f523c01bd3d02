//! Parser for Granite 3.0 to 3.3: a list of calls behind `<|tool_call|>`, which nothing ends, and
//! thoughts in `<think>` or behind a phrase.
//!
//! - `<|tool_call|>[{"name": "NAME", "arguments": {…}}]`; Granite 3.1 writes `<tool_call>` as well, and
//!   there the bracket is needed: with an object behind it it is another format's. An opening that JSON
//!   doesn't follow goes out as prose, and so does call markup where the request declares no tools.
//!   `json::JsonCalls` reads the list, and objects without its brackets behind the token.
//! - `<think>REASONING</think><response>ANSWER</response>` (3.3).
//! - `Here is my thought process:REASONING Here is my response:ANSWER` (3.2, with `Here's`, too). Any
//!   answer may have these words, so the first phrase counts at the turn's beginning only, and the second
//!   one in reasoning that the first began.
//!
//! Inside a JSON string every marker is text but the turn's end and those that came as tokens.

use parser_sdk::json::{JsonCalls, white};
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Prose, Request, Tools, describe};

parser_sdk::markers! {
    CALLS = "<|tool_call|>",
    LIST = "<tool_call>",
    THINK = "<think>",
    THINK_END = "</think>",
    RESPONSE = "<response>",
    RESPONSE_END = "</response>",
    HERE_IS_THOUGHT = "Here is my thought process:",
    HERES_THOUGHT = "Here's my thought process:",
    HERE_IS_ANSWER = "Here is my response:",
    HERES_ANSWER = "Here's my response:",
    ROLE = "<|start_of_role|>",
    ROLE_END = "<|end_of_role|>",
    TURN_END = "<|end_of_text|>",
}
/// The phrases that begin thoughts, and those that end them.
const THOUGHTS: [usize; 2] = [HERE_IS_THOUGHT, HERES_THOUGHT];
const ANSWERS: [usize; 2] = [HERE_IS_ANSWER, HERES_ANSWER];

/// Longest text of a turn's header, in bytes: a role, and controls as JSON.
const HEADER: usize = 512;

/// The state of one stream.
#[derive(Debug)]
pub struct Granite3 {
    tools: Tools,
    prose: Prose,
    /// The marker that opened the present text, if one did.
    opened_by: Option<usize>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Behind the turn's beginning or the end of reasoning, and white space.
    Beginning,
    Prose,
    /// In the header of a turn, which is held up to its end.
    Role,
    /// Behind `<tool_call>`, before a list.
    List,
    Calls(Box<JsonCalls>),
}

impl Parser for Granite3 {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        // Not `granite`: Granite 4.1 has that type, too, and writes calls as Hermes does.
        let models = ["granitemoe"];
        Ok(Descriptor { reasoning_end: Some("</think>".into()), ..describe!("granite3", models, [TURN_END]) })
    }

    fn start(request: &Request) -> Result<Self, String> {
        let (tools, prose) = (Tools::callable(request), Prose::default());
        Ok(Self { tools, prose, opened_by: None, state: State::Beginning })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        match &mut self.state {
            State::Beginning if chunk.trim_matches(white).is_empty() => return self.prose.release(0, out),
            State::Role if out.held() <= HEADER => return,
            State::List => return self.list(chunk, out),
            State::Calls(calls) => {
                if calls.read(chunk.as_bytes(), &self.tools, out) {
                    return;
                }
                if calls.is_text() {
                    self.prose.mention(0, out);
                }
            }
            State::Beginning | State::Prose | State::Role => {}
        }
        self.state = State::Prose;
        self.prose.flow(out);
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        let literal = MARKERS[index];
        if matches!(&self.state, State::Calls(calls) if calls.in_string()) && !out.ends_strings() {
            return self.text(literal, out);
        }
        let is_beginning = matches!(self.state, State::Beginning);
        if !matches!((&self.state, index), (State::Role, ROLE_END)) {
            self.end(index == TURN_END, literal.len(), out);
        }
        self.state = State::Prose;
        match index {
            CALLS if !self.tools.is_empty() => self.begin_calls(0, out),
            LIST if !self.tools.is_empty() => self.state = State::List,
            THINK => self.think(index, out),
            _ if THOUGHTS.contains(&index) && is_beginning && self.opened_by.is_none() => {
                self.think(index, out);
            }
            _ if ANSWERS.contains(&index) && self.opened_by.is_some_and(|by| THOUGHTS.contains(&by)) => {
                self.begin(Some(index), out);
            }
            THINK_END => self.begin(Some(index), out),
            RESPONSE if is_beginning && self.opened_by == Some(THINK_END) => {
                self.opened_by = Some(RESPONSE);
                self.prose.drop_markup(out);
            }
            RESPONSE_END if self.opened_by == Some(RESPONSE) => self.prose.drop_markup(out),
            ROLE => {
                out.drop_all();
                self.state = State::Role;
            }
            ROLE_END | TURN_END => self.begin(None, out),
            _ => self.prose.flow(out),
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        self.end(reason == FinishReason::Stop, 0, out);
    }
}

impl Granite3 {
    /// Reads text behind `<tool_call>`.
    fn list(&mut self, text: &str, out: &mut Output) {
        match text.trim_start_matches(white).bytes().next() {
            None => {}
            Some(b'[') => {
                self.begin_calls(text.len(), out);
                self.text(text, out);
            }
            Some(_) => {
                self.state = State::Prose;
                self.prose.mention(0, out);
            }
        }
    }

    /// Calls follow the held bytes but the `keep` youngest.
    fn begin_calls(&mut self, keep: usize, out: &mut Output) {
        let calls = JsonCalls::objects(out.held() - keep, "name", "arguments").in_prose(self.prose.route());
        if keep == 0 {
            calls.hold_head(out);
        }
        self.state = State::Calls(calls.into());
    }

    /// Reasoning follows the marker that is held.
    fn think(&mut self, marker: usize, out: &mut Output) {
        self.opened_by = Some(marker);
        self.prose.reasoning(out);
    }

    /// An answer follows the held bytes, which `marker` or a header ends.
    fn begin(&mut self, marker: Option<usize>, out: &mut Output) {
        (self.opened_by, self.state) = (marker, State::Beginning);
        self.prose.undecided_content(out);
    }

    /// Ends what is open before a marker of `keep` bytes, or with the turn. A call may be complete only
    /// if neither the token limit nor a cancellation cut it off (`by_itself`).
    fn end(&mut self, by_itself: bool, keep: usize, out: &mut Output) {
        let State::Calls(mut calls) = std::mem::replace(&mut self.state, State::Prose) else {
            return self.prose.release(keep, out);
        };
        calls.end(false, by_itself, keep, out);
        if keep > 0 {
            // The item of the call ends here, complete or not, so that a later `close` doesn't complete
            // it.
            out.message("");
        }
    }
}

parser_sdk::export_parser!(Granite3);
