//! Builds a turn's items from runs and ops, as a host does: opens and closes them, trims, decodes arguments, discards the prompt.

use std::mem::discriminant;

use super::draft::DraftCall;
use crate::json::Unescape;
use crate::{FinishReason, Payload, Phase, Route, ToolCall, Trim};

/// One item of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Kind of the item.
    pub head: Head,
    /// Text of the item, or arguments of the call.
    pub text: String,
    /// Whether the item is complete, not cut off.
    pub complete: bool,
}

/// Kind of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// Reasoning.
    Reasoning,
    /// A message of this phase.
    Message(Phase),
    /// A call.
    ToolCall(ToolCall),
}

impl Item {
    /// A complete reasoning item.
    pub fn reasoning(text: impl Into<String>) -> Self {
        Self { head: Head::Reasoning, text: text.into(), complete: true }
    }

    /// A complete message without a phase.
    pub fn message(text: impl Into<String>) -> Self {
        Self { head: Head::Message(Phase::Unspecified), text: text.into(), complete: true }
    }

    /// A complete call with JSON arguments.
    pub fn call(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        let head = Head::ToolCall(ToolCall { name: name.into(), payload: Payload::Json });
        Self { head, text: arguments.into(), complete: true }
    }

    /// The item, cut off.
    #[must_use]
    pub fn incomplete(self) -> Self {
        Self { complete: false, ..self }
    }
}

#[derive(Debug)]
pub(super) struct Items {
    trim: Trim,
    declared: Vec<String>,
    pub(super) done: Vec<Item>,
    pub(super) open: Option<OpenItem>,
    /// Whether calls inside reasoning may be drafts.
    holds_drafts: bool,
    pub(super) draft: Option<DraftCall>,
    /// Where the parser's prose goes, calls in it aside.
    pub(super) prose: Route,
    /// Length of the marker that the parser is asked about; 0 for text.
    pub(super) marker: usize,
    routed: usize,
    /// Bytes of the prompt that are still to be routed.
    pub(super) prompt: usize,
    pub(super) in_prompt: bool,
    /// Whether the turn ended inside a string of a call's JSON: the call is incomplete then, whatever closes it.
    pub(super) cut: bool,
    /// Markup dropped since the last byte shown.
    pub(super) dropped: String,
}

#[derive(Debug, Clone)]
pub(super) struct OpenItem {
    head: Head,
    text: Vec<u8>,
    unescape: Unescape,
    derived: usize,
    dropped: usize,
    /// Whether the item is a call behind which the parser went on with prose.
    left: bool,
}

impl Items {
    pub(super) fn new(trim: Trim, declared: Vec<String>, holds_drafts: bool) -> Self {
        Self {
            trim,
            holds_drafts,
            draft: None,
            prose: Route::Content,
            marker: 0,
            declared,
            done: Vec::new(),
            open: None,
            routed: 0,
            prompt: 0,
            in_prompt: false,
            cut: false,
            dropped: String::new(),
        }
    }

    pub(super) fn begin_prompt(&mut self, bytes: usize) {
        (self.prompt, self.in_prompt) = (bytes, true);
    }

    pub(super) fn end_prompt(&mut self) {
        self.in_prompt = false;
    }

    /// Arguments of the calls so far that carry JSON, as a client has seen them.
    pub(super) fn arguments(&self) -> Vec<String> {
        let done = self.done.iter().map(|item| (&item.head, item.text.as_bytes()));
        let open = self.open.iter().map(|open| (&open.head, &open.text[..]));
        let is_json = |head: &Head| matches!(head, Head::ToolCall(call) if call.payload == Payload::Json);
        let calls = done.chain(open).filter(|(head, _)| is_json(head));
        let whole = |text: &[u8]| text.utf8_chunks().next().map_or("", |chunk| chunk.valid()).to_owned();
        calls.map(|(_, text)| whole(text)).collect()
    }

    pub(super) fn routed(&self) -> usize {
        self.routed
    }

    pub(super) fn run(&mut self, route: Route, text: &str) {
        self.routed += text.len();
        if !text.is_empty() {
            self.note_route(route);
        }
        let hidden = text.len().min(self.prompt);
        self.prompt -= hidden;
        if let Some(draft) = &mut self.draft {
            draft.push(route, text);
        }
        if route == Route::Drop {
            self.dropped.push_str(text);
            if let Some(open) = &mut self.open {
                open.dropped += text.len();
            }
            return;
        }
        if !text.is_empty() {
            self.dropped.clear();
            self.write(route, &text.as_bytes()[hidden..]);
        }
    }

    pub(super) fn message(&mut self, phase: Phase) {
        self.end(true);
        self.open = Some(OpenItem::new(Head::Message(phase)));
    }

    /// Opens a call; its name must be declared, or stand in the markup dropped before it or in what is `held`.
    pub(super) fn tool_call(&mut self, call: ToolCall, held: &str) {
        assert!(!call.name.is_empty(), "a call without a name");
        if self.holds_drafts {
            self.begin_draft();
        }
        let dropped = self.dropped.len();
        self.dropped.push_str(held);
        let known = self.declared.contains(&call.name) || self.dropped.contains(&call.name);
        assert!(known, "a name neither declared nor in the bytes dropped: {call:?}");
        self.dropped.clear();
        self.cut = false;
        self.end(true);
        self.open = Some(OpenItem { dropped, ..OpenItem::new(Head::ToolCall(call)) });
    }

