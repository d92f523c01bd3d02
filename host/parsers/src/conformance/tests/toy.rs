//! Toy parser of a small format, `<think>…</think>`, `<call>NAME:ARGUMENTS</call>`, `<end>`, with
//! optional bad habits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::ParserLimits;
use crate::conformance::{ParserSource, Start, Subject};
use contract::{
    Descriptor, Fault, FinishReason, Op, Payload, ResourceUsage, Route, Run, Step, StreamParser, ToolCall,
};

const MARKERS: [&str; 5] = ["<think>", "</think>", "<call>", "</call>", "<end>"];

/// Template of the toy's grammars: it has no custom tools, and names have no `s`.
const TEMPLATE: &str =
    "%tokens\n%name 64 /[a-rt-z_]/\ncall: marker_2 name \":\" arguments marker_3\nmore: \"\"\n";

/// Bad habit of the toy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Habit {
    None,
    /// Routes more bytes than it was given.
    Overdraws,
    /// Drops the space that a chunk begins with.
    TrimsChunks,
    /// Fails when the turn ends inside a call.
    GivesUp,
    /// Closes the braces of a call that was cut off.
    Guesses,
    /// Opens a string at the beginning of arguments before it has seen them.
    ShowsEarly,
    /// Reads a call's end inside a string as text, also where it is a token.
    ReadsOn,
    /// Holds a call's arguments until their end.
    BuffersArguments,
    /// Holds text until the next marker.
    BuffersText,
    /// Spends fuel as if it scanned the whole stream again for each chunk.
    ScansAgain,
    /// Answers with very many ops.
    Chatters,
    /// Holds all text, and has a small limit of held bytes.
    Hoards,
    /// Drops prose behind the first 20,000 bytes of a stream.
    Forgets,
    /// Drops text behind a call.
    SkipsBehindCalls,
    /// Reads a call's beginning as arguments of the call before it.
    TakesTheNext,
    /// Has a template that allows white space around calls, which it reads as a message.
    Overpromises,
    /// Fails at the end of the stream with this number.
    FailsOnce(usize),
}

/// The toy as a parser under test.
pub(super) struct Native(pub(super) Habit);

impl ParserSource for Native {
    fn load(&self, _: &[(String, String)]) -> Result<Arc<Subject>, String> {
        let habit = self.0;
        let streams = Arc::new(AtomicUsize::new(0));
        let start = || -> Start {
            let streams = Arc::clone(&streams);
            Box::new(move |_| {
                let stream = streams.fetch_add(1, Ordering::Relaxed);
                Ok(Box::new(Toy { fails: habit == Habit::FailsOnce(stream), ..Toy::new(habit) }))
            })
        };
        let grammar = match habit {
            Habit::None => Some(format!("{TEMPLATE}forced: calls\n")),
            Habit::Overpromises => Some(TEMPLATE.to_owned()),
            _ => None,
        };
        let descriptor = Descriptor {
            grammar,
            name: "toy".into(),
            version: "1.0.0".into(),
            markers: MARKERS.map(String::from).into(),
            stops: vec![4],
            ..Descriptor::default()
        };
        let held_bytes = if habit == Habit::Hoards { 1 << 10 } else { 1 << 20 };
        let limits = ParserLimits { ops: 64, held_bytes, ..ParserLimits::default() };
        Subject::new(descriptor, &limits, start(), |_, _| Ok(())).map(Arc::new)
    }
}

struct Toy {
    habit: Habit,
    held: String,
    state: State,
    prose: Route,
    fuel: u64,
    seen: u64,
    /// Number of quotes in the call so far.
    quotes: usize,
    /// Whether the last marker ended a call.
    called: bool,
    /// Whether the stream's end is a fault.
    fails: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Prose,
    Header,
    Arguments,
}

impl Toy {
    fn new(habit: Habit) -> Self {
        let (state, prose) = (State::Prose, Route::Content);
        let (held, called, fails) = (String::new(), false, false);
        Self { habit, held, state, prose, fuel: 0, seen: 0, quotes: 0, called, fails }
    }

    fn bytes(&mut self, route: Route, bytes: usize) -> Op {
        self.held.drain(..bytes);
        let extra = u32::from(self.habit == Habit::Overdraws && route == Route::Content);
        Op::Bytes(Run { route, bytes: u32::try_from(bytes).unwrap() + extra })
    }

    fn all(&mut self, route: Route) -> Op {
        self.bytes(route, self.held.len())
    }

