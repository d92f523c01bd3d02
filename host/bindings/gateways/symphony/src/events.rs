//! A turn's events as Symphony's, with the bytes of the output that each accounts for.
//!
//! Bytes wait in `pending` until the event that they belong to: markup before a call's name for the
//! call's start, what the model wrote of arguments for the arguments, white space at the end of
//! prose for more prose. Invariant: events have the output's bytes in its order, each once.

use symphony::{DropReason, Event, Events, Ledger, MalformedReason, Text};
use turn::{ItemHead, ItemStatus, Routed, TurnEvent};

use super::hidden::Hidden;
use super::pending::{Pending, Segment};
use contract::Route;

/// The item that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    Reasoning,
    Message,
    Call,
}

/// What becomes of one output.
#[derive(Debug)]
pub(crate) struct Output {
    /// Literal that ends reasoning.
    reasoning_end: Option<String>,
    pub(crate) hidden: Hidden,
    pub(crate) tokens: Ledger,
    pending: Pending,
    open: Open,
    calls: u32,
    reasoning_tokens: u32,
}

impl Output {
    pub(crate) fn new(reasoning_end: Option<String>) -> Self {
        Self {
            reasoning_end,
            hidden: Hidden::default(),
            tokens: Ledger::new(),
            pending: Pending::default(),
            open: Open::Nothing,
            calls: 0,
            reasoning_tokens: 0,
        }
    }

    /// Hands on events.
    pub(crate) fn hand_on(&mut self, events: &[TurnEvent], out: &mut Events) {
        for event in events {
            match event {
                TurnEvent::Routed(routed) => self.routed(routed),
                TurnEvent::Open(head) => self.open(head, out),
                TurnEvent::Text(text) if self.open == Open::Call => self.arguments(text, out),
                TurnEvent::Text(text) => self.prose(text, out),
                TurnEvent::Close(status) => self.close(*status, out),
                _ => {}
            }
        }
    }

    /// Gives what no event has as dropped.
    pub(crate) fn drop_rest(&mut self, out: &mut Events) {
        while let Some(segment) = self.pending.pop() {
            self.drop(segment, out);
        }
    }

    /// Gives the last `unread` bytes that the turn had, and what came `after`, back, since the parser
    /// failed; what no event has before them was markup.
    pub(crate) fn give_back(&mut self, unread: u64, reason: &str, after: &str, out: &mut Events) {
        let markup = self.pending.split_before_last(usize::try_from(unread).unwrap_or(usize::MAX));
        self.drop_first(markup, out);
        let text = Text::uncounted(self.pending.take_text() + after);
        self.put(Event::Malformed { text, why: MalformedReason::Other(reason.to_owned()) }, out);
    }

    /// Ends the output.
    pub(crate) fn finish(&mut self, reason: symphony::FinishReason, out: &mut Events) {
        self.tokens.finish(out);
        let (tool_calls, reasoning_tokens) = (self.calls, self.reasoning_tokens);
        out.push(Event::Finish { reason, tool_calls, reasoning_tokens });
    }

    /// Whether calls were put out.
    pub(crate) fn has_calls(&self) -> bool {
        self.calls > 0
    }

    fn routed(&mut self, routed: &Routed) {
        for (part, is_hidden) in self.hidden.tell(&routed.text) {
            self.pending.push(Segment { text: part.to_owned(), route: routed.route, is_hidden });
        }
    }

    fn open(&mut self, head: &ItemHead, out: &mut Events) {
        self.open = match head {
            ItemHead::Reasoning => {
                out.push(Event::ReasoningStart);
                Open::Reasoning
            }
            ItemHead::Message { .. } => Open::Message,
            ItemHead::ToolCall { call_id, name, .. } => {
                let prose = [Route::Content, Route::Reasoning].map(|route| self.pending.up_to(route));
                self.drop_first(prose[0].max(prose[1]), out);
                let source = Text::uncounted(self.pending.take_text());
                let (index, name) = (self.calls, name.clone());
                // Without an id of the model's, one as Symphony's engine makes them.
                let id = if call_id.is_empty() { format!("call_{index}") } else { call_id.clone() };
                self.put(Event::ToolCallStart { index, id, name, source }, out);
                self.calls += 1;
                Open::Call
            }
        };
    }

