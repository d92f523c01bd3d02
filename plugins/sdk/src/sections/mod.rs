//! Formats with a token for each part of a call (Kimi K2, DeepSeek): a section of calls, and in
//! each call a header, a separator and arguments. A format may lack the markers around sections,
//! around reasoning, and the one that ends a call: its arguments then end with their JSON object.
//! Such a parser is a [`Format`]: a table of markers, a rule for names, a spelling of calls;
//! [`Sections`] does the rest.
//!
//! Invariant: a call opens when its header is whole, and its arguments go out until a marker says
//! that they end; only a header of bounded length is held, and what [`crate::json::ArgumentsText`]
//! holds. Inside arguments all markers that don't end them are text, and inside a string all but
//! the turn's end and those that are tokens: these break the call off. A call is over with its
//! JSON: text behind it that names a declared tool, as a header without its marker does, is the
//! next call, and all else is prose. A header without its marker counts at a message's beginning and
//! in a section, too, if its separator follows. Text that turns out to be no header, since no tool can
//! have the name that it says, goes out as prose with what follows it; in a section, whose own markers
//! are dropped, without the marker before it. A header that the turn's end cuts off is the opening of a
//! broken call and is dropped, as is a call without anything in it. Where no tool may be called, calls
//! are text.
//!
//! A section inside reasoning doesn't end the reasoning, which goes on behind the section up to its
//! own end marker. Where a model leaves that marker out, what it writes after the section stays
//! reasoning: the client has the calls, and the answer comes in a later turn.

mod arguments;
mod called;
mod header;
mod mark;

use std::marker::PhantomData;

use self::arguments::ArgumentsReader;
use self::header::{Head, Header};
pub use self::mark::Mark;
use crate::{Descriptor, FinishReason, Output, Parser, Prose, Request, Tools, Trim};

/// A format with a token for each part of a call; [`Sections`] is its parser.
///
/// ```
/// use parser_sdk::sections::{Format, Mark, Sections};
/// use parser_kit::{Item, play, request};
/// use parser_sdk::{Descriptor, FinishReason};
///
/// /// `[CALL]NAME[ARGS]{…}[END]`.
/// struct Brackets;
///
/// impl Format for Brackets {
///     const MARKS: &'static [(&'static str, Mark)] =
///         &[("[CALL]", Mark::Call), ("[ARGS]", Mark::Separator), ("[END]", Mark::CallEnd)];
///
///     fn describe() -> Descriptor {
///         Descriptor { name: "brackets".into(), version: "0.1.0".into(), ..Descriptor::default() }
///     }
/// }
///
/// let output = ["Sure.[CALL]add[ARGS]{\"a\": 1}[END]"];
/// let items = play::<Sections<Brackets>>(&request(&["add"]), "", output, FinishReason::Stop);
/// assert_eq!(items, [Item::message("Sure."), Item::call("add", "{\"a\": 1}")]);
/// ```
pub trait Format {
    /// The markers' literals and meanings.
    const MARKS: &'static [(&'static str, Mark)];
    /// The word before the separator, in formats where the name follows the separator (DeepSeek V3:
    /// `function`).
    const KIND: Option<&'static str> = None;

    /// Whether `text`, at a message's beginning or in a section, may be a header whose marker was left
    /// out, or begin one: it is held then.
    fn may_begin(text: &str, tools: &Tools) -> bool {
        tools.names().any(|name| name.starts_with(text))
    }

    /// The parser's descriptor; [`Sections`] fills in its markers, stops and trim.
    fn describe() -> Descriptor;

    /// The tool's name, given what a header says; never empty.
    fn name(header: &str, tools: &Tools) -> String {
        let _ = tools;
        header.to_owned()
    }
}

/// The parser of a [`Format`], for one stream.
#[derive(Debug)]
pub struct Sections<F> {
    tools: Tools,
    prose: Prose,
    state: State,
    /// Whether a section is open.
    in_section: bool,
    format: PhantomData<F>,
}

#[derive(Debug)]
enum State {
    Prose,
    /// After text that was no header: markers that would belong to its call are text, too.
    Mentioned,
    Role,
    Header(Header),
    Arguments(ArgumentsReader),
    /// At a message's beginning, or in a section: text that may be a header without its marker, all
    /// held.
    Start(Header),
    /// After a call's JSON, before a marker: text that may be the header of a call without its
    /// marker, all held.
    Called(Header),
    /// There, in prose.
    Behind,
}

