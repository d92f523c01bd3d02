//! A second account of a stream's bytes, beside the turn's own, made from the input and the
//! parser's answers alone: how many bytes went where, how long each waited, and how much of each
//! limit the parser's answers used.
//!
//! Invariant: an answer that violates the contract is recorded and has no effect. Waits are counted
//! in steps of the engine.

use std::collections::VecDeque;

use crate::trace::{CallInput, ParserCall};
use contract::{HoldUntil, Op, Route, Segment as PathSegment, Step};
use turn::{ASKED_BYTES, HoldRule, PresetRoute, StepError, TokenText};

/// The account of one stream.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Markers that end an open string.
    string_ends: Vec<u32>,
    held: VecDeque<Segment>,
    held_bytes: usize,
    step: usize,
    last: Option<Route>,
    /// Rule of an earlier answer by which text is routed without a call of the parser.
    preset: Option<PresetRoute>,
    /// Rule by which text waits without a call of the parser, and the text that waits.
    hold: Option<HoldRule>,
    unseen: String,
    /// Number of tool calls opened so far.
    calls: usize,
    /// Whether the held bytes began as a call may begin.
    group: Group,
    derived: usize,
    /// Number of bytes routed to an item.
    pub(super) routed: u64,
    /// Number of bytes dropped.
    pub(super) dropped: u64,
    pub(super) waits: Waits,
    pub(super) peak: PeakUse,
    /// The first violation of the contract or of this account.
    pub(super) violation: Option<String>,
}

#[derive(Debug)]
struct Segment {
    bytes: usize,
    step: usize,
    /// Number of calls opened before the segment came.
    calls: usize,
}

/// Beginning of the bytes that are held, since the last time when none were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Group {
    /// They began as prose.
    #[default]
    Prose,
    /// They began with a marker or a bracket.
    PerhapsACall,
    /// They began with a marker or a bracket, and the parser routed that beginning as text.
    NoCall,
}

/// Longest waits of bytes until they were routed to an item, in steps.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Waits {
    /// Wait of text of messages and reasoning.
    pub(super) text: usize,
    /// Wait of arguments and values.
    pub(super) arguments: usize,
    /// Wait of arguments that came before the tool's name.
    pub(super) before_name: usize,
    /// Wait of text that began as a call and became none.
    pub(super) no_call: usize,
}

/// Highest use of each limit.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PeakUse {
    /// Number of ops in one step.
    pub(super) ops: usize,
    /// Number of bytes held after a step.
    pub(super) held: usize,
    /// Number of bytes of derived arguments in one call.
    pub(super) derived: usize,
    /// Size of linear memory, in bytes.
    pub(super) memory: usize,
}

impl Waits {
    pub(super) fn merge(&mut self, other: &Self) {
        self.text = self.text.max(other.text);
        self.arguments = self.arguments.max(other.arguments);
        self.before_name = self.before_name.max(other.before_name);
        self.no_call = self.no_call.max(other.no_call);
    }
}

impl PeakUse {
    pub(super) fn merge(&mut self, other: &Self) {
        self.ops = self.ops.max(other.ops);
        self.held = self.held.max(other.held);
        self.derived = self.derived.max(other.derived);
        self.memory = self.memory.max(other.memory);
    }
}

impl Ledger {
    /// The account of a stream in which the markers `string_ends` end an open string.
    pub(super) fn new(string_ends: Vec<u32>) -> Self {
        Self { string_ends, ..Self::default() }
    }

