//! Applies a parser's steps to the bytes held for its stream: each byte goes to an item or is
//! dropped, once.
//!
//! Invariant: bytes taken = routed + dropped + held, at every moment. An op that breaks the
//! contract ends its step; the ops before it stand. `stream` feeds it and asks the parser.

use std::sync::Arc;

use super::binding::Binding;
use super::call::Call;
use super::call_ids::CallIds;
use super::event::Phase;
use super::events::TurnEvents;
use super::items::{Items, OpenKind};
use super::ledger::Ledger;
use super::preset::{HoldRule, PresetRoute};
use super::settings::{AllowedCalls, DraftCalls, TurnSettings};
use super::step_error::StepError;
use contract::{HoldUntil, Note, Op, Route, Step, Tool, ToolCall};

/// Longest data of a note, in bytes.
const NOTE: usize = 4096;
/// Most notes of one turn.
const NOTES: u32 = 1024;

/// Router of one stream's held bytes to items.
pub(super) struct Router {
    pub(super) held: Held,
    pub(super) ledger: Ledger,
    tools: Arc<[Tool]>,
    /// Whether a value that is left out makes its call incomplete.
    keeps_values: bool,
    /// Number of notes so far.
    notes: u32,
    call_ids: CallIds,
    held_bytes: usize,
    drafts: DraftCalls,
    /// Length of the marker that the parser was asked about last, in bytes; 0 after text.
    marker: usize,
    /// Route that the parser gave for text in advance, and what ends it; `None` if the parser must
    /// be asked.
    preset: Option<PresetRoute>,
    /// Rule by which the parser wants text to be held.
    hold: Option<HoldRule>,
    /// Whether the parser is asked all the same.
    asks_always: bool,
    /// Whether the turn ended inside a string of a call's JSON.
    cut: bool,
    /// Number of bytes of the stream that belong to the prompt; `u64::MAX` while the prompt is fed.
    prompt: u64,
}

impl Router {
    pub(super) fn new(binding: &Binding, settings: TurnSettings) -> Self {
        let may_call = settings.calls != AllowedCalls::None;
        Self {
            keeps_values: binding.keeps_values,
            held: Held::default(),
            ledger: Ledger::new(
                Items::new(settings.trim.unwrap_or(binding.trim), settings.held_bytes, may_call),
                settings.shows_routes,
            ),
            tools: settings.tools,
            notes: 0,
            call_ids: settings.call_ids,
            held_bytes: settings.held_bytes,
            drafts: settings.drafts,
            marker: 0,
            preset: None,
            hold: None,
            asks_always: settings.asks_always,
            cut: false,
            prompt: 0,
        }
    }

    /// Begins the prompt: the bytes that come until `end_prompt` belong to it.
    pub(super) fn begin_prompt(&mut self) {
        self.prompt = u64::MAX;
        self.ledger.items.hide();
    }

    /// Ends the prompt, which has `bytes` bytes.
    pub(super) fn end_prompt(&mut self, bytes: u64, out: &mut TurnEvents) {
        self.prompt = bytes;
        self.reveal(out);
    }

    /// Route that the parser gave in advance, and the number of held bytes that take it without
    /// asking the parser.
    pub(super) fn preset_prefix(&mut self) -> Option<(Route, usize)> {
        self.preset.as_mut().map(|preset| (preset.route, preset.bytes_before_end(self.held.as_str())))
    }

    /// Whether the next byte is inside a string of JSON that `until-json` follows.
    pub(super) fn in_string(&self) -> bool {
        self.preset.as_ref().is_some_and(PresetRoute::in_string)
    }

    /// Whether the next byte is inside a string of a call's JSON, whoever follows it.
    pub(super) fn string_is_open(&mut self) -> bool {
        self.held.is_empty() && (self.in_string() || self.ledger.string_is_open())
    }

    /// Notes that the turn ended inside that string.
    pub(super) fn cut_string(&mut self) {
        self.cut = true;
    }

    /// Whether the parser needn't be asked about the text that it hasn't seen.
    #[inline]
    pub(super) fn holds_on(&self) -> bool {
        self.hold.is_some_and(|rule| rule.holds(self.held.unseen()))
    }

    /// Ends the preset route: the parser is asked again.
    pub(super) fn end_preset(&mut self) {
        self.preset = None;
    }

    /// Applies one step to the held bytes.
    pub(super) fn apply(&mut self, step: Step, out: &mut TurnEvents) -> Result<(), StepError> {
        self.hold = None;
        match step {
            Step::Pass if self.held.is_empty() => {}
            Step::Pass => self.run(self.ledger.last.ok_or(StepError::PassFirst)?, self.held.len(), out)?,
            Step::Hold => {}
            Step::HoldUntil(hold) => self.hold_until(hold)?,
            Step::Ops(ops) => {
                self.ledger.dropped_markup.begin_step();
                for op in ops {
                    self.op(op, out)?;
                }
                self.ledger.items.check_derived()?;
            }
            Step::Fault(words) => return Err(StepError::GaveUp(words)),
        }
        if self.held.len() > self.held_bytes {
            return Err(StepError::HeldBytes(self.held_bytes));
        }
        Ok(())
    }

