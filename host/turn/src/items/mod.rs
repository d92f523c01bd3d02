//! Opens, fills and closes the items of a turn.
//!
//! Invariant: at most one item is open; each writes `Open`, `Text` (never empty) and `Close` in
//! this order. Messages and reasoning are announced with their first visible text, calls when they
//! open. While the prompt is replayed nothing is announced: items that it closes are discarded, and
//! an item that it leaves open begins with the output. Used by `router`, `ledger` and `stream`.

mod state;

pub(super) use self::state::{Calls, ItemsState};
use super::call::Call;
use super::event::{Delta, DeltaToken, ItemStatus, Phase, TurnEvent, TurnFailure, split_tokens};
use super::events::TurnEvents;
use super::failure::{self, BrokenCall};
use super::prose::{Prose, ProseKind, trim_end, trim_start};
use super::step_error::StepError;
use contract::{ParameterValue, Route, Trim};

/// Writer of one turn's items.
#[derive(Debug)]
pub(super) struct Items {
    open: Option<OpenItem>,
    trim: Trim,
    /// Whether the bytes belong to the output; false while they are those of the prompt.
    visible: bool,
    /// White space at the end of the open item's text, held back until more text follows, and the
    /// tokens that begin in it.
    white: Delta,
    /// Maximum size of `white` in bytes: white space further than this from the item's end is not
    /// trimmed.
    white_bytes: usize,
    /// Whether the model may call tools. If it may not, a call is open like any other, and nothing
    /// of it is written.
    may_call: bool,
    calls: Calls,
}

#[derive(Debug)]
enum OpenItem {
    Prose(Prose),
    Call(Box<Call>),
}

/// Kind of a turn's open item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenKind {
    None,
    Reasoning,
    Message,
    Call,
}

impl Items {
    pub(super) fn new(trim: Trim, white_bytes: usize, may_call: bool) -> Self {
        Self {
            open: None,
            trim,
            visible: true,
            white: Delta::default(),
            white_bytes,
            may_call,
            calls: Calls::default(),
        }
    }

    pub(super) fn kind(&self) -> OpenKind {
        match &self.open {
            None => OpenKind::None,
            Some(OpenItem::Prose(Prose { kind: ProseKind::Reasoning, .. })) => OpenKind::Reasoning,
            Some(OpenItem::Prose(_)) => OpenKind::Message,
            Some(OpenItem::Call(_)) => OpenKind::Call,
        }
    }

    pub(super) fn is_visible(&self) -> bool {
        self.visible
    }

    /// Begins the prompt: what follows isn't shown.
    pub(super) fn hide(&mut self) {
        self.visible = false;
    }

    /// Ends the prompt: what follows is shown, beginning with a call that the prompt left open.
    pub(super) fn reveal(&mut self, out: &mut TurnEvents) {
        self.visible = true;
        self.announce_call(out);
    }

    /// Writes the head of the open call, if there is a call and it is shown.
    fn announce_call(&mut self, out: &mut TurnEvents) {
        let is_shown = self.shows_calls();
        if let Some(OpenItem::Call(call)) = &mut self.open
            && is_shown
        {
            out.extend(call.take_head().map(TurnEvent::Open));
        }
    }

    fn shows_calls(&self) -> bool {
        self.visible && self.may_call
    }

    /// Routes text of the stream, markup included. `tokens` are those that begin in it and whose
    /// log-probabilities are asked for.
    #[inline]
    pub(super) fn route(
        &mut self,
        route: Route,
        text: &str,
        tokens: &mut Vec<DeltaToken>,
        out: &mut TurnEvents,
    ) -> Result<(), StepError> {
        if let Some(OpenItem::Prose(prose)) = &self.open
            && prose.continues(route, text)
            && self.white.is_empty()
            && tokens.is_empty()
        {
            out.text().text.push_str(text);
            return Ok(());
        }
        self.decide(route, text, tokens, out)
    }

    /// Routes text that needs a decision: an item begins, white space may be its end, or it is
    /// arguments or markup.
    #[inline(never)]
    fn decide(
        &mut self,
        route: Route,
        text: &str,
        tokens: &mut Vec<DeltaToken>,
        out: &mut TurnEvents,
    ) -> Result<(), StepError> {
        match route {
            Route::Content => self.prose(OpenKind::Message, text, tokens, out),
            Route::Reasoning => self.prose(OpenKind::Reasoning, text, tokens, out),
            Route::Drop => {
                if let Some(OpenItem::Call(call)) = &mut self.open {
                    call.drop_bytes(text.len());
                }
                Ok(())
            }
            _ => {
                let bound = self.white_bytes;
                self.arguments(out, |call, out| call.write(route, text, bound, out))
            }
        }
    }

