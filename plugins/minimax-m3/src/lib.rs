//! Parser for MiniMax-M3: reasoning between `<mm:think>` and `</mm:think>`, and calls whose
//! parameters are tags of their own names.
//!
//! `N<tool_call>\nN<invoke name="NAME">N<city>OsloN</city>N<stops>N<item>RomeN</item>N</stops>N</invoke>\nN</tool_call>`,
//! where `N` is the token `]<]minimax[>[`, as the model's chat template has it; one block holds all
//! calls of a turn. What is nested in a value is nested in its tag: an object's members are tags,
//! and the items of a list are tags called `item`. Strings are raw text, kept to the byte; an empty
//! element is an empty string, list or object, whichever the tool's schema has there. The prompt
//! opens the turn with `]~b]ai\n`, behind which may stand `<mm:think>`, or `</mm:think>` where the
//! model is not to think; `[e~[` ends it.
//!
//! - A tag without the token is text, and so is the token without a tag.
//! - A call behind the token needs no block if its tool is declared. One with text that stands in no
//!   element is incomplete.
//! - Ends of elements may be missing, and the first tag of one, if the last is there. Inside a value
//!   the call's end is text, unless something outside of calls follows.

mod call;
mod tag;

use call::{Call, Progress};
use parser_sdk::{Descriptor, FinishReason, Output, Parser, Prose, Request, Tools, describe};
use tag::{BLOCK, CALL, Tag};

/// The marker before each tag.
const NAMESPACE: &str = "]<]minimax[>[";
const THINK_END: &str = "</mm:think>";

/// What a marker means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Think,
    ThinkEnd,
    /// A tag follows.
    Tag,
    Turn,
    TurnEnd,
}

const MARKS: [(&str, Mark); 5] = [
    ("<mm:think>", Mark::Think),
    (THINK_END, Mark::ThinkEnd),
    (NAMESPACE, Mark::Tag),
    ("]~b]", Mark::Turn),
    ("[e~[", Mark::TurnEnd),
];

/// The state of one stream.
#[derive(Debug)]
pub struct MiniMaxM3 {
    tools: Tools,
    prose: Prose,
    state: State,
    /// Whether the stream is in a block of calls.
    in_block: bool,
}

#[derive(Debug)]
enum State {
    Prose,
    /// Behind a turn's marker, in its role.
    Role,
    /// Behind the marker of a tag: the text since.
    Tag(String),
    /// Behind the tag of a block, which is held; no call came yet.
    Block,
    /// There, behind the marker of a tag.
    BlockTag(String),
    Call(Call),
}

impl Parser for MiniMaxM3 {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        Ok(Descriptor {
            markers: MARKS.map(|(literal, _)| literal.to_owned()).into(),
            stops: vec![4],
            reasoning_end: Some(THINK_END.into()),
            ..describe!("minimax-m3", ["minimax_m3", "minimax_m3_vl"])
        })
    }

    fn start(request: &Request) -> Result<Self, String> {
        let tools = Tools::callable(request);
        Ok(Self { tools, prose: Prose::default(), state: State::Prose, in_block: false })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        let mut text = chunk;
        while !text.is_empty() {
            text = &text[self.read(text, out)..];
        }
        self.look_ahead(out);
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        self.read_marker(index, out);
        self.look_ahead(out);
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        match &self.state {
            State::Call(_) if reason == FinishReason::Stop => self.leave_call(0, out),
            State::Call(_) | State::Role => out.drop_all(),
            State::Block | State::BlockTag(_) => out.broken_call(0),
            State::Tag(_) => self.end_tag(0, out),
            State::Prose => {}
        }
    }
}

impl MiniMaxM3 {
    /// Tells the host to hold what comes, as far as it decides nothing.
    fn look_ahead(&self, out: &mut Output) {
        match &self.state {
            State::Tag(_) | State::BlockTag(_) => out.hold_head(b">"),
            State::Block => out.hold_gap(),
            State::Call(call) => call.look_ahead(out),
            State::Prose | State::Role => {}
        }
    }

    fn read_marker(&mut self, index: usize, out: &mut Output) {
        let (literal, mark) = MARKS[index];
        if let State::Call(call) = &mut self.state {
            if mark == Mark::Tag {
                return call.begin_tag(out);
            }
            if mark != Mark::TurnEnd && call.takes(literal, out) {
                return;
            }
            self.leave_call(literal.len(), out);
        }
        let keep = literal.len();
        match (&self.state, mark) {
            (State::Block, Mark::Tag) => return self.state = State::BlockTag(String::new()),
            (State::Block | State::BlockTag(_), Mark::TurnEnd) => out.broken_call(keep),
            (State::Tag(_), Mark::TurnEnd) => self.end_tag(keep, out),
            (State::Block | State::BlockTag(_) | State::Tag(_), _) => self.prose.mention(keep, out),
            (State::Role, _) => out.drop(out.held() - keep),
            (State::Prose | State::Call(_), _) => {}
        }
        self.mark(mark, out);
    }

