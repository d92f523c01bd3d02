//! Formats whose calls stand in a block, each behind a tag with its name, parameter by parameter (MiniMax-M2, DeepSeek's DSML, Kimi K3).
//! Such a parser is a [`Format`]: a table of markers and a [`Style`] of parameters; [`Blocks`] does the rest.
//!
//! Invariant: a call opens when its tag is complete and the name in it is declared or plausible; only the tag is held until then. A block
//! that begins with anything but a call goes out as prose. An empty block is dropped; an opening that the turn's end cuts off is dropped
//! as a broken call. Outside a block, or if the request declares no tools, call markup is text. A call inside reasoning doesn't end the
//! reasoning: text after the call is reasoning up to its end. [`super::CallReader`] says what is markup inside a value.

use std::marker::PhantomData;

use super::{Calls, Mark, Style, Tag, Tagged};
use crate::grammar;
use crate::{Descriptor, FinishReason, Output, Parser, Request, Tools, Trim};

/// A format with calls in a block; [`Blocks`] is its parser.
///
/// ```
/// use parser_sdk::params::{Blocks, Format, Part, Style};
/// use parser_sdk::testing::{Item, play, request};
/// use parser_sdk::{Descriptor, FinishReason};
///
/// /// `[calls][call "NAME">[set "KEY">VALUE[end][done][/calls]`.
/// struct Brackets;
///
/// impl Format for Brackets {
///     const PARTS: &'static [(&'static str, Part)] = &[
///         ("[calls]", Part::Block),
///         ("[/calls]", Part::BlockEnd),
///         ("[call ", Part::Call),
///         ("[done]", Part::CallEnd),
///         ("[set ", Part::Key),
///         ("[end]", Part::ValueEnd),
///     ];
///     const STYLE: Style = Style::Quoted;
///
///     fn describe() -> Descriptor {
///         Descriptor { name: "brackets".into(), version: "0.1.0".into(), ..Descriptor::default() }
///     }
/// }
///
/// let output = ["Sure.[calls][call \"add\">[set \"word\">one[end][done][/calls]"];
/// let items = play::<Blocks<Brackets>>(&request(&["add"]), "", output, FinishReason::Stop);
/// assert_eq!(items, [Item::message("Sure."), Item::call("add", "{\"word\": \"one\"}")]);
/// ```
pub trait Format {
    /// The markers' literals and meanings.
    const PARTS: &'static [(&'static str, Part)];
    /// How the format spells a parameter.
    const STYLE: Style;

    /// What the message of a tag is; `tag` is what stands between [`Part::TurnTag`] and [`Part::TagEnd`].
    fn message(tag: &str) -> Message {
        let _ = tag;
        Message::Calls
    }

    /// The tool's name, given what a call's tag says.
    fn name<'a>(said: &'a str, tools: &Tools) -> &'a str {
        let _ = tools;
        said
    }

    /// The parser's descriptor; [`Blocks`] fills in its markers, stops and trim.
    fn describe() -> Descriptor;

    /// [`Parser::constrain`]. By default the format has no grammar, and demanded calls are refused.
    ///
    /// # Errors
    /// One line saying what can't be expressed.
    fn constrain(request: &Request) -> Result<Option<String>, String> {
        if grammar::is_free(request) { Ok(None) } else { Err(grammar::NO_GRAMMAR.into()) }
    }
}

/// What a message is, in formats whose turns have several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// Reasoning, in which call markup is text.
    Reasoning,
    /// Content, in which call markup is text.
    Content,
    /// Content and calls.
    Calls,
}

/// Meaning of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Reasoning begins.
    Think,
    /// Reasoning ends.
    ThinkEnd,
    /// Content begins.
    Content,
    /// Calls follow.
    Block,
    /// No more calls follow.
    BlockEnd,
    /// A call begins with the tag that has its name.
    Call,
    /// A call ends.
    CallEnd,
    /// A parameter begins with the tag that has its key.
    Key,
    /// A tag ends, in formats that end tags by a marker.
    TagEnd,
    /// A parameter's value ends.
    ValueEnd,
    /// A turn begins; the rest of the line names its role.
    Turn,
    /// A turn or a message of it begins; what follows up to the end of the tag says whose it is.
    TurnTag,
    /// The model's turn ends.
    TurnEnd,
    /// Markup without a meaning here.
    Markup,
}

