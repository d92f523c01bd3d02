//! One turn after its markers were found: asks the parser, applies its steps, and goes on without
//! the parser once it has failed.
//!
//! Invariant: every byte is routed or dropped exactly once (counted in production too), whatever
//! the parser does; a parser that failed is never called again; after `finish` every item is
//! closed. `driver` feeds it.

mod finish;
mod string_marker;

use std::fmt;
use std::sync::Arc;

use self::string_marker::StringMarker;
use super::binding::Binding;
use super::event::{Flow, ItemStatus, TokenLogprobs, TurnFailure};
use super::events::TurnEvents;
use super::failure::{self, quoted};
use super::items::OpenKind;
use super::markers::Found;
use super::router::Router;
use super::settings::{FaultPolicy, TurnSettings};
use super::step_error::StepError;
use super::tokens::TokenCounts;
use contract::{Fault, Route, Step, StreamParser};

/// Maximum number of bytes that the parser is asked about at once. A call has limits of time and of
/// ops, so what it is asked is bounded, however much an engine sends in one step.
pub const ASKED_BYTES: usize = 1 << 10;

/// The parts of a text about which a parser is asked, one after the other.
pub fn asked_parts(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (part, rest) = text.split_at(text.floor_char_boundary(ASKED_BYTES));
        text = rest;
        (!part.is_empty()).then_some(part)
    })
}

/// Numbers of a turn's bytes, including its prompt's, by where they went.
/// After `finish`, `routed`, `dropped` and `aside` add up to `taken`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ByteCounts {
    /// Bytes fed.
    pub taken: u64,
    /// Bytes that went to an item.
    pub routed: u64,
    /// Bytes dropped as markup.
    pub dropped: u64,
    /// Bytes after the stop marker that ended the turn.
    pub aside: u64,
}

/// State of one turn, fed with text and markers. The parser comes with each call, so that this code
/// is compiled once for all parsers.
pub(super) struct Stream {
    binding: Arc<Binding>,
    /// Markers that come as tokens.
    token_markers: Arc<[u32]>,
    /// Whether such a marker may be text of a string that plainly goes on behind it.
    reads_on: bool,
    undecided: Option<Box<StringMarker>>,
    policy: FaultPolicy,
    router: Router,
    fault: Option<Fault>,
    /// Number of times that the parser was called.
    parser_calls: u64,
    failed: Option<TurnFailure>,
    /// Whether a stop marker came: what follows is no part of the turn.
    ended: bool,
    /// Number of bytes that were discarded because the turn has failed.
    unread: u64,
    /// Number of bytes that followed the stop marker.
    aside: u64,
    /// Those bytes, if their route is to be shown.
    aside_text: String,
}

impl Stream {
    pub(super) fn new(binding: Arc<Binding>, settings: TurnSettings) -> Self {
        Self {
            token_markers: settings.token_markers.clone(),
            reads_on: settings.reads_on,
            undecided: None,
            policy: settings.fault_policy,
            router: Router::new(&binding, settings),
            binding,
            fault: None,
            parser_calls: 0,
            failed: None,
            ended: false,
            unread: 0,
            aside: 0,
            aside_text: String::new(),
        }
    }

    pub(super) fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Number of times that the parser was called.
    pub(super) fn parser_calls(&self) -> u64 {
        self.parser_calls
    }

    pub(super) fn malformed_calls(&self) -> u32 {
        self.router.ledger.items.calls().malformed
    }

    pub(super) fn dropped_calls(&self) -> u32 {
        self.router.ledger.items.calls().dropped
    }

    pub(super) fn held_draft(&self) -> bool {
        self.router.ledger.held_draft
    }

    pub(super) fn is_reasoning(&self) -> bool {
        self.router.ledger.is_reasoning()
    }

    pub(super) fn tokens(&self) -> TokenCounts {
        self.router.ledger.tokens.counts()
    }

    /// Counts of the bytes by where they went; `taken` is their total.
    pub(super) fn bytes(&self, taken: u64) -> ByteCounts {
        let (routed, dropped) = self.router.ledger.routed_and_dropped();
        ByteCounts { taken, routed, dropped, aside: self.aside }
    }

    pub(super) fn unread(&self) -> u64 {
        if self.fault.is_some() && self.failed.is_some() { self.unread + self.aside } else { 0 }
    }

    pub(super) fn flow(&self) -> Flow {
        if self.failed.is_some() || self.ended { Flow::Stop } else { Flow::Continue }
    }

