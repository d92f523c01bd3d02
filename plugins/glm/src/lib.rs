//! Parser for GLM 4.5 to 4.7: `<think>` reasoning and calls written as pairs of keys and values,
//! typed by the tool's schema.
//!
//! `<tool_call>NAME\n<arg_key>KEY</arg_key>\n<arg_value>VALUE</arg_value>\n…</tool_call>`, as in
//! the models' chat templates; from 4.7 on without the newlines. A string is raw text and kept to
//! the byte, other values are JSON. Each marker is one token. The turn ends at the marker of the
//! next role. The host routes prose and string values up to the next marker without calling the
//! parser.
//!
//! A call opens when a key follows a declared or plausible name, or the call's end or a misplaced
//! marker of a value, which makes the call incomplete, a declared one:
//! `<tool_call>x</tool_call>` is prose where no tool is called `x`. Until then its bytes are held,
//! and they go out as prose if something else follows. A second `<tool_call>` may stand in the place of
//! `<arg_key>`. At the turn's end a call opens if its name is declared and complete, and is dropped as
//! a broken call otherwise. Empty blocks are dropped.
//! If the request declares no tools, call markup is text.
//!
//! A call inside reasoning doesn't end the reasoning: text after the call is reasoning up to
//! `</think>`. Where a model leaves out `</think>`, all text after the call is reasoning: the
//! client has the call, and the answer comes in a later turn.

use parser_sdk::params::{CallMark, Calls, Style};
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Payload, Request, describe};

parser_sdk::markers! {
    THINK = "<think>",
    THINK_END = "</think>",
    CALL = "<tool_call>",
    CALL_END = "</tool_call>",
    "<arg_key>",
    KEY_END = "</arg_key>",
    "<arg_value>",
    VALUE_END = "</arg_value>",
    "<|assistant|>",
    "<|system|>",
    USER = "<|user|>",
    OBSERVATION = "<|observation|>",
    TURN_END = "<|endoftext|>",
    // Of Ling 3, whose tokenizer has none of those before: no stop, which every tokenizer would have to
    // have for a constrained call, and so text inside of calls.
    "<|role_end|>",
}

/// Longest name of a tool, in bytes.
const NAME: usize = 256;

/// The state of one stream.
#[derive(Debug)]
pub struct Glm {
    calls: Calls,
    state: State,
    name: String,
    /// A declared tool's name before a `<tool_call>` that may stand in the place of `<arg_key>`, and how
    /// many held bytes end there.
    before: Option<(String, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In prose, or in an open call.
    Between,
    /// After `<tool_call>`.
    Name,
}

impl Parser for Glm {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        let models = ["glm4_moe", "glm4_moe_lite", "glm4v_moe", "glm_moe_dsa"];
        Ok(Descriptor {
            reasoning_end: Some("</think>".into()),
            ..describe!("glm", models, [USER, OBSERVATION, TURN_END])
        })
    }

    fn start(request: &Request) -> Result<Self, String> {
        let (calls, name) = (Calls::new(request, Style::Elements), String::new());
        Ok(Self { calls, state: State::Between, name, before: None })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        match self.state {
            State::Name => {
                self.read_name(chunk, out);
                if self.state == State::Name {
                    out.hold_head(b"");
                }
            }
            State::Between => self.calls.text(chunk, out),
        }
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        let (literal, mark) = (MARKERS[index], mark(index));
        if self.state == State::Name {
            self.settle_before(mark, literal.len(), out);
        }
        if self.state == State::Name {
            match mark {
                CallMark::Call if self.names_a_tool() => {
                    self.before = Some((self.name.trim().to_owned(), out.held() - literal.len()));
                    self.name.clear();
                    return out.hold_head(b"");
                }
                CallMark::Key if self.has_name() => self.open("", literal.len(), out),
                CallMark::End if self.name.trim().is_empty() => {
                    self.state = State::Between;
                    out.drop_all();
                }
                CallMark::End | CallMark::Stop | CallMark::Value | CallMark::ValueEnd
                    if self.names_a_tool() =>
                {
                    self.open("", literal.len(), out);
                }
                CallMark::Stop => out.broken_call(literal.len()),
                CallMark::KeyEnd => self.split_name(literal.len(), out),
                _ => self.release_as_prose(literal.len(), out),
            }
        }
        if !self.calls.mark(mark, literal, out) {
            self.outside(index, out);
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        self.release_before(out);
        let is_whole = reason == FinishReason::Stop || self.name.ends_with(char::is_whitespace);
        if self.state == State::Name {
            if is_whole && self.names_a_tool() {
                self.open("", 0, out);
            } else {
                out.broken_call(0);
            }
        }
        self.calls.finish(reason, out);
    }
}

impl Glm {
    /// Handles a marker that stands outside an open call.
    fn outside(&mut self, index: usize, out: &mut Output) {
        let (calls, prose) = (!self.calls.tools.is_empty(), &mut self.calls.prose);
        match index {
            THINK => prose.reasoning(out),
            CALL if calls => {
                self.state = State::Name;
                self.name.clear();
                out.hold_head(b"");
            }
            CALL_END | KEY_END | VALUE_END if calls => prose.end_of_call(MARKERS[index], out),
            THINK_END | 8.. => prose.content(out),
            _ => prose.flow(out),
        }
    }