/// The parser of a [`Format`], for one stream.
#[derive(Debug)]
pub struct Blocks<F> {
    calls: Calls,
    state: State,
    /// Whether the stream is in a block in which calls may stand.
    in_block: bool,
    /// Whether calls may stand in the present message.
    may_call: bool,
    tag: Tag,
    format: PhantomData<F>,
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
        let (calls, tag) = (Calls::new(request, F::STYLE), Tag::of(F::STYLE));
        Ok(Self { calls, state: State::Between, in_block: false, may_call: true, tag, format: PhantomData })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        let mut rest = chunk;
        while !rest.is_empty() {
            rest = &rest[self.read(rest, out)..];
        }
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        let (literal, part) = F::PARTS[index];
        match (self.state, part) {
            (State::Between, _) | (State::Announced, Part::Call | Part::BlockEnd) => {}
            (State::Turn, Part::TagEnd) => return self.begin_message(out),
            (State::Turn, _) => self.state = State::Between,
            (State::Name, Part::TagEnd) if self.calls.tools.accepts(self.tag.name()) => {
                return self.open(0, out);
            }
            (State::Announced | State::Name, Part::TurnEnd) => out.broken_call(literal.len()),
            (State::Announced | State::Name, _) => self.release_as_prose(literal.len(), out),
        }
        if !self.calls.mark(part.in_call(F::STYLE), literal, out) {
            self.outside(part, out);
        }
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        if matches!(self.state, State::Announced | State::Name) {
            out.broken_call(0);
        }
        self.calls.finish(reason, out);
    }

    fn constrain(request: &Request) -> Result<Option<String>, String> {
        F::constrain(request)
    }
}

impl<F: Format> Blocks<F> {
    /// Handles a marker that stands outside an open call.
    fn outside(&mut self, part: Part, out: &mut Output) {
        let calls = self.may_call && !self.calls.tools.is_empty();
        let prose = &mut self.calls.prose;
        let was_in_block = self.in_block;
        self.in_block &= !matches!(part, Part::BlockEnd | Part::Turn | Part::TurnTag | Part::TurnEnd);
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
            Part::Block if calls => (self.state, self.in_block) = (State::Announced, true),
            Part::Call if self.in_block => {
                self.state = State::Name;
                self.tag.begin();
            }
            Part::BlockEnd | Part::CallEnd | Part::Key | Part::TagEnd | Part::ValueEnd if was_in_block => {
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
                out.drop_all();
                self.tag.push(text);
            }
            State::Announced if text.trim_start().is_empty() => {}
            State::Announced => self.release_as_prose(0, out),
            State::Name => return self.read_tag(text, out),
        }
        text.len()
    }

    /// Begins the message whose tag has been read.
    fn begin_message(&mut self, out: &mut Output) {
        let message = F::message(self.tag.text());
        (self.state, self.may_call) = (State::Between, message == Message::Calls);
        match message {
            Message::Reasoning => self.calls.prose.reasoning(out),
            Message::Content | Message::Calls => self.calls.prose.content(out),
        }
    }

    fn read_tag(&mut self, text: &str, out: &mut Output) -> usize {
        let tools = &self.calls.tools;
        let fits = |name: &str, is_whole| if is_whole { tools.accepts(name) } else { tools.may_begin(name) };
        match self.tag.read(text, fits) {
            Tagged::Whole(read) => {
                self.open(text.len() - read, out);
                return read;
            }
            Tagged::Nothing => self.release_as_prose(0, out),
            Tagged::Unfinished => {}
        }
        text.len()
    }

    /// Opens the call of the tag, behind which the `keep` youngest bytes are held.
    fn open(&mut self, keep: usize, out: &mut Output) {
        let name = F::name(self.tag.name(), &self.calls.tools);
        self.calls.open(name, keep, out);
        self.state = State::Between;
    }

    /// Routes the held bytes but the `keep` youngest as prose, since they begin no call.
    fn release_as_prose(&mut self, keep: usize, out: &mut Output) {
        (self.state, self.in_block) = (State::Between, false);
        self.calls.prose.release(keep, out);
    }
}

impl Part {
    /// What the marker means inside a call. Where a marker ends tags, the one that begins a call isn't text, so no header need be read
    /// before the call in front of it ends.
    fn in_call(self, style: Style) -> Mark {
        match self {
            Self::Block | Self::BlockEnd => Mark::Outside,
            Self::Call if style.ends_by_marker() => Mark::Outside,
            Self::Call => Mark::Call,
            Self::CallEnd => Mark::End,
            Self::Key => Mark::Key,
            Self::TagEnd if style.ends_by_marker() => Mark::Value,
            Self::ValueEnd => Mark::ValueEnd,
            Self::TurnEnd => Mark::Stop,
            _ => Mark::Other,
        }
    }
}