impl<F: Format> Parser for Sections<F> {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        let is_stop = |(_, (_, mark)): &(u32, &(&str, Mark))| *mark == Mark::TurnEnd;
        Ok(Descriptor {
            markers: Self::markers(),
            stops: (0..).zip(F::MARKS).filter(is_stop).map(|(index, _)| index).collect(),
            trim: Trim { reasoning: true, content: true },
            ..F::describe()
        })
    }

    fn start(request: &Request) -> Result<Self, String> {
        let (tools, prose) = (Tools::callable(request), Prose::default());
        let state = State::Start(Header::default());
        Ok(Self { tools, prose, state, in_section: false, format: PhantomData })
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        match &mut self.state {
            State::Prose | State::Behind | State::Mentioned => self.prose.flow(out),
            State::Role => {
                if out.drop_role(chunk.as_bytes()).is_some() {
                    self.state = State::Prose;
                    self.prose.flow(out);
                }
            }
            State::Header(header) => {
                if header.push(chunk) {
                    self.read_header(0, out);
                }
                self.look_ahead(out);
            }
            State::Arguments(arguments) => {
                let Some(end) = arguments.text(chunk, out) else { return };
                self.call_ended(&chunk[end..], out);
            }
            State::Start(_) => self.at_start(chunk, out),
            State::Called(_) => self.after_call(chunk, out),
        }
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        let (literal, mark) = F::MARKS[index];
        let settled = match &mut self.state {
            State::Header(_) => self.mark_in_header(mark, literal, out),
            State::Arguments(arguments) if arguments.is_text(mark, out.ends_strings()) => {
                arguments.interrupt();
                return self.text(literal, out);
            }
            State::Arguments(arguments) => arguments.mark(mark, out),
            State::Role => {
                out.drop(out.held() - literal.len());
                false
            }
            State::Start(_) | State::Called(_) | State::Behind => self.mark_after_call(mark, literal, out),
            _ => false,
        };
        if !settled {
            self.mark_in_prose(mark, literal, out);
        }
        self.look_ahead(out);
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        match &mut self.state {
            State::Role => out.drop_all(),
            State::Arguments(arguments) => arguments.finish(reason == FinishReason::Stop, out),
            State::Header(header) if header.is_opening() => out.broken_call(0),
            _ => self.prose.release(0, out),
        }
    }
}

impl<F: Format> Sections<F> {
    fn markers() -> Vec<String> {
        F::MARKS.iter().map(|(literal, _)| (*literal).into()).collect()
    }

    /// Tells the host to hold what comes, as far as it decides nothing.
    fn look_ahead(&self, out: &mut Output) {
        if matches!(self.state, State::Header(_)) {
            out.hold_head(header::ENDS);
        }
    }

    /// Opens the call if its header is whole. The `keep` youngest bytes belong to a marker.
    fn read_header(&mut self, keep: usize, out: &mut Output) {
        let State::Header(header) = &self.state else { return };
        let call = match header.head(F::KIND) {
            Head::Unfinished => return,
            Head::Says(says, at) => Some((F::name(says, &self.tools), header.text[at..].to_owned())),
            Head::Nothing => None,
        };
        if let Some((name, arguments)) = call.filter(|(name, _)| self.tools.accepts(name)) {
            return self.open(name, &arguments, out);
        }
        self.release_as_prose(keep, out);
        if keep == 0 {
            self.prose.flow(out);
        }
    }

    /// Opens a call. The held bytes are its header and the beginning of its arguments.
    fn open(&mut self, name: String, arguments: &str, out: &mut Output) {
        let payload = self.tools.payload(&name);
        out.drop(out.held() - arguments.len());
        out.tool_call(name, payload);
        self.state = State::Arguments(ArgumentsReader::new(payload, Self::has_end()));
        self.text(arguments, out);
    }

    /// Reads a marker in a header. Returns whether the marker is dealt with.
    fn mark_in_header(&mut self, mark: Mark, literal: &str, out: &mut Output) -> bool {
        let State::Header(header) = &mut self.state else { return false };
        match mark {
            Mark::TurnEnd if header.is_opening() => {
                out.broken_call(literal.len());
                self.state = State::Prose;
                return false;
            }
            Mark::CallEnd | Mark::SectionEnd if header.is_empty() => {
                self.state = State::Prose;
                return false;
            }
            Mark::Separator if header.separator.is_none() => header.separator = Some(header.text.len()),
            Mark::Separator | Mark::CallEnd | Mark::SectionEnd => header.ended = true,
            _ => {
                self.release_as_prose(literal.len(), out);
                return false;
            }
        }
        self.read_header(literal.len(), out);
        match &mut self.state {
            State::Arguments(arguments) if mark != Mark::Separator => {
                arguments.close(out);
                false
            }
            State::Header(_) | State::Arguments(_) => true,
            _ => false,
        }
    }

    /// Releases the held bytes as prose, since they are no call, but for the `keep` youngest bytes.
    fn release_as_prose(&mut self, keep: usize, out: &mut Output) {
        let State::Header(header) = &self.state else { return };
        let is_mentioned = !self.in_section && header.opening > 0;
        if self.in_section {
            out.drop(header.opening);
        }
        self.prose.release(keep, out);
        self.state = if is_mentioned { State::Mentioned } else { State::Prose };
    }

    fn mark_in_prose(&mut self, mark: Mark, literal: &str, out: &mut Output) {
        let is_call =
            matches!(mark, Mark::Section | Mark::SectionEnd | Mark::Call | Mark::Separator | Mark::CallEnd);
        let mentioned = matches!(self.state, State::Mentioned) && !matches!(mark, Mark::Section | Mark::Call);
        if is_call && (self.tools.is_empty() || mentioned) {
            if !mentioned {
                self.state = State::Prose;
            }
            return self.prose.flow(out);
        }
        self.state = State::Prose;
        self.in_section = match mark {
            Mark::Section => true,
            Mark::SectionEnd | Mark::TurnEnd | Mark::Role => false,
            _ => self.in_section,
        };
        match mark {
            Mark::Think => self.prose.reasoning(out),
            Mark::ThinkEnd => {
                self.prose.undecided_content(out);
                self.state = State::Start(Header::default());
            }
            Mark::Call => self.state = State::Header(Header { opening: literal.len(), ..Header::default() }),
            Mark::Role => {
                out.drop_all();
                self.prose.turn_to_content();
                self.state = State::Role;
            }
            Mark::CallEnd if !self.in_section => self.prose.drop_markup(out),
            Mark::Section | Mark::CallEnd | Mark::Markup => {
                out.drop_all();
                self.state = State::Start(Header::default());
            }
            _ => self.prose.drop_markup(out),
        }
    }
}
