//! Parser for calls written in Python, `get_weather(city="Oslo", days=3)`: Llama 4, Llama 3.2,
//! Gemma 3, LFM2 and Olmo 3.
//!
//! - Llama and Gemma write a list, `[get_weather(city="Oslo"), get_time()]`, at a message's
//!   beginning. Nothing marks it as calls, so it is only where it begins with a call of a declared
//!   tool. Llama 4 may put `<|python_start|>` before it.
//! - LFM2 writes the list between `<|tool_call_start|>` and `<|tool_call_end|>`, or a list of JSON
//!   calls there; Olmo 3 writes a call a line between `<function_calls>` and `</function_calls>`.
//!   Behind such a marker the tool need not be declared. A marker that no call follows is text.
//! - Reasoning stands in `<think>…</think>`, if the model reasons.
//!
//! Values are Python's literals or JSON. Strings may lack their quotes: Llama 3.2's template shows
//! them so. If the turn ends in the opening of a call, the held bytes are dropped as a broken call.
//!
//! Inside a string every marker is text but those that end the turn or came as tokens: these break
//! the call off.

mod marks;

use marks::{MARKS, Mark};
use parser_sdk::json::JsonCalls;
use parser_sdk::literals::{Literals, Opening};
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Prose, Request, Tools, describe};

/// White space and brackets before a call, and what stands between calls.
const BEFORE: &[char] = &[' ', '\n', '\r', '\t', '[', ']'];
const BETWEEN: &[u8] = b" \n\r\t,;[]";
/// Most bytes before a call's name.
const GAP: usize = 64;

/// The state of one stream.
#[derive(Debug)]
pub struct Pythonic {
    tools: Tools,
    prose: Prose,
    region: Region,
    state: State,
    /// Whether the calls stand in square brackets.
    in_list: bool,
}

/// What shows that a call may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Region {
    /// Nothing: only a list of declared tools' calls is one.
    Message,
    /// An earlier call of the list.
    List,
    /// A marker, up to the marker of the calls' end.
    Marked,
}

#[derive(Debug)]
enum State {
    Prose,
    /// After a turn's marker, in its role.
    Role,
    /// Where a call may begin, in text that is held: at a message's beginning, behind a marker of
    /// calls, or behind another call.
    Head(String),
    Arguments(Literals),
    /// After a call.
    Between,
    /// In calls that are JSON.
    Json(Box<JsonCalls>),
}

impl Parser for Pythonic {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        Ok(Descriptor {
            markers: MARKS.map(|(literal, _)| literal.to_owned()).into(),
            stops: (0..)
                .zip(MARKS)
                .filter(|(_, (_, mark))| *mark == Mark::TurnEnd)
                .map(|(index, _)| index)
                .collect(),
            reasoning_end: Some("</think>".into()),
            // Not `llama4`: its template decides, and some write JSON.
            ..describe!("pythonic", ["lfm2", "lfm2_moe", "lfm2_vl", "olmo3"])
        })
    }

    fn start(request: &Request) -> Result<Self, String> {
        Ok(Self {
            tools: Tools::callable(request),
            prose: Prose::default(),
            region: Region::Message,
            state: State::Head(String::new()),
            in_list: false,
        })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        let mut text = chunk;
        while !text.is_empty() {
            text = &text[self.read(text, out)..];
        }
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        let (literal, mark) = MARKS[index];
        let ends_calls = match mark {
            Mark::CallsEnd => self.region == Region::Marked,
            Mark::Code => self.region != Region::Marked,
            Mark::Turn | Mark::TurnEnd => true,
            Mark::Think | Mark::ThinkEnd | Mark::Calls => false,
        };
        if ends_calls {
            self.settle(mark, literal.len(), out);
        }
        let in_string = match &self.state {
            State::Arguments(arguments) => arguments.in_string(),
            State::Json(calls) => calls.in_string(),
            _ => false,
        };
        if in_string && !out.ends_strings() {
            return self.text(literal, out);
        }
        if let (State::Json(calls), Mark::CallsEnd) = (&mut self.state, mark) {
            calls.end_string(out);
        }
        let in_region = self.region == Region::Marked;
        self.end(mark, true, literal.len(), out);
        match mark {
            Mark::Think => self.prose.reasoning(out),
            Mark::ThinkEnd => {
                self.prose.undecided_content(out);
                self.state = State::Head(String::new());
            }
            Mark::Calls if !self.tools.is_empty() => {
                (self.region, self.state) = (Region::Marked, State::Head(String::with_capacity(GAP)));
                out.hold_head(b"{=)");
            }
            Mark::CallsEnd if in_region => {
                out.drop_all();
                self.prose.called();
            }
            Mark::CallsEnd if !self.tools.is_empty() => self.prose.end_of_call(literal, out),
            Mark::Calls | Mark::CallsEnd => self.prose.flow(out),
            Mark::Code | Mark::TurnEnd => {
                out.drop_all();
                self.state = State::Head(String::new());
            }
            Mark::Turn => {
                out.drop_all();
                self.prose.turn_to_content();
                self.state = State::Role;
            }
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        if reason == FinishReason::Stop {
            self.settle(Mark::TurnEnd, 0, out);
        }
        self.end(Mark::TurnEnd, reason == FinishReason::Stop, 0, out);
    }
}

