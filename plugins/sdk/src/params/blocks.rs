//! Formats whose calls stand in a block, each behind a tag with its name, parameter by parameter
//! (MiniMax-M2, DeepSeek's DSML, Kimi K3). Such a parser is a [`Format`]: a table of markers and a
//! [`Style`] of parameters; [`Blocks`] does the rest.
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

use std::marker::PhantomData;

pub use self::format::{Format, Message, Part};
use super::{Calls, Tag, Tagged};
use crate::json::Object;
use crate::{Descriptor, FinishReason, Output, Parser, Payload, Request, Trim};

/// The parser of a [`Format`], for one stream.
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

impl<F: Format> Parser for Blocks<F> {
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
            (State::Turn, Part::TagEnd) => return self.begin_message(literal.len(), out),
            (State::Turn, _) => self.end_turn_tag(literal.len(), out),
            (State::Opened, _) => self.state = State::Between,
            (State::Name, Part::TagEnd) if self.fits(self.tag.name(), true) && self.tag.is_tag(false) => {
                return self.end_tag(0, out);
            }
            (State::Announced | State::Name | State::Named, Part::TurnEnd) => out.broken_call(literal.len()),
            (State::Announced | State::Name | State::Named, _) => self.release_as_prose(literal.len(), out),
        }
        if !self.calls.mark(part.in_call(F::STYLE), literal, out) {
            self.outside(part, out);
            self.look_ahead(out);
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        match self.state {
            State::Announced | State::Name | State::Named => out.broken_call(0),
            State::Turn => self.end_turn_tag(0, out),
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

/// Whether the tag of a turn names no more than a role and attributes.
fn is_role(tag: &str) -> bool {
    let mut words = tag.split_whitespace().skip_while(|word| word.contains('='));
    words.next();
    words.all(|word| word.contains('='))
}

impl<F: Format> Blocks<F> {
    /// Tells the host to hold what comes, as far as it decides nothing.
    fn look_ahead(&self, out: &mut Output) {
        match self.state {
            State::Name => F::STYLE.hold_tag(out),
            State::Turn => out.hold_head(b""),
            State::Announced | State::Named | State::Opened => out.hold_gap(),
            State::Between | State::Body | State::Done => {}
        }
    }

    /// Handles a marker that stands outside an open call.
    fn outside(&mut self, part: Part, out: &mut Output) {
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
                self.tag.begin();
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
            _ => prose.flow(out),
        }
    }

    /// Reads the beginning of `text`. Returns how many bytes it read, as `read_tag` does.
    fn read(&mut self, text: &str, out: &mut Output) -> usize {
        match self.state {
            State::Between => self.calls.text(text, out),
            State::Turn => {
                self.tag.push(text);
                if out.held() > Tag::LONGEST {
                    self.end_turn_tag(0, out);
                }
            }
            State::Announced if text.trim_start().is_empty() => {}
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

    /// Begins the message whose tag has been read; the `keep` youngest held bytes end the tag.
    fn begin_message(&mut self, keep: usize, out: &mut Output) {
        self.end_turn_tag(keep, out);
        let message = F::message(self.tag.text());
        self.may_call = message == Message::Calls;
        match message {
            Message::Reasoning => self.calls.prose.reasoning(out),
            Message::Content | Message::Calls => self.calls.prose.content(out),
        }
    }

    /// Drops the tag that begins a turn, but for the `keep` youngest held bytes. If it has more words
    /// than a role and attributes, it is prose.
    fn end_turn_tag(&mut self, keep: usize, out: &mut Output) {
        let is_markup = out.held() <= Tag::LONGEST + keep && is_role(self.tag.text());
        self.state = State::Between;
        if is_markup {
            out.drop(out.held() - keep);
        } else {
            self.calls.prose.release(keep, out);
        }
    }

    /// Whether a call here may have this name or, unless `is_whole`, a name that begins with it.
    fn fits(&self, name: &str, is_whole: bool) -> bool {
        let tools = &self.calls.tools;
        match is_whole {
            false => tools.may_begin(name),
            true if self.block == Block::Open => tools.accepts(name),
            true => tools.contains(tools.resolve(name)),
        }
    }

    fn read_tag(&mut self, text: &str, out: &mut Output) -> usize {
        let mut tag = std::mem::take(&mut self.tag);
        let tagged = tag.read(text, |name, is_whole| self.fits(name, is_whole));
        self.tag = tag;
        match tagged {
            Tagged::Whole(read) => {
                self.end_tag(text.len() - read, out);
                return read;
            }
            Tagged::Nothing => self.release_as_prose(0, out),
            Tagged::Unfinished => {}
        }
        text.len()
    }

    /// Begins what follows the tag of a call, behind which the `keep` youngest bytes are held.
    fn end_tag(&mut self, keep: usize, out: &mut Output) {
        if self.block == Block::Open { self.open(keep, out) } else { self.state = State::Named }
    }

    /// Reads text behind the tag of a call outside a block: white space, or the beginning of its
    /// arguments. Other text shows that there is no call.
    fn read_behind_tag(&mut self, text: &str, out: &mut Output) -> usize {
        let behind = text.trim_start();
        let begins = !self.takes_json() || behind.starts_with('{');
        match behind.len() {
            0 => {}
            keep if begins => self.open(keep, out),
            keep => self.release_as_prose(keep, out),
        }
        text.len() - behind.len()
    }

    /// Reads text between the tag of a call and its first parameter, where the arguments may begin
    /// as one JSON object.
    fn read_opening(&mut self, text: &str, out: &mut Output) -> usize {
        let behind = text.trim_start();
        if behind.starts_with('{') && self.takes_json() {
            self.begin_body(behind.len(), out);
            return text.len() - behind.len();
        }
        if !behind.is_empty() {
            self.state = State::Between;
        }
        self.calls.text(text, out);
        text.len()
    }

    /// Whether the call that was opened last has JSON arguments.
    fn takes_json(&self) -> bool {
        let tools = &self.calls.tools;
        tools.payload(tools.resolve(self.tag.name())) == Payload::Json
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

    /// Opens the call of the tag, behind which the `keep` youngest bytes are held.
    fn open(&mut self, keep: usize, out: &mut Output) {
        let name = self.calls.tools.resolve(self.tag.name()).to_owned();
        self.calls.open(&name, keep, out);
        self.state = State::Opened;
        if self.block == Block::None {
            self.block = Block::Unopened;
        }
    }

    /// Routes the held bytes but the `keep` youngest as prose, since they begin no call.
    fn release_as_prose(&mut self, keep: usize, out: &mut Output) {
        (self.state, self.block) = (State::Between, Block::None);
        self.calls.prose.release(keep, out);
    }
}
