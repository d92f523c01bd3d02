//! Formats whose calls stand in a block, each behind a tag with its name, parameter by parameter
//! (MiniMax-M2, DeepSeek's DSML, Kimi K3). Such a parser is a [`BlockFormat`]: a table of markers and
//! a [`Style`] of parameters; [`Blocks`] does the rest.
//!
//! Invariant: a call opens when its tag is complete and the name in it is declared or plausible;
//! only the tag is held until then. A block that begins with anything but a call goes out as prose.
//! An empty block is dropped; an opening that the turn's end cuts off is dropped as a broken call.
//! A call whose parameters are left out for one JSON object has that object as its arguments.
//! Outside a block a call opens if its name is declared and its arguments or its end follow; else,
//! or if the request declares no tools, call markup is text. A call inside reasoning doesn't end
//! the reasoning: text after the call is reasoning up to its end. [`super::CallReader`] says what
//! is markup inside a value, and what words make a call incomplete.

mod format;
mod opening;
mod turn_tag;

use std::marker::PhantomData;

pub use self::format::{BlockFormat, Message, Part};
use self::opening::HELD;
use self::turn_tag::is_role;
use super::{Calls, Tag};
use crate::json::Object;
use crate::{Descriptor, FinishReason, Output, Parser, Payload, Request, Trim};

/// The parser of a [`BlockFormat`], for one stream.
#[derive(Debug)]
pub struct Blocks<F> {
    calls: Calls,
    state: State,
    block: Block,
    /// Whether calls may stand in the present message.
    may_call: bool,
    tag: Tag,
    body: Object,
    format: PhantomData<F>,
}

/// The block around the current position in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    None,
    /// None that was opened, but a call outside one has come.
    Unopened,
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In prose, or in an open call.
    Between,
    /// In the tag that begins a turn.
    Turn,
    /// In words behind a turn's marker that are no tag, up to what ends tags.
    Words,
    /// After the marker of a block, before the first call.
    Announced,
    /// In the tag that begins a call.
    Name,
    /// After that tag outside a block; the tag is held.
    Named,
    /// After the tag of an open call, before the first parameter.
    Opened,
    /// In arguments that are one JSON object.
    Body,
    /// After such arguments.
    Done,
}

impl<F: BlockFormat> Parser for Blocks<F> {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        let is_stop = |(_, (_, part)): &(u32, &(&str, Part))| *part == Part::TurnEnd;
        Ok(Descriptor {
            markers: F::PARTS.iter().map(|(literal, _)| (*literal).into()).collect(),
            stops: (0..).zip(F::PARTS).filter(is_stop).map(|(index, _)| index).collect(),
            trim: Trim { reasoning: true, content: true },
            ..F::describe()
        })
    }

    fn start(request: &Request) -> Result<Self, String> {
        const { assert!(has_block(F::PARTS), "no `Part::Block`: `Tag` and `Calls` read calls without one") };
        let (calls, tag) = (Calls::new(request, F::STYLE), Tag::of(F::STYLE));
        let body = Object::new(Payload::Json);
        let (state, format) = (State::Between, PhantomData);
        Ok(Self { calls, state, block: Block::None, may_call: true, tag, body, format })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        let mut rest = chunk;
        while !rest.is_empty() {
            rest = &rest[self.read(rest, out)..];
        }
        self.look_ahead(out);
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        let (literal, part) = F::PARTS[index];
        if self.state == State::Named && matches!(part, Part::Key | Part::CallEnd | Part::Body) {
            self.open(literal.len(), out);
        }
        match (self.state, part) {
            (State::Opened, Part::Body) if self.takes_json() => return self.begin_body(0, out),
            (State::Body, _) if self.body.in_string() && !out.ends_strings() => {
                return self.text(literal, out);
            }
            (State::Body, _) => {
                // The item of the call ends here, complete or not, so that a later `close` doesn't
                // complete it.
                self.body.end(part == Part::TurnEnd, out);
                out.message("");
            }
            (State::Done, Part::BodyEnd) => return out.drop_all(),
            (State::Between | State::Done, _) | (State::Announced, Part::Call | Part::BlockEnd) => {}
            (State::Words, Part::TagEnd) => {
                self.state = State::Between;
                return self.calls.prose.drop_markup(out);
            }
            (State::Turn, Part::TagEnd) => return self.begin_message(literal.len(), out),
            (State::Turn, _) => self.end_turn_tag(literal.len(), out),
            (State::Words | State::Opened, _) => self.state = State::Between,
            (State::Name, Part::TagEnd)
                if self.tag.tag_name(false).is_some_and(|name| self.fits(name, true)) =>
            {
                return self.end_tag(0, out);
            }
            (State::Announced | State::Name | State::Named, Part::TurnEnd) => out.broken_call(literal.len()),
            (State::Announced | State::Name | State::Named, _) => self.release_as_prose(literal.len(), out),
        }
        if !self.calls.mark(part.in_call(F::STYLE), literal, out) {
            self.outside(index, out);
            self.look_ahead(out);
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        match self.state {
            State::Announced | State::Name | State::Named => out.broken_call(0),
            State::Turn if is_role(self.tag.text(), true) => out.drop_all(),
            State::Body => _ = self.body.end(reason == FinishReason::Stop, out),
            _ => {}
        }
        self.calls.finish(reason, out);
    }
}