    /// Puts prose out: its bytes are the next ones that are pending, but for white space that was
    /// trimmed and for markup.
    fn prose(&mut self, text: &str, out: &mut Events) {
        let mut rest = text;
        while !rest.is_empty() {
            let Some(mut segment) = self.pending.pop() else {
                debug_assert!(false, "bytes are told before they are put out");
                return;
            };
            // What markup has isn't prose, though it may begin alike.
            if !segment.is_prose() {
                self.drop(segment, out);
                continue;
            }
            // White space that was trimmed stands before it.
            let trimmed = before(&segment.text, rest);
            if trimmed > 0 {
                let behind = segment.text.split_off(trimmed);
                self.pending.put_back(Segment { text: behind, ..segment });
                self.drop(segment, out);
                continue;
            }
            let common = match &*segment.text {
                text if text.starts_with(rest) => rest.len(),
                text if rest.starts_with(text) => text.len(),
                _ => {
                    self.drop(segment, out);
                    continue;
                }
            };
            let behind = segment.text.split_off(common);
            self.pending.put_back(Segment { text: behind, ..segment });
            if !segment.is_hidden {
                self.put_prose(&segment.text, out);
            }
            rest = &rest[common..];
        }
    }

    fn put_prose(&mut self, text: &str, out: &mut Events) {
        let text = Text::uncounted(text);
        let event = if self.open == Open::Reasoning { Event::Reasoning(text) } else { Event::Content(text) };
        self.put(event, out);
    }

    fn arguments(&mut self, json: &str, out: &mut Events) {
        let source = Text::uncounted(self.pending.take_text());
        self.put(Event::ToolCallArguments { index: self.calls - 1, json: json.to_owned(), source }, out);
    }

    fn close(&mut self, status: ItemStatus, out: &mut Events) {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Call => {
                let (index, source) = (self.calls.saturating_sub(1), self.pending.take_text());
                let cut_off = status == ItemStatus::Incomplete;
                let (source, unread) =
                    if cut_off { (String::new(), source) } else { (source, String::new()) };
                self.put(Event::ToolCallEnd { index, source: Text::uncounted(source) }, out);
                if cut_off {
                    let text = Text::uncounted(unread);
                    self.put(Event::Malformed { text, why: MalformedReason::UnterminatedRegion }, out);
                }
            }
            Open::Reasoning => {
                let end = self.reasoning_end.as_deref().map_or(0, |end| self.pending.split_behind(end));
                self.drop_first(end.max(self.pending.up_to(Route::Reasoning)), out);
                out.push(Event::ReasoningEnd);
            }
            Open::Message | Open::Nothing => self.drop_first(self.pending.up_to(Route::Content), out),
        }
    }

    fn drop_first(&mut self, count: usize, out: &mut Events) {
        for _ in 0..count {
            if let Some(segment) = self.pending.pop() {
                self.drop(segment, out);
            }
        }
    }

    fn drop(&mut self, segment: Segment, out: &mut Events) {
        let is_white = segment.is_prose() && segment.text.chars().all(char::is_whitespace);
        let why = if is_white { DropReason::Whitespace } else { DropReason::Wrapper };
        if !segment.is_hidden {
            self.put(Event::Dropped { text: Text::uncounted(segment.text), why }, out);
        }
    }

    /// Puts an event out, with the number of tokens that begin in its bytes.
    fn put(&mut self, event: Event, out: &mut Events) {
        let event = self.tokens.relabel(event);
        if let Event::Reasoning(text) = &event {
            self.reasoning_tokens += text.tokens.unwrap_or_default();
        }
        out.push(event);
    }
}

/// Number of bytes at the beginning of `text` behind which it goes on as `prose` does.
fn before(text: &str, prose: &str) -> usize {
    let goes_on = |at: &usize| {
        let text = &text[*at..];
        text.starts_with(prose) || prose.starts_with(text)
    };
    text.char_indices().map(|(at, _)| at).find(goes_on).unwrap_or(text.len())
}