    fn op(&mut self, op: Op, out: &mut TurnEvents) -> Result<(), StepError> {
        match op {
            Op::Bytes(run) => self.run(run.route, run.bytes as usize, out),
            Op::UntilMarker(route) => self.begin_preset(PresetRoute::marker(route), out),
            Op::Message(phase) => self.ledger.items.message(Phase::named(&phase), out),
            Op::ToolCall(call) => self.open_call(call, out),
            Op::Close => self.close(out),
            Op::DerivedArguments(text) => self.ledger.items.derive(&text, self.held.len(), out),
            Op::Parameter(parameter) => self.ledger.items.parameter(parameter, self.held.len(), out),
            Op::ParameterEnd => self.ledger.items.end_parameter(out),
            Op::HoldUntil(hold) => self.hold_until(hold),
            Op::Note(note) => self.note(&note),
            Op::UntilByte(until) => self.begin_preset(PresetRoute::byte(&until)?, out),
            Op::UntilJson(rest) => self.begin_preset(PresetRoute::json(rest)?, out),
            Op::BrokenCall => {
                if self.ledger.items.is_visible() {
                    self.ledger.resolve_draft(true, out);
                    self.ledger.items.break_call(None);
                }
                Ok(())
            }
        }
    }

    /// Holds what comes without asking, as far as the rule says.
    fn hold_until(&mut self, hold: HoldUntil) -> Result<(), StepError> {
        let rule = HoldRule::new(hold)?;
        self.hold = (!self.asks_always).then_some(rule);
        self.preset = None;
        Ok(())
    }

    /// Passes over a note, since none is known.
    fn note(&mut self, note: &Note) -> Result<(), StepError> {
        self.notes += 1;
        let may_stand = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        let is_named = (1..=64).contains(&note.name.len()) && note.name.bytes().all(may_stand);
        if is_named && note.data.len() <= NOTE && self.notes <= NOTES { Ok(()) } else { Err(StepError::Note) }
    }

    /// Routes the oldest `bytes` of the held bytes.
    pub(super) fn run(&mut self, route: Route, bytes: usize, out: &mut TurnEvents) -> Result<(), StepError> {
        self.check_route(route)?;
        if bytes > 0 {
            self.note_route(route, out);
        }
        if self.ledger.items.is_visible() {
            return self.run_part(route, bytes, out);
        }
        let hidden = self.hidden(bytes);
        self.run_part(route, hidden, out)?;
        self.reveal(out);
        self.run_part(route, bytes - hidden, out)
    }

    /// How many of the next `bytes` belong to the prompt.
    fn hidden(&self, bytes: usize) -> usize {
        let ahead = self.prompt.saturating_sub(self.ledger.settled());
        bytes.min(usize::try_from(ahead).unwrap_or(usize::MAX))
    }

    /// Routes bytes that belong either all to the prompt or all to the output.
    fn run_part(&mut self, route: Route, bytes: usize, out: &mut TurnEvents) -> Result<(), StepError> {
        self.ledger.settle(route, self.held.take(bytes)?, out)
    }

    /// Route and number of bytes of `text`, which comes next, that can be settled without being
    /// held: the parser gave their route in advance, and no held bytes stand before them. `None` if
    /// `text` must be held.
    #[inline]
    pub(super) fn bypass_held(&mut self, text: &str) -> Option<(Route, usize)> {
        let route = self.preset.as_ref()?.route;
        if !self.held.is_empty() || !self.ledger.items.is_visible() || !self.may_go(route) {
            return None;
        }
        self.preset.as_mut().map(|preset| (route, preset.bytes_before_end(text)))
    }

    /// Shows items once the prompt's last byte is settled.
    fn reveal(&mut self, out: &mut TurnEvents) {
        if !self.ledger.items.is_visible() && self.ledger.settled() >= self.prompt {
            self.ledger.items.reveal(out);
        }
    }

    /// Whether the prompt is being fed.
    pub(super) fn is_prompt(&self) -> bool {
        self.prompt == u64::MAX
    }

    /// Drops all held bytes, which are shown to nobody.
    pub(super) fn discard(&mut self, out: &mut TurnEvents) {
        let held = std::mem::take(&mut self.held);
        let (hidden, shown) = held.as_str().split_at(self.hidden(held.len()));
        self.ledger.discard(hidden, out);
        self.reveal(out);
        self.ledger.discard(shown, out);
    }

    fn begin_preset(&mut self, preset: PresetRoute, out: &mut TurnEvents) -> Result<(), StepError> {
        if !self.held.is_empty() {
            return Err(StepError::StillHeld(self.held.len()));
        }
        self.check_route(preset.route)?;
        self.note_route(preset.route, out);
        self.ledger.last = Some(preset.route);
        self.preset = (preset.is_json() || !self.asks_always).then_some(preset);
        Ok(())
    }