    /// Appends text to the open item, or to a new one if the open one is of another kind.
    fn prose(
        &mut self,
        kind: OpenKind,
        text: &str,
        tokens: &mut Vec<DeltaToken>,
        out: &mut TurnEvents,
    ) -> Result<(), StepError> {
        if text.is_empty() {
            return Ok(());
        }
        if self.kind() != kind {
            self.interrupt(out)?;
            let kind = if kind == OpenKind::Reasoning {
                ProseKind::Reasoning
            } else {
                ProseKind::Message(Phase::default())
            };
            self.open = Some(OpenItem::Prose(Prose::new(kind)));
        }
        let Some(OpenItem::Prose(prose)) = &mut self.open else { return Ok(()) };
        let trim = if prose.kind == ProseKind::Reasoning { self.trim.reasoning } else { self.trim.content };
        let text = if trim && !prose.begun { trim_start(text, tokens) } else { text };
        let body = if trim { trim_end(text) } else { text };
        prose.begun |= !body.is_empty();
        if !self.visible || text.is_empty() {
            return Ok(());
        }
        let mut behind = if tokens.is_empty() { Vec::new() } else { split_tokens(tokens, body.len()) };
        if !body.is_empty() {
            self.write_text(body, tokens, out);
        }
        if body.len() < text.len() {
            self.white.append_tokens(&mut behind);
            self.hold_white_space(&text[body.len()..], out);
        }
        Ok(())
    }

    /// Holds white space back until text follows it; the oldest is written where it exceeds the
    /// bound.
    fn hold_white_space(&mut self, white: &str, out: &mut TurnEvents) {
        self.white.text.push_str(white);
        if self.white.len() > self.white_bytes {
            let excess = self.white.floor_char_boundary(self.white.len() - self.white_bytes);
            let kept = self.white.split_off(excess);
            self.write_text("", &mut Vec::new(), out);
            self.white = kept;
        }
    }

    /// Writes the white space held back, and after it `body` with its `tokens`.
    fn write_text(&mut self, body: &str, tokens: &mut Vec<DeltaToken>, out: &mut TurnEvents) {
        if let Some(OpenItem::Prose(prose)) = &mut self.open
            && !prose.announced
        {
            prose.announced = true;
            out.push(TurnEvent::Open(prose.head()));
        }
        write(true, out, |out| {
            if !self.white.is_empty() {
                out.append(std::mem::take(&mut self.white));
            }
            if !tokens.is_empty() {
                out.append_tokens(tokens);
            }
            out.text.push_str(body);
        });
    }

    /// Appends argument text that the parser wrote itself; `held` bytes may yet be dropped for the
    /// call.
    pub(super) fn derive(&mut self, text: &str, held: usize, out: &mut TurnEvents) -> Result<(), StepError> {
        self.arguments(out, |call, out| call.derive(text, held, out))
    }

    /// Begins the value of a parameter of the open call; `held` bytes may yet be dropped for the
    /// call.
    pub(super) fn parameter(
        &mut self,
        parameter: ParameterValue,
        held: usize,
        out: &mut TurnEvents,
    ) -> Result<(), StepError> {
        self.arguments(out, |call, out| call.parameter(parameter, held, out))
    }

    /// Ends the value of a parameter of the open call.
    pub(super) fn end_parameter(&mut self, out: &mut TurnEvents) -> Result<(), StepError> {
        self.arguments(out, |call, out| {
            call.end_parameter(out);
            Ok(())
        })
    }

    /// Closes the open item at the parser's request. A call is incomplete all the same if it was
    /// `cut` inside a string, if its JSON ends inside one, if that is no object, or if a value
    /// didn't fit.
    pub(super) fn close(&mut self, cut: bool, out: &mut TurnEvents) -> Result<(), StepError> {
        self.check_derived()?;
        if self.kind() == OpenKind::Call {
            self.arguments(out, |call, out| {
                call.close(out);
                Ok(())
            })?;
        }
        let broken = self
            .open_call_mut()
            .is_some_and(|call| cut || call.ends_in_string() || call.is_foreign() || call.has_misfit());
        self.end(if broken { ItemStatus::Incomplete } else { ItemStatus::Completed }, out);
        Ok(())
    }