/// Whether calls can come at all.
const fn has_block(mut parts: &[(&str, Part)]) -> bool {
    while let [(_, part), rest @ ..] = parts {
        if matches!(part, Part::Block) {
            return true;
        }
        parts = rest;
    }
    false
}

impl<F: BlockFormat> Blocks<F> {
    /// Tells the host to hold what comes, as far as it decides nothing.
    fn look_ahead(&self, out: &mut Output) {
        match self.state {
            State::Name => F::STYLE.hold_tag(out),
            State::Turn => out.hold_head(b""),
            State::Announced | State::Named | State::Opened => out.hold_gap(),
            State::Between | State::Words | State::Body | State::Done => {}
        }
    }

    /// Handles a marker that stands outside an open call.
    fn outside(&mut self, index: usize, out: &mut Output) {
        let (literal, part) = F::PARTS[index];
        let calls = self.may_call && !self.calls.tools.is_empty();
        let prose = &mut self.calls.prose;
        let was_in_block = self.block != Block::None;
        if matches!(part, Part::BlockEnd | Part::Turn | Part::TurnTag | Part::TurnEnd) {
            self.block = Block::None;
        }
        self.state = State::Between;
        match part {
            Part::Think => prose.reasoning(out),
            Part::ThinkEnd | Part::Content | Part::TurnEnd => prose.content(out),
            Part::Turn => self.calls.begin_turn(out),
            Part::TurnTag => {
                out.drop_all();
                self.tag.begin();
                self.state = State::Turn;
            }
            Part::Markup => prose.drop_markup(out),
            Part::Block if calls => (self.state, self.block) = (State::Announced, Block::Open),
            Part::Call if calls => {
                self.state = State::Name;
                self.tag.begin_behind(literal);
            }
            Part::BlockEnd
            | Part::CallEnd
            | Part::Body
            | Part::BodyEnd
            | Part::Key
            | Part::TagEnd
            | Part::ValueEnd
                if was_in_block =>
            {
                prose.drop_markup(out);
            }
            Part::BlockEnd | Part::CallEnd | Part::BodyEnd | Part::ValueEnd if calls => {
                prose.end_of_call(literal, out);
            }
            _ => prose.flow(out),
        }
    }

    /// Reads the beginning of `text`. Returns how many bytes it read, as `read_tag` does.
    fn read(&mut self, text: &str, out: &mut Output) -> usize {
        match self.state {
            State::Between | State::Words => self.calls.text(text, out),
            State::Turn => {
                self.tag.push(text);
                if out.held() > Tag::LONGEST || !is_role(self.tag.text(), true) {
                    // Nobody knows whom these words are for.
                    self.may_call = true;
                    self.end_turn_tag(0, out);
                    self.state = State::Words;
                }
            }
            State::Announced if text.trim_start().is_empty() && out.held() <= HELD => {}
            State::Announced => self.release_as_prose(0, out),
            State::Name => return self.read_tag(text, out),
            State::Named => return self.read_behind_tag(text, out),
            State::Opened => return self.read_opening(text, out),
            State::Body => return self.read_body(text, out),
            State::Done if text.trim_start().is_empty() => out.drop_all(),
            State::Done => {
                self.state = State::Between;
                self.calls.prose.flow(out);
            }
        }
        text.len()
    }

    /// Begins arguments that are one JSON object, of which the `keep` youngest bytes are held.
    fn begin_body(&mut self, keep: usize, out: &mut Output) {
        out.drop(out.held() - keep);
        self.calls.hand_over();
        (self.state, self.body) = (State::Body, Object::new(Payload::Json));
    }

    fn read_body(&mut self, text: &str, out: &mut Output) -> usize {
        let end = self.body.read(text.as_bytes(), out);
        if end.is_some() {
            self.state = State::Done;
        }
        end.unwrap_or(text.len())
    }

    /// Routes the held bytes but the `keep` youngest as prose, since they begin no call.
    fn release_as_prose(&mut self, keep: usize, out: &mut Output) {
        (self.state, self.block) = (State::Between, Block::None);
        self.calls.prose.mention(keep, out);
    }
}