    /// Begins a step of the engine.
    pub(super) fn begin_step(&mut self, out: &mut TurnEvents) {
        self.router.ledger.begin_step(out);
    }

    /// Ends a step of the engine.
    pub(super) fn end_step(&mut self, out: &mut TurnEvents) -> Flow {
        self.router.ledger.end_step(out);
        self.flow()
    }

    /// Notes that a token begins at byte `start` of the stream.
    pub(super) fn begin_token(&mut self, start: u64, logprobs: Option<&Arc<TokenLogprobs>>) {
        self.router.ledger.tokens.push(start, logprobs);
    }

    /// Begins the prompt: the bytes that come until `end_prompt` belong to it.
    pub(super) fn begin_prompt(&mut self) {
        self.router.begin_prompt();
    }

    /// Ends the prompt, which has `bytes` bytes.
    pub(super) fn end_prompt(&mut self, bytes: u64, out: &mut TurnEvents) {
        self.router.end_prompt(bytes, out);
    }

    /// Takes the next part of the stream. Text waits for the end of the step or the next marker,
    /// when the parser is asked about it; all waits for a marker in a string.
    #[inline]
    pub(super) fn take(&mut self, parser: &mut dyn StreamParser, found: Found<'_>, out: &mut TurnEvents) {
        match found {
            _ if self.undecided.is_some() => self.look_at(parser, found, out),
            Found::Text(text) => self.take_text(parser, text, out),
            Found::Marker(index, literal) if self.may_be_text(parser, index, out) => {
                self.undecided = Some(Box::new(StringMarker::new(index, literal)));
            }
            Found::Marker(index, literal) => self.take_marker(parser, index, literal, out),
        }
    }

    /// Takes text. It waits for the end of the step or the next marker, unless its route is known
    /// already.
    #[inline]
    fn take_text(&mut self, parser: &mut dyn StreamParser, text: &str, out: &mut TurnEvents) {
        if text.len() > ASKED_BYTES {
            return self.take_long(parser, text, out);
        }
        if self.ended {
            // An engine that doesn't know the stop marker as a token writes on after it.
            return self.set_aside(text);
        }
        if self.fault.is_some() {
            return self.router.held.push(text);
        }
        let Some((route, settled)) = self.router.bypass_held(text) else {
            if self.router.held.unseen().len() + text.len() > ASKED_BYTES {
                self.ask(parser, out);
            }
            return self.router.held.push(text);
        };
        if settled < text.len() {
            let (settled, rest) = text.split_at(settled);
            return self.settle_and_hold(route, settled, rest, out);
        }
        if let Err(error) = self.router.ledger.settle(route, text, out) {
            self.break_contract(error, out);
        }
    }

    /// Takes what is no part of the turn.
    fn set_aside(&mut self, text: &str) {
        self.aside += text.len() as u64;
        if self.router.ledger.shows_routes {
            self.aside_text.push_str(text);
        }
    }

    /// Takes text of any length, and asks the parser about one part after the other.
    #[cold]
    fn take_long(&mut self, parser: &mut dyn StreamParser, text: &str, out: &mut TurnEvents) {
        for part in asked_parts(text) {
            self.take_text(parser, part, out);
            self.ask(parser, out);
        }
    }

    /// Settles `settled`, whose route is known, and holds `rest`, about which the parser is to be
    /// asked.
    fn settle_and_hold(&mut self, route: Route, settled: &str, rest: &str, out: &mut TurnEvents) {
        if !settled.is_empty()
            && let Err(error) = self.router.ledger.settle(route, settled, out)
        {
            self.break_contract(error, out);
        }
        self.router.end_preset();
        self.router.held.push(rest);
    }

    /// Takes a marker: the parser is asked about it, unless it is text of a string that the host
    /// follows.
    fn take_marker(
        &mut self,
        parser: &mut dyn StreamParser,
        index: u32,
        literal: &str,
        out: &mut TurnEvents,
    ) {
        if self.ended {
            return self.set_aside(literal);
        }
        self.ask(parser, out);
        if self.router.in_string() && self.fault.is_none() {
            if !self.binding.stops.contains(&index) && !self.token_markers.contains(&index) {
                return self.take_text(parser, literal, out);
            }
            self.router.cut_string();
        }
        self.router.end_preset();
        self.router.held.push(literal);
        self.router.begin_answer(literal.len());
        self.ask_marker(parser, index, out);
        self.ended = self.binding.stops.contains(&index) && !self.router.is_prompt();
    }