    /// Notes that text to come goes to `route`.
    pub(super) fn flow(&mut self, route: Route) {
        self.note_route(route);
        if let Some(open) = &mut self.open {
            let is_call = matches!(open.head, Head::ToolCall(_));
            open.left |= is_call && matches!(route, Route::Content | Route::Reasoning);
        }
    }

    /// Completes the open item. A call behind which the parser went on with prose was given up: a `close` of it is an error.
    pub(super) fn close(&mut self) {
        if !self.open.as_ref().is_some_and(|open| matches!(open.head, Head::ToolCall(_))) {
            self.end_draft();
            self.prose = Route::Content;
        }
        if let Some(open) = self.open.take() {
            assert!(!open.left, "a call that was given up is closed as if it were whole: {open:?}");
            let is_broken = matches!(open.head, Head::ToolCall(_)) && self.cut || open.is_foreign();
            self.push(open, !is_broken);
        }
    }

    pub(super) fn derived(&mut self, text: &str) {
        let call = self.call();
        call.derived += text.len();
        assert!(call.derived <= 256 + 8 * call.dropped, "too much derived");
        call.text.extend_from_slice(text.as_bytes());
    }

    /// Ends the turn. A call that is still open is whole if its arguments are a complete JSON object.
    pub(super) fn finish(mut self, reason: FinishReason) -> Vec<Item> {
        let stopped = reason == FinishReason::Stop;
        if let Some(whole) = self.open.take_if(|open| open.is_whole_call()) {
            self.push(whole, true);
        }
        self.end(stopped);
        self.resolve_draft(!(stopped && self.done.is_empty()));
        self.done
    }

    pub(super) fn write(&mut self, route: Route, bytes: &[u8]) {
        match route {
            Route::Content => self.text_item(Head::Message(Phase::Unspecified)).extend_from_slice(bytes),
            Route::Reasoning => self.text_item(Head::Reasoning).extend_from_slice(bytes),
            Route::Arguments => self.call().text.extend_from_slice(bytes),
            Route::ArgumentsEscaped => escape(bytes, &mut self.call().text),
            Route::ArgumentsUnescaped => {
                let OpenItem { text, unescape, .. } = self.call();
                for byte in bytes {
                    unescape.push(*byte, text);
                }
            }
            Route::Drop => {}
        }
    }

    /// The text of the open item of this kind (whatever its phase), opened if none is.
    fn text_item(&mut self, head: Head) -> &mut Vec<u8> {
        if self.open.as_ref().is_some_and(|open| discriminant(&open.head) != discriminant(&head)) {
            self.end(true);
        }
        &mut self.open.get_or_insert_with(|| OpenItem::new(head)).text
    }

    fn call(&mut self) -> &mut OpenItem {
        let open = self.open.as_mut().filter(|open| matches!(open.head, Head::ToolCall(_)));
        open.expect("arguments without an open call")
    }

    /// Ends the open item without a `close`: a call is incomplete then.
    pub(super) fn end(&mut self, complete: bool) {
        if let Some(open) = self.open.take() {
            let is_call = matches!(open.head, Head::ToolCall(_));
            self.push(open, complete && !is_call);
        }
    }

    fn push(&mut self, mut open: OpenItem, complete: bool) {
        open.unescape.finish(&mut open.text);
        let text = String::from_utf8(open.text).expect("runs end between characters");
        let (trim, is_call) = match open.head {
            Head::Reasoning => (self.trim.reasoning, false),
            Head::Message(_) => (self.trim.content, false),
            Head::ToolCall(_) => (false, true),
        };
        let text = if trim { text.trim().to_owned() } else { text };
        if !self.in_prompt && (is_call || !text.is_empty()) {
            self.done.push(Item { head: open.head, text, complete });
        }
    }
}

impl OpenItem {
    fn is_whole_call(&self) -> bool {
        self.is_json_call()
            && !self.is_foreign()
            && serde_json::from_slice::<serde::de::IgnoredAny>(&self.text).is_ok()
    }

    fn is_json_call(&self) -> bool {
        matches!(&self.head, Head::ToolCall(call) if call.payload == Payload::Json)
    }

    /// Whether the arguments should be a JSON object and are something else.
    fn is_foreign(&self) -> bool {
        let text = self.text.trim_ascii();
        self.is_json_call() && !(text.is_empty() || text.starts_with(b"{") || text == b"null")
    }

    fn new(head: Head) -> Self {
        Self { head, text: Vec::new(), unescape: Unescape::default(), derived: 0, dropped: 0, left: false }
    }
}

/// Writes text as the inside of a JSON string.
fn escape(bytes: &[u8], json: &mut Vec<u8>) {
    for byte in bytes {
        match byte {
            b'"' | b'\\' => json.extend_from_slice(&[b'\\', *byte]),
            b'\n' => json.extend_from_slice(b"\\n"),
            b'\r' => json.extend_from_slice(b"\\r"),
            b'\t' => json.extend_from_slice(b"\\t"),
            0..0x20 => json.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => json.push(*byte),
        }
    }
}