    /// Closes the open item, and makes content that follows a message of this phase.
    pub(super) fn message(&mut self, phase: Phase, out: &mut TurnEvents) -> Result<(), StepError> {
        self.interrupt(out)?;
        self.open = Some(OpenItem::Prose(Prose::new(ProseKind::Message(phase))));
        Ok(())
    }

    /// Closes the open item and opens a call.
    pub(super) fn call(&mut self, call: Call, out: &mut TurnEvents) -> Result<(), StepError> {
        self.interrupt(out)?;
        self.open = Some(OpenItem::Call(Box::new(call)));
        self.announce_call(out);
        Ok(())
    }

    /// Checks that the open call, if any, keeps its bound on derived text.
    pub(super) fn check_derived(&self) -> Result<(), StepError> {
        self.open_call().map_or(Ok(()), |call| call.check_derived(0))
    }

    pub(super) fn open_call(&self) -> Option<&Call> {
        match &self.open {
            Some(OpenItem::Call(call)) => Some(call),
            _ => None,
        }
    }

    pub(super) fn open_call_mut(&mut self) -> Option<&mut Call> {
        match &mut self.open {
            Some(OpenItem::Call(call)) => Some(call),
            _ => None,
        }
    }

    /// Whether the open call's arguments are JSON, and end inside a string.
    pub(super) fn string_is_open(&mut self) -> bool {
        self.open_call_mut().is_some_and(Call::string_is_open)
    }

    /// What the calls so far have to say about how the turn ends.
    pub(super) fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Notes that the model broke off a call; `call` is `None` if it broke off before its name.
    pub(super) fn break_call(&mut self, call: Option<&Call>) {
        self.cut_off(failure::broken_call(
            call.map(|call| BrokenCall { name: call.name(), is_foreign: call.is_foreign() }),
        ));
    }

    /// Notes that a call was cut off, and the failure of a turn in which it is the first.
    pub(super) fn cut_off(&mut self, failure: TurnFailure) {
        if self.may_call {
            self.calls.cut_off.get_or_insert(failure);
        }
    }

    /// Closes the open item with this status.
    pub(super) fn end(&mut self, status: ItemStatus, out: &mut TurnEvents) {
        self.white = Delta::default();
        let is_announced = match self.open.take() {
            None => false,
            Some(OpenItem::Prose(prose)) => prose.announced,
            Some(OpenItem::Call(mut call)) => {
                write(self.shows_calls(), out, |out| call.finish(&mut out.text));
                self.count(&mut call, status);
                call.is_announced()
            }
        };
        if is_announced {
            out.push(TurnEvent::Close(status));
        }
    }

    /// Counts a call that ends with this status. One of the prompt says nothing of the turn.
    fn count(&mut self, call: &mut Call, status: ItemStatus) {
        match status {
            _ if !self.visible => {}
            _ if !self.may_call => self.calls.dropped += 1,
            ItemStatus::Incomplete => self.break_call(Some(call)),
            ItemStatus::Completed => self.calls.malformed += u32::from(call.is_malformed()),
        }
    }

    /// Closes the open item because another one begins: a call that nothing closed is cut off.
    fn interrupt(&mut self, out: &mut TurnEvents) -> Result<(), StepError> {
        self.check_derived()?;
        let cut = self.open_call().is_some();
        self.end(if cut { ItemStatus::Incomplete } else { ItemStatus::Completed }, out);
        Ok(())
    }

    fn arguments(
        &mut self,
        out: &mut TurnEvents,
        act: impl FnOnce(&mut Call, &mut String) -> Result<(), StepError>,
    ) -> Result<(), StepError> {
        let is_shown = self.shows_calls();
        let Some(OpenItem::Call(call)) = &mut self.open else { return Err(StepError::NoCall) };
        write(is_shown, out, |out| act(call, &mut out.text))
    }
}

/// Lets `act` write text of the open item. There is no event if the item isn't visible or nothing
/// is written.
fn write<R>(visible: bool, out: &mut TurnEvents, act: impl FnOnce(&mut Delta) -> R) -> R {
    if !visible {
        return act(&mut Delta::default());
    }
    let result = act(out.text());
    out.drop_empty_text();
    result
}