    fn spend(&mut self, bytes: usize) {
        self.seen += bytes as u64;
        self.fuel += if self.habit == Habit::ScansAgain { 100 + self.seen / 10 } else { 100 };
    }

    fn prose(&mut self) -> Step {
        match self.habit {
            Habit::BuffersText | Habit::Hoards => return Step::Hold,
            Habit::TrimsChunks if self.held.starts_with(' ') => {
                let space = self.bytes(Route::Drop, 1);
                return Step::Ops(vec![space, self.all(self.prose)]);
            }
            Habit::Chatters => {
                let mut ops = vec![Op::Bytes(Run { route: Route::Drop, bytes: 0 }); 100];
                ops.push(self.all(self.prose));
                return Step::Ops(ops);
            }
            Habit::SkipsBehindCalls if self.called => return Step::Ops(vec![self.all(Route::Drop)]),
            Habit::Forgets if self.seen > 20_000 => return Step::Ops(vec![self.all(Route::Drop)]),
            _ => {}
        }
        Step::Ops(vec![self.all(self.prose)])
    }

    fn header(&mut self) -> Step {
        let Some(colon) = self.held.find(':') else { return Step::Hold };
        let name = self.held[MARKERS[2].len()..colon].to_owned();
        self.state = State::Arguments;
        let mut ops =
            vec![Op::ToolCall(ToolCall::new(name, Payload::Json)), self.bytes(Route::Drop, colon + 1)];
        if self.habit == Habit::ShowsEarly && self.held.is_empty() {
            ops.push(Op::DerivedArguments("\"".into()));
        }
        if self.habit != Habit::BuffersArguments {
            ops.push(self.all(Route::Arguments));
        }
        Step::Ops(ops)
    }
}

impl StreamParser for Toy {
    fn text(&mut self, chunk: &str) -> Result<Step, Fault> {
        self.held += chunk;
        self.spend(chunk.len());
        self.quotes += if self.state == State::Prose { 0 } else { chunk.matches('"').count() };
        Ok(match self.state {
            State::Prose => self.prose(),
            State::Header => self.header(),
            State::Arguments if self.habit == Habit::BuffersArguments => Step::Hold,
            State::Arguments => Step::Ops(vec![self.all(Route::Arguments)]),
        })
    }

    fn marker(&mut self, index: u32) -> Result<Step, Fault> {
        let waiting = self.held.len();
        self.held += MARKERS[index as usize];
        self.spend(1);
        let mut ops = Vec::new();
        self.called = index == 3;
        match (self.state, index) {
            (State::Arguments, 3) if self.habit != Habit::ReadsOn || self.quotes.is_multiple_of(2) => {
                ops.push(self.bytes(Route::Arguments, waiting));
                ops.push(self.all(Route::Drop));
                ops.push(Op::Close);
                self.quotes = 0;
                self.state = State::Prose;
            }
            (State::Arguments, 2) if self.quotes.is_multiple_of(2) && self.habit != Habit::TakesTheNext => {
                ops.push(self.bytes(Route::Arguments, waiting));
                ops.push(Op::Message("".into()));
                self.state = State::Header;
            }
            (State::Arguments, 0..=3) => ops.push(self.all(Route::Arguments)),
            (State::Header, _) => {
                self.state = State::Prose;
                ops.push(self.bytes(self.prose, waiting));
                ops.push(self.all(if index == 4 { Route::Drop } else { self.prose }));
            }
            (State::Prose, 2) => {
                ops.push(self.bytes(self.prose, waiting));
                self.state = State::Header;
            }
            _ => {
                ops.push(self.bytes(self.prose, waiting));
                ops.push(self.all(Route::Drop));
                ops.extend((index == 1).then_some(Op::Close));
                self.prose = if index == 0 { Route::Reasoning } else { Route::Content };
            }
        }
        Ok(Step::Ops(ops))
    }

    fn finish(&mut self, reason: FinishReason) -> Result<Step, Fault> {
        if self.fails {
            return Err(Fault::new("toy", "this time"));
        }
        Ok(match (self.state, self.habit) {
            (State::Arguments, Habit::GivesUp) => Step::Fault("a call is open".into()),
            (State::Arguments, Habit::Guesses) if reason == FinishReason::Length => {
                Step::Ops(vec![Op::DerivedArguments("\"}".into())])
            }
            _ => Step::Hold,
        })
    }

    fn usage(&self) -> Option<ResourceUsage> {
        Some(ResourceUsage { fuel: self.fuel, memory: 1 << 16 })
    }
}
