//! Parser for Gemma 4 and `FunctionGemma`: calls like
//! `call:get_weather{city:<|"|>Oslo<|"|>,days:3}`, whose keys have no quotes.
//!
//! Both write the same calls between other markers. Gemma 4 reasons in
//! `<|channel>thought\n…<channel|>`. Results come back inside the turn, so a prompt may hold
//! earlier rounds of it; a result begins with a marker that ends what the model writes.
//!
//! - A call may have parentheses for braces and `=` for `:`, and strings may be those of JSON or
//!   Python, or lack their first delimiter: models write all of these. The name may have the prefix
//!   of a namespace (`default_api:get_weather`).
//! - A call of a declared tool at the beginning of a message needs no marker before it. Neither
//!   does `thought` at the turn's beginning.
//! - A marker that no call follows is text. If the turn ends before the call is open, the held
//!   bytes are dropped as a broken call.
//!
//! Inside a string every marker is text but its own delimiter and those that end the call or the
//! turn, if they came as tokens.

mod head;
mod marks;

use head::{Head, unmarked};
use marks::{FUNCTION_GEMMA, MARKS, Mark};
use parser_sdk::json::surplus;
use parser_sdk::literals::Literals;
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Prose, Request, Route, Tools, describe};

/// The line with which reasoning begins.
const THOUGHT: &str = "thought\n";

/// Bytes for which a call's head has room at first.
const HEAD: usize = 64;

/// The state of one stream.
#[derive(Debug)]
pub struct Gemma4 {
    tools: Tools,
    prose: Prose,
    state: State,
    /// Whether the last call's marker was `FunctionGemma`'s.
    is_typed: bool,
}

#[derive(Debug)]
enum State {
    /// At a message's beginning, all of whose text is held: a call may follow without a marker, and
    /// reasoning (`true`) at the turn's.
    Start(String, bool),
    Prose,
    /// After a marker of a call that went out as text: so does the marker that ends the call.
    Mentioned,
    /// After a turn's marker, in its role.
    Role,
    /// In the line after a channel's marker, which is held.
    Channel(String),
    /// After a call's marker, in the text that is held up to the call's arguments.
    Head(String),
    Arguments(Literals),
    /// After a call's arguments.
    Called,
    /// In a result.
    Response,
}

impl Parser for Gemma4 {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        let ends_turn = |mark: Mark| matches!(mark, Mark::TurnEnd | Mark::Response);
        Ok(Descriptor {
            markers: MARKS.map(|(literal, _)| literal.to_owned()).into(),
            stops: (0..)
                .zip(MARKS)
                .filter(|(_, (_, mark))| ends_turn(*mark))
                .map(|(index, _)| index)
                .collect(),
            reasoning_end: Some("<channel|>".into()),
            ..describe!("gemma4", ["gemma4", "gemma4_text", "gemma4_unified"])
        })
    }

    fn start(request: &Request) -> Result<Self, String> {
        let tools = Tools::callable(request);
        let state = State::Start(String::new(), true);
        Ok(Self { tools, prose: Prose::default(), state, is_typed: false })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        let mut text = chunk;
        while !text.is_empty() {
            text = &text[self.read(text, out)..];
        }
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        let (literal, mark) = MARKS[index];
        if mark != Mark::Quote {
            self.settle(literal.len(), out);
        }
        if let State::Arguments(arguments) = &mut self.state {
            if mark == Mark::Quote {
                return arguments.delimiter(index, literal, out);
            }
            let ends_call = matches!(mark, Mark::CallEnd | Mark::TurnEnd | Mark::Response);
            if arguments.in_string() && !(ends_call && out.ends_strings()) {
                arguments.read(literal, out);
                return;
            }
        }
        let was_mentioned = matches!(self.state, State::Mentioned);
        if !(matches!(self.state, State::Response) && mark != Mark::ResponseEnd) {
            self.end(mark, literal.len(), out);
        }
        if mark == Mark::Call {
            self.is_typed = literal == FUNCTION_GEMMA;
        }
        self.mark(mark, was_mentioned, out);
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        if reason == FinishReason::Stop {
            self.settle(0, out);
        }
        self.end(Mark::TurnEnd, 0, out);
    }
}

impl Gemma4 {
    /// Reads a marker outside of calls, which is all that is held.
    fn mark(&mut self, mark: Mark, was_mentioned: bool, out: &mut Output) {
        match mark {
            Mark::Turn => {
                out.drop_all();
                self.prose.turn_to_content();
                self.state = State::Role;
            }
            Mark::TurnEnd => {
                out.drop_all();
                self.state = State::Start(String::new(), true);
            }
            Mark::Response => {
                out.until_marker(Route::Drop);
                self.state = State::Response;
            }
            _ if matches!(self.state, State::Response) && mark != Mark::ResponseEnd => {
                out.until_marker(Route::Drop);
            }
            Mark::ResponseEnd => {
                self.prose.undecided_content(out);
                self.state = State::Start(String::new(), true);
            }
            Mark::Channel => {
                out.drop_all();
                self.prose.turn_to_reasoning();
                self.state = State::Channel(String::new());
            }
            Mark::ChannelEnd => {
                self.prose.undecided_content(out);
                self.state = State::Start(String::new(), false);
            }
            Mark::Call if !self.tools.is_empty() => {
                self.state = State::Head(String::with_capacity(HEAD));
                out.hold_head(b"{");
            }
            Mark::CallEnd if !self.tools.is_empty() && !was_mentioned => out.drop_all(),
            Mark::Call | Mark::CallEnd | Mark::Quote => {
                self.state = if mark == Mark::CallEnd { State::Prose } else { State::Mentioned };
                self.prose.flow(out);
            }
        }
    }