    /// Reads text of a call's name. A second word may be a key whose marker was left out, or the
    /// beginning of a custom tool's input; a third word shows that there is no call.
    fn read_name(&mut self, text: &str, out: &mut Output) {
        let (before, tools) = (self.name.len(), &self.calls.tools);
        self.name.push_str(text);
        let words = self.name.trim_start();
        let (name, second) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let second = second.trim_start();
        let (head, body) = (self.name.len() - second.len(), second.len());
        if body > 0 && head <= NAME && tools.payload(name) == Payload::Text {
            self.release_before(out);
            self.name.truncate(head);
            self.open("", body, out);
            return self.text(&text[self.name.len() - before..], out);
        }
        let has_words = second.trim_end().contains(char::is_whitespace);
        let may_be = if second.is_empty() { tools.may_begin(name) } else { tools.contains(name) };
        if has_words || self.name.len() > NAME || !may_be {
            self.release_as_prose(0, out);
        }
    }

    /// Whether the text after `<tool_call>` is a declared or plausible name.
    fn has_name(&self) -> bool {
        self.calls.tools.accepts(self.name.trim())
    }

    fn names_a_tool(&self) -> bool {
        self.calls.tools.contains(self.name.trim())
    }

    /// Handles the end of a key whose beginning was left out: the name and the key were read as one
    /// word or as two.
    fn split_name(&mut self, keep: usize, out: &mut Output) {
        let words = self.name.trim();
        let names = self.calls.tools.names().filter(|name| words.starts_with(name));
        if let Some(name) = names.max_by_key(|name| name.len()).map(str::to_owned) {
            let key = words[name.len()..].trim_start().to_owned();
            if self.calls.arguments(&name).expects(&key) {
                self.name = name;
                return self.open(&key, keep, out);
            }
        }
        self.release_as_prose(keep, out);
    }

    /// Decides what the `<tool_call>` behind a tool's name was, at the next marker, of `keep` bytes: it
    /// began a key, if an expected one ends here, or else a call.
    fn settle_before(&mut self, mark: CallMark, keep: usize, out: &mut Output) {
        let is_key = |(name, _): &mut (String, usize)| {
            mark == CallMark::KeyEnd && self.calls.arguments(name).expects(self.name.trim())
        };
        if let Some((name, _)) = self.before.take_if(is_key) {
            let key = std::mem::replace(&mut self.name, name);
            self.open(&key, keep, out);
        }
        self.release_before(out);
    }

    /// Routes the name that is held before another `<tool_call>` as prose: it began no call.
    fn release_before(&mut self, out: &mut Output) {
        if let Some((_, bytes)) = self.before.take() {
            self.calls.prose.mention(out.held() - bytes, out);
        }
    }

    /// Opens the call, inside its first key if `key` isn't empty. The `keep` youngest held bytes
    /// stand after the header.
    fn open(&mut self, key: &str, keep: usize, out: &mut Output) {
        let call = self.calls.open(self.name.trim(), keep, out);
        if !key.is_empty() {
            call.begin_in_key(key);
        }
        self.state = State::Between;
    }

    /// Routes the held bytes but the `keep` youngest as prose, since they begin no call.
    fn release_as_prose(&mut self, keep: usize, out: &mut Output) {
        (self.state, self.before) = (State::Between, None);
        self.calls.prose.mention(keep, out);
    }
}

/// What a marker means inside a call.
fn mark(index: usize) -> CallMark {
    match index {
        CALL => CallMark::Call,
        CALL_END => CallMark::End,
        4 => CallMark::Key,
        KEY_END => CallMark::KeyEnd,
        6 => CallMark::Value,
        VALUE_END => CallMark::ValueEnd,
        10..=12 => CallMark::Stop,
        _ => CallMark::Other,
    }
}

parser_sdk::export_parser!(Glm);