    /// Asks the parser about the text that it hasn't seen.
    #[inline]
    pub(super) fn ask(&mut self, parser: &mut dyn StreamParser, out: &mut TurnEvents) {
        if !self.router.held.is_shown() {
            self.ask_text(parser, out);
        }
    }

    /// Asks the parser at the end of a step, unless it wants the text to be held.
    #[inline]
    pub(super) fn ask_at_end(&mut self, parser: &mut dyn StreamParser, out: &mut TurnEvents) {
        if !self.router.holds_on() || self.fault.is_some() {
            self.ask(parser, out);
        }
    }

    fn ask_text(&mut self, parser: &mut dyn StreamParser, out: &mut TurnEvents) {
        if self.fault.is_some() {
            return self.route_without_parser(out);
        }
        if let Some((route, bytes)) = self.router.preset_prefix() {
            self.router.held.skip(bytes);
            if let Err(error) = self.router.run(route, bytes, out) {
                return self.break_contract(error, out);
            }
            if self.router.held.is_empty() {
                return;
            }
            self.router.end_preset();
        }
        self.router.begin_answer(0);
        self.parser_calls += 1;
        let answer = parser.text(self.router.held.unseen());
        self.apply(answer, out);
    }

    fn ask_marker(&mut self, parser: &mut dyn StreamParser, index: u32, out: &mut TurnEvents) {
        if self.fault.is_none() {
            self.parser_calls += 1;
            let answer = parser.marker(index);
            self.apply(answer, out);
        } else if self.binding.stops.contains(&index) {
            self.discard(out);
        } else {
            self.route_without_parser(out);
        }
    }

    fn apply(&mut self, answer: Result<Step, Fault>, out: &mut TurnEvents) {
        self.router.held.show();
        let applied = match answer {
            Ok(step) => self.router.apply(step, out).map_err(|error| self.fault_of(error)),
            Err(fault) => Err(fault),
        };
        if let Err(fault) = applied {
            self.handle_fault(fault, out);
        }
    }

    fn fault_of(&self, error: StepError) -> Fault {
        let fault = Fault::new(&self.binding.parser, error.to_string());
        match error {
            StepError::GaveUp(words) => Fault { words: quoted(&words).into(), ..fault },
            _ => fault,
        }
    }

    #[cold]
    fn break_contract(&mut self, error: StepError, out: &mut TurnEvents) {
        self.handle_fault(self.fault_of(error), out);
    }

    /// Handles the parser's fault. What the parser did before stands; the held bytes and the rest
    /// are routed by the policy.
    fn handle_fault(&mut self, fault: Fault, out: &mut TurnEvents) {
        self.router.ledger.resolve_draft(true, out);
        self.fault = Some(fault);
        let items = &mut self.router.ledger.items;
        let call = items.open_call().map(|call| quoted(call.name()));
        let what = call.as_ref().map(|name| format!("inside a call of {name:?}"));
        let failure = failure::parser(&self.binding.parser, what.as_deref().unwrap_or("on this answer"));
        match (self.policy, call) {
            (FaultPolicy::Fail, _) | (FaultPolicy::Continue, Some(_)) => self.failed = Some(failure),
            (FaultPolicy::ContinueInCalls, Some(_)) => items.cut_off(failure),
            (FaultPolicy::Continue | FaultPolicy::ContinueInCalls, None) => {
                return self.route_without_parser(out);
            }
        }
        items.end(ItemStatus::Incomplete, out);
        self.route_without_parser(out);
    }

    /// Routes the held bytes without the parser: to the open item, else to content. Drops them once
    /// the turn has failed.
    fn route_without_parser(&mut self, out: &mut TurnEvents) {
        if self.failed.is_some() {
            self.discard(out);
        } else if self.router.ledger.items.kind() == OpenKind::Reasoning {
            self.route_held(Route::Reasoning, out);
        } else {
            self.route_held(Route::Content, out);
        }
    }

    /// Drops the held bytes.
    fn discard(&mut self, out: &mut TurnEvents) {
        if self.failed.is_some() {
            self.unread += self.router.held.len() as u64;
        }
        self.router.discard(out);
    }

    /// Routes all held bytes as prose.
    fn route_held(&mut self, route: Route, out: &mut TurnEvents) {
        self.router.held.show();
        self.router.run(route, self.router.held.len(), out).expect("prose may be anything");
    }
}

impl ByteCounts {
    /// Whether each byte of an ended turn was settled once. Anything else is a fault of this
    /// program, not of the parser.
    pub fn are_balanced(&self) -> bool {
        self.routed + self.dropped + self.aside == self.taken
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("parser", &self.binding.parser)
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}