    /// Closes the call whose end is held, before a marker of `bytes` bytes or the turn's end.
    fn settle(&mut self, bytes: usize, out: &mut Output) {
        if let State::Arguments(arguments) = &mut self.state
            && let Some(behind) = arguments.settle(true, bytes, out)
        {
            self.state = State::Called;
            out.hiding(bytes, |out| self.text(&behind, out));
        }
    }

    /// Reads the beginning of `text`; returns how many bytes it read.
    fn read(&mut self, text: &str, out: &mut Output) -> usize {
        match &mut self.state {
            State::Prose | State::Mentioned => self.prose.flow(out),
            State::Response => out.until_marker(Route::Drop),
            State::Role => {
                let has_word =
                    text.starts_with(|first: char| first.is_ascii_alphanumeric()) || out.held() > text.len();
                let Some(is_role) = out.drop_role(text.as_bytes()) else { return text.len() };
                self.state =
                    if is_role || !has_word { State::Start(String::new(), true) } else { State::Prose };
                return text.len().saturating_sub(out.held());
            }
            State::Channel(line) => {
                line.push_str(text);
                self.channel(out);
            }
            State::Start(so_far, _) => {
                so_far.push_str(text);
                self.beginning(out);
            }
            State::Head(so_far) => {
                so_far.push_str(text);
                let head = Head::of(so_far, &self.tools);
                self.announced(head, out);
            }
            State::Arguments(arguments) => {
                let Some(end) = arguments.read(text, out) else { return text.len() };
                let behind = arguments.take_behind();
                self.state = State::Called;
                out.hiding(text.len() - end, |out| self.text(&behind, out));
                return end;
            }
            State::Called => {
                let read = surplus(text);
                out.drop(read);
                if read < text.len() {
                    self.state = State::Prose;
                }
                return read;
            }
        }
        text.len()
    }

    /// Decides whether the first line of a channel is its name.
    fn channel(&mut self, out: &mut Output) {
        let State::Channel(line) = &self.state else { return };
        if line.len() < THOUGHT.len() && THOUGHT.starts_with(line.as_str()) {
            return;
        }
        if line.starts_with(THOUGHT) {
            out.drop(THOUGHT.len());
        }
        self.state = State::Prose;
        self.prose.flow(out);
    }

    /// Decides what the text at a message's beginning is.
    fn beginning(&mut self, out: &mut Output) {
        let State::Start(so_far, at_turn) = &self.state else { return };
        let text = so_far.trim_start();
        if *at_turn && THOUGHT.starts_with(text) && text != THOUGHT {
            return;
        }
        if *at_turn && text.starts_with(THOUGHT) {
            out.drop(so_far.len() - text.len() + THOUGHT.len());
            self.prose.turn_to_reasoning();
            self.state = State::Prose;
            return self.prose.flow(out);
        }
        let head = unmarked(so_far, &self.tools);
        self.announced(head, out);
    }

    /// Opens the call that the held text begins, if it begins one.
    fn announced(&mut self, head: Head, out: &mut Output) {
        match head {
            Head::Unclear => {}
            Head::Other => {
                let is_marked = matches!(self.state, State::Head(_));
                self.state = if is_marked { State::Mentioned } else { State::Prose };
                self.prose.flow(out);
            }
            Head::Call { name, close, at } => {
                let (State::Head(so_far) | State::Start(so_far, _)) = &mut self.state else { return };
                let so_far = std::mem::take(so_far);
                let payload = self.tools.payload(&name);
                let arguments = Literals::new(close, payload).with_bare_strings();
                let arguments = arguments.of_tool(&self.tools, &name);
                out.drop(out.held() - (so_far.len() - at));
                out.tool_call(name, payload);
                self.state =
                    State::Arguments(if self.is_typed { arguments.with_typed_values() } else { arguments });
                self.text(&so_far[at..], out);
            }
        }
    }

    /// Ends what is open before a marker of `bytes` bytes, or with the turn.
    fn end(&mut self, mark: Mark, bytes: usize, out: &mut Output) {
        let ends_turn = matches!(mark, Mark::TurnEnd | Mark::Response);
        match &mut self.state {
            State::Head(_) if ends_turn => out.broken_call(bytes),
            State::Head(so_far) if so_far.trim().is_empty() && mark == Mark::CallEnd => {
                out.drop(out.held() - bytes);
            }
            State::Channel(line) if line.is_empty() || line == THOUGHT.trim_end() => {
                out.drop(out.held() - bytes);
            }
            State::Arguments(arguments) => arguments.end(mark == Mark::CallEnd, bytes > 0, bytes, out),
            State::Start(..) | State::Head(_) | State::Channel(_) => self.prose.release(bytes, out),
            State::Role => out.drop(out.held() - bytes),
            State::Prose | State::Mentioned | State::Called | State::Response => {}
        }
        self.state = State::Prose;
    }
}

parser_sdk::export_parser!(Gemma4);