    /// Records one engine step: its input, and the calls of the parser that followed. Returns false
    /// where the account ends: a call failed, or a call that the contract demands is missing.
    pub(super) fn step(&mut self, pieces: &[TokenText<'_>], calls: Vec<ParserCall>) -> bool {
        self.step += 1;
        let mut calls = calls.into_iter();
        let mut part = |piece: &TokenText<'_>, text| self.part(TokenText { text, ..*piece }, &mut calls);
        let goes_on = pieces.iter().all(|piece| turn::asked_parts(piece.text).all(|text| part(piece, text)));
        let waited = calls.next().filter(|_| !self.unseen.is_empty());
        goes_on && waited.is_none_or(|call| self.answered(call))
    }

    /// Records a part of a step that the parser is asked about at once. Returns false where the
    /// account ends.
    fn part(&mut self, piece: TokenText<'_>, calls: &mut impl Iterator<Item = ParserCall>) -> bool {
        let is_due = piece.id.is_some() || self.unseen.len() + piece.text.len() > ASKED_BYTES;
        if is_due && !self.unseen.is_empty() && !self.asked(&piece, calls) {
            return false;
        }
        let is_marker = piece.id.is_some_and(|id| !self.is_text(id));
        if is_marker {
            self.preset = None;
        }
        self.hold(&piece);
        if let Some(mut preset) = self.preset.take() {
            let bytes = preset.bytes_before_end(piece.text);
            self.run(preset.route, bytes);
            if bytes == piece.text.len() {
                self.preset = Some(preset);
                return true;
            }
        }
        if !is_marker {
            self.unseen.push_str(piece.text);
            if self.hold.is_some_and(|rule| rule.holds(&self.unseen)) {
                return true;
            }
        }
        self.asked(&piece, calls)
    }

    /// Records the call of the parser that is due. Returns false where the account ends.
    fn asked(&mut self, piece: &TokenText<'_>, calls: &mut impl Iterator<Item = ParserCall>) -> bool {
        let Some(call) = calls.next() else {
            self.record_violation(format!("the parser wasn't asked about {} bytes", piece.text.len()));
            return false;
        };
        debug_assert!(!matches!(call.input, CallInput::Finish(_)), "the end comes by itself");
        self.answered(call)
    }

    /// Records an answer. Returns false where the account ends.
    fn answered(&mut self, call: ParserCall) -> bool {
        self.unseen.clear();
        call.answer.map(|step| self.answer(step)).is_ok()
    }

    /// Records the last step, and the one before about text that waited. Bytes that are still held
    /// after it become content.
    pub(super) fn finish(&mut self, calls: impl IntoIterator<Item = ParserCall>) {
        self.step += 1;
        for call in calls {
            if let Ok(step) = call.answer {
                self.answer(step);
            }
        }
        self.run(Route::Content, self.held_bytes);
    }

    /// Whether the marker `id` counts as text: it ends no string, and lies in a JSON string that
    /// the host routes under an `until-json` rule.
    fn is_text(&self, id: u32) -> bool {
        !self.string_ends.contains(&id) && self.preset.as_ref().is_some_and(PresetRoute::in_string)
    }

    fn hold(&mut self, piece: &TokenText<'_>) {
        if self.held_bytes == 0 {
            let begins = piece.id.is_some() || piece.text.trim_start().starts_with(['{', '[']);
            self.group = if begins { Group::PerhapsACall } else { Group::Prose };
        }
        self.held_bytes += piece.text.len();
        self.held.push_back(Segment { bytes: piece.text.len(), step: self.step, calls: self.calls });
    }

    fn answer(&mut self, step: Step) {
        self.hold = None;
        match step {
            Step::Hold | Step::Fault(_) => {}
            Step::HoldUntil(hold) => self.hold_until(hold),
            Step::Pass => match self.last {
                Some(route) => self.run(route, self.held_bytes),
                None => self.record_violation("it answers pass before any run".to_owned()),
            },
            Step::Ops(ops) => {
                self.peak.ops = self.peak.ops.max(ops.len());
                for op in ops {
                    self.op(op);
                }
            }
        }
        self.peak.held = self.peak.held.max(self.held_bytes);
    }

    fn op(&mut self, op: Op) {
        match op {
            Op::Bytes(run) => self.run(run.route, run.bytes as usize),
            Op::UntilMarker(route) => self.begin_preset(Ok(PresetRoute::marker(route))),
            Op::UntilByte(until) => self.begin_preset(PresetRoute::byte(&until)),
            Op::UntilJson(rest) => self.begin_preset(PresetRoute::json(rest)),
            Op::ToolCall(_) => {
                self.calls += 1;
                self.derived = 0;
            }
            Op::DerivedArguments(text) => self.derive(text.len()),
            Op::Parameter(parameter) => self.derive(parameter.path.iter().map(length).sum()),
            Op::HoldUntil(hold) => self.hold_until(hold),
            Op::Message(_) | Op::Close | Op::BrokenCall | Op::ParameterEnd | Op::Note(_) => {}
        }
    }

    fn hold_until(&mut self, hold: HoldUntil) {
        match HoldRule::new(hold) {
            Ok(rule) => (self.hold, self.preset) = (Some(rule), None),
            Err(error) => self.record_violation(error.to_string()),
        }
    }

    fn derive(&mut self, bytes: usize) {
        self.derived += bytes;
        self.peak.derived = self.peak.derived.max(self.derived);
    }

    fn begin_preset(&mut self, preset: Result<PresetRoute, StepError>) {
        match preset {
            Ok(preset) => (self.last, self.preset) = (Some(preset.route), Some(preset)),
            Err(error) => self.record_violation(error.to_string()),
        }
    }

    fn run(&mut self, route: Route, mut bytes: usize) {
        self.last = Some(route);
        if bytes > self.held_bytes {
            self.record_violation(format!("it routes {bytes} bytes while {} are held", self.held_bytes));
            return;
        }
        self.held_bytes -= bytes;
        let counted = if route == Route::Drop { &mut self.dropped } else { &mut self.routed };
        *counted += bytes as u64;
        while bytes > 0 {
            let Some(segment) = self.held.front_mut() else { return };
            let part = segment.bytes.min(bytes);
            segment.bytes -= part;
            bytes -= part;
            let (step, calls, empty) = (segment.step, segment.calls, segment.bytes == 0);
            if empty {
                self.held.pop_front();
            }
            self.waited(route, self.step - step, calls);
        }
    }

    /// Records that bytes were routed after a wait of `steps` steps. `calls` is the number of calls
    /// that were open before the bytes came.
    fn waited(&mut self, route: Route, steps: usize, calls: usize) {
        if self.group == Group::PerhapsACall {
            let shown = matches!(route, Route::Content | Route::Reasoning);
            self.group = if shown { Group::NoCall } else { Group::Prose };
        }
        let longest = match route {
            Route::Drop => return,
            Route::Content | Route::Reasoning if self.group == Group::NoCall => &mut self.waits.no_call,
            Route::Content | Route::Reasoning => &mut self.waits.text,
            _ if calls < self.calls => &mut self.waits.before_name,
            _ => &mut self.waits.arguments,
        };
        *longest = steps.max(*longest);
    }

    fn record_violation(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }
}

/// Number of bytes of derived arguments that a step of a parameter's path counts as.
fn length(segment: &PathSegment) -> usize {
    match segment {
        PathSegment::Key(key) | PathSegment::Element { name: key, .. } => key.len(),
        PathSegment::Item(_) => 1,
    }
}