impl Pythonic {
    /// Closes the call whose end is held, before a marker of `bytes` bytes or the turn's end.
    fn settle(&mut self, mark: Mark, bytes: usize, out: &mut Output) {
        if let State::Arguments(arguments) = &mut self.state
            && let Some(behind) = arguments.settle(mark == Mark::TurnEnd, bytes, out)
        {
            self.state = State::Between;
            out.hiding(bytes, |out| self.text(&behind, out));
        }
    }

    /// Reads the beginning of `text`; returns how many bytes it read.
    fn read(&mut self, text: &str, out: &mut Output) -> usize {
        match &mut self.state {
            State::Prose => self.prose.flow(out),
            State::Role => {
                let has_word =
                    text.starts_with(|first: char| first.is_ascii_alphanumeric()) || out.held() > text.len();
                let Some(is_role) = out.drop_role(text.as_bytes()) else { return text.len() };
                self.state = if is_role || !has_word { State::Head(String::new()) } else { State::Prose };
                return text.len().saturating_sub(out.held());
            }
            State::Head(head) => {
                head.push_str(text);
                let head = std::mem::take(head);
                self.head(head, out);
            }
            State::Arguments(arguments) => {
                let Some(end) = arguments.read(text, out) else { return text.len() };
                let behind = arguments.take_behind();
                self.state = State::Between;
                out.hiding(text.len() - end, |out| self.text(&behind, out));
                return end;
            }
            State::Between => {
                let read = text.bytes().take_while(|byte| BETWEEN.contains(byte)).count();
                out.drop(read);
                if read < text.len() {
                    self.state = State::Head(String::new());
                }
                return read;
            }
            State::Json(calls) => {
                if !calls.read(text.as_bytes(), &self.tools, out) {
                    self.release_as_prose(out);
                }
            }
        }
        text.len()
    }

    /// Decides what the text begins.
    fn head(&mut self, head: String, out: &mut Output) {
        let code = head.trim_start_matches(BEFORE);
        let before = head.len() - code.len();
        let is_marked = self.region == Region::Marked;
        if is_marked && code.starts_with('{') {
            let json = JsonCalls::objects(out.held() - head.len(), "name", "arguments");
            self.state = State::Json(Box::new(json));
            return self.text(&head, out);
        }
        let is_list = self.region != Region::Message || head[..before].contains('[');
        let opening = match code {
            _ if self.tools.is_empty() || before > GAP => Opening::Other,
            "" => Opening::Unclear,
            _ if is_list => Opening::of_keywords(code, ""),
            _ => Opening::Other,
        };
        let name = code.split('(').next().unwrap_or_default();
        match opening {
            Opening::Unclear if is_marked || self.begins_declared(name) => {
                self.state = State::Head(head);
                if is_marked {
                    out.hold_head(b"{=)");
                }
            }
            Opening::Call(name, read) if is_marked || self.tools.contains(name) => {
                let (payload, rest) = (self.tools.payload(name), &code[read..]);
                out.drop(out.held() - rest.len());
                out.tool_call(name, payload);
                self.prose.called();
                self.region = if is_marked { Region::Marked } else { Region::List };
                self.in_list |= head[..before].contains('[');
                let arguments = Literals::new(b')', payload).with_bare_strings().in_list(self.in_list);
                self.state = State::Arguments(arguments.of_tool(&self.tools, name));
                self.text(rest, out);
            }
            _ => self.release_as_prose(out),
        }
    }

    /// Whether a declared tool's name begins with `name`.
    fn begins_declared(&self, name: &str) -> bool {
        self.tools.names().any(|declared| declared.starts_with(name))
    }

    /// Routes the held bytes as prose, since they begin no call.
    fn release_as_prose(&mut self, out: &mut Output) {
        if self.region == Region::Marked {
            self.prose.mention(0, out);
        }
        (self.state, self.region) = (State::Prose, Region::Message);
        self.prose.flow(out);
    }

    /// Ends what is open before a marker of `bytes` bytes, or with the turn. A call may be complete
    /// only if neither the token limit nor a cancellation cut it off (`by_itself`).
    fn end(&mut self, mark: Mark, by_itself: bool, bytes: usize, out: &mut Output) {
        let (is_closed, ends_turn) = (mark == Mark::CallsEnd, mark == Mark::TurnEnd);
        match &mut self.state {
            State::Head(head) if is_closed && head.trim_start_matches(BEFORE).is_empty() => {
                out.drop(out.held() - bytes);
            }
            State::Head(head) if ends_turn && (self.region == Region::Marked || head.contains('(')) => {
                out.broken_call(bytes);
            }
            State::Arguments(arguments) => arguments.end(is_closed, by_itself && ends_turn, bytes, out),
            State::Json(calls) => calls.end(is_closed, by_itself, bytes, out),
            State::Role => out.drop(out.held() - bytes),
            State::Prose | State::Between => {}
            State::Head(_) => self.prose.release(bytes, out),
        }
        (self.region, self.state, self.in_list) = (Region::Message, State::Prose, false);
    }
}

parser_sdk::export_parser!(Pythonic);