    /// Notes where the parser routes text. Reasoning begins with an `until` of no bytes, too: the
    /// markup before it is its own. Content that follows a call inside reasoning without the
    /// reasoning's end says that the call was the end.
    fn note_route(&mut self, route: Route, out: &mut TurnEvents) {
        let ledger = &mut self.ledger;
        match route {
            Route::Reasoning if !ledger.in_reasoning => {
                ledger.dropped_markup.clear();
                ledger.in_reasoning = true;
            }
            Route::Content if ledger.in_reasoning => {
                ledger.in_reasoning = false;
                ledger.count_draft(out);
            }
            _ => {}
        }
    }

    /// Closes the open item. What is no call's end is the end of reasoning, if that is where the
    /// parser is.
    fn close(&mut self, out: &mut TurnEvents) -> Result<(), StepError> {
        if self.ledger.items.kind() != OpenKind::Call {
            self.ledger.end_draft(self.marker, out)?;
            self.ledger.in_reasoning = false;
        }
        self.ledger.items.close(self.cut, out)
    }

    /// Notes that the parser is asked about a marker of `bytes` bytes next, or about text.
    pub(super) fn begin_answer(&mut self, bytes: usize) {
        self.marker = bytes;
    }

    fn check_route(&self, route: Route) -> Result<(), StepError> {
        match route {
            _ if self.may_go(route) => Ok(()),
            Route::Value => Err(StepError::NoValue),
            _ => Err(StepError::NoCall),
        }
    }

    /// Whether bytes may take this route: arguments need an open call, and a value one of its
    /// parameters.
    #[inline]
    fn may_go(&self, route: Route) -> bool {
        match route {
            Route::Content | Route::Reasoning | Route::Drop => true,
            Route::Value => self.ledger.items.open_call().is_some_and(Call::has_value),
            _ => self.ledger.items.kind() == OpenKind::Call,
        }
    }

    fn open_call(&mut self, call: ToolCall, out: &mut TurnEvents) -> Result<(), StepError> {
        if call.name.is_empty() {
            return Err(StepError::NoName);
        }
        if !self.tools.iter().any(|tool| tool.name == call.name)
            && !self.ledger.dropped_markup.contains_name(&call.name, self.held.as_str())?
        {
            return Err(StepError::ForeignName);
        }
        let tools = Arc::clone(&self.tools);
        let call_id = self.call_id(&call)?;
        let dropped = self.ledger.dropped_markup.bytes();
        let call = Call::new(call, call_id, tools, self.keeps_values, dropped);
        if self.drafts == DraftCalls::Held {
            self.ledger.begin_draft(self.held_bytes, out);
        }
        self.ledger.dropped_markup.clear();
        self.cut = false;
        self.ledger.items.call(call, out)
    }

    /// The id by which clients know a call: the model's own, if it is one that they can be given.
    fn call_id(&mut self, call: &ToolCall) -> Result<String, StepError> {
        let own = call.id.as_deref().filter(|id| !id.is_empty());
        if let Some(id) = own
            && !self.ledger.dropped_markup.contains_name(id, self.held.as_str())?
        {
            return Err(StepError::ForeignId);
        }
        Ok(self.call_ids.next(&call.name, own))
    }
}

/// Bytes of a stream that aren't routed yet, in order, and how many of them the parser has been
/// shown. Both ends lie between characters. Taking from the front copies nothing; appending costs
/// amortised constant time per byte.
#[derive(Debug, Default)]
pub(super) struct Held {
    text: String,
    /// Offset in `text` of the first held byte; those before it were taken.
    start: usize,
    /// Offset in `text` up to which the parser has seen the bytes.
    shown: usize,
}

impl Held {
    pub(super) fn len(&self) -> usize {
        self.text.len() - self.start
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text[self.start..]
    }

    /// Whether the parser has seen all held bytes.
    pub(super) fn is_shown(&self) -> bool {
        self.shown == self.text.len()
    }

    /// The newest held bytes, which the parser hasn't seen.
    pub(super) fn unseen(&self) -> &str {
        &self.text[self.shown..]
    }

    /// Marks all held bytes as seen by the parser.
    pub(super) fn show(&mut self) {
        self.shown = self.text.len();
    }

    /// Marks the oldest `bytes` as seen: the parser needn't be shown them.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.shown = self.shown.max(self.start + bytes);
    }

    pub(super) fn push(&mut self, text: &str) {
        if self.is_empty() {
            self.text.clear();
            (self.start, self.shown) = (0, 0);
        } else if self.start > self.len() {
            self.text.drain(..self.start);
            self.shown = self.shown.saturating_sub(self.start);
            self.start = 0;
        }
        self.text.push_str(text);
    }

    /// Removes and returns the oldest `bytes`.
    pub(super) fn take(&mut self, bytes: usize) -> Result<&str, StepError> {
        if bytes > self.len() {
            return Err(StepError::MoreThanHeld { bytes, held: self.len() });
        }
        let end = self.start + bytes;
        if !self.text.is_char_boundary(end) {
            return Err(StepError::InsideCharacter);
        }
        let taken = self.start..end;
        self.start = end;
        Ok(&self.text[taken])
    }
}