    /// Handles a marker outside of calls, which is all that is held.
    fn mark(&mut self, mark: Mark, out: &mut Output) {
        self.state = State::Prose;
        match mark {
            Mark::Tag if !self.tools.is_empty() => self.state = State::Tag(String::new()),
            Mark::Tag => self.prose.flow(out),
            Mark::Think => self.prose.reasoning(out),
            Mark::ThinkEnd => self.prose.content(out),
            Mark::Turn => {
                out.drop_all();
                self.prose.turn_to_content();
                (self.state, self.in_block) = (State::Role, false);
            }
            Mark::TurnEnd => {
                self.in_block = false;
                self.prose.content(out);
            }
        }
    }

    /// Reads the beginning of `text`; returns how many bytes it read.
    fn read(&mut self, text: &str, out: &mut Output) -> usize {
        match &mut self.state {
            State::Prose => self.prose.flow(out),
            State::Role => {
                if out.drop_role(text.as_bytes()).is_none() {
                    return text.len();
                }
                self.state = State::Prose;
                return text.len().saturating_sub(out.held());
            }
            State::Block if text.trim_start().is_empty() => {}
            State::Block => self.release_as_prose(0, out),
            State::Tag(so_far) | State::BlockTag(so_far) => {
                let before = so_far.len();
                so_far.push_str(text);
                return self.tag(before, out).unwrap_or(text.len());
            }
            State::Call(call) => {
                let (read, progress) = call.read(text, &self.tools, out);
                self.follow(progress, text.len() - read, out);
                return read;
            }
        }
        text.len()
    }

    /// Reads the tag that is held outside of calls, of which the first `before` bytes were read
    /// before. Returns how many more it has, if it is whole.
    fn tag(&mut self, before: usize, out: &mut Output) -> Option<usize> {
        let is_first = matches!(self.state, State::BlockTag(_));
        let (State::Tag(text) | State::BlockTag(text)) = &self.state else { return None };
        let (found, length) = tag::read(text);
        let keep = text.len() - length;
        let matters = match &found {
            Tag::Unfinished if tag::may_matter(text, &self.tools) => return None,
            Tag::Call(name) if self.in_block || is_first => self.tools.accepts(name),
            Tag::Call(name) => self.tools.contains(name),
            Tag::Open(name) => name == BLOCK && !is_first,
            Tag::Close(name) if is_first => name == BLOCK,
            Tag::Close(name) => {
                (self.in_block || self.prose.drops(NAMESPACE)) && [BLOCK, CALL].contains(&name.as_str())
            }
            Tag::Unfinished | Tag::Nothing => false,
        };
        if !matters {
            self.release_as_prose(0, out);
            return None;
        }
        match found {
            Tag::Call(name) => self.open(&name, keep, out),
            Tag::Open(_) => self.state = State::Block,
            tag => {
                self.in_block &= tag != Tag::Close(BLOCK.into());
                self.drop_markup(keep, out);
            }
        }
        Some(length - before)
    }

    /// Handles a tag outside of calls in which the turn ends, before a marker of `keep` bytes.
    fn end_tag(&self, keep: usize, out: &mut Output) {
        let State::Tag(text) = &self.state else { return };
        let text = text.trim_start();
        match text.is_empty() || text.starts_with("</") {
            true if self.in_block => out.drop(out.held() - keep),
            true => self.prose.release(keep, out),
            false => out.broken_call(keep),
        }
    }

    /// Opens a call, behind whose tag the `keep` youngest bytes are held.
    fn open(&mut self, name: &str, keep: usize, out: &mut Output) {
        let payload = self.tools.payload(name);
        out.drop(out.held() - keep);
        out.tool_call(name, payload);
        self.prose.called();
        self.in_block = true;
        self.state = State::Call(Call::new(payload, self.tools.find(name)));
    }

    /// Does what follows from the call's progress; the `keep` youngest held bytes are behind it.
    fn follow(&mut self, progress: Progress, keep: usize, out: &mut Output) {
        let State::Call(call) = &self.state else { return };
        if progress == Progress::Inside {
            return;
        }
        match progress {
            Progress::Followed(_) if !call.is_over() => out.message(""),
            _ => call.close(out),
        }
        match progress {
            Progress::Followed(name) => self.open(&name, keep, out),
            progress => {
                self.in_block &= progress != Progress::BlockClosed;
                self.drop_markup(keep, out);
            }
        }
    }

    /// Ends the open call before a marker of `keep` bytes, or with the turn: it is whole or
    /// incomplete.
    fn leave_call(&mut self, keep: usize, out: &mut Output) {
        let State::Call(call) = &self.state else { return };
        out.drop(out.held() - keep);
        if call.is_over() {
            call.close(out);
        } else {
            out.message("");
        }
        self.state = State::Prose;
    }

    /// Drops all held bytes but the `keep` youngest as markup; prose follows.
    fn drop_markup(&mut self, keep: usize, out: &mut Output) {
        self.state = State::Prose;
        out.drop(out.held() - keep);
        if keep == 0 {
            self.prose.flow(out);
        }
    }

    /// Routes all held bytes but the `keep` youngest as prose, since they begin no call.
    fn release_as_prose(&mut self, keep: usize, out: &mut Output) {
        self.state = State::Prose;
        self.prose.mention(keep, out);
        if keep == 0 {
            self.prose.flow(out);
        }
    }
}

parser_sdk::export_parser!(MiniMaxM3);
