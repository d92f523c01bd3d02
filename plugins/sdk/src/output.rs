//! A parser's answers: one [`Output`] lives as long as its stream, and every call of the parser
//! says there where held bytes go.
//!
//! Invariant: it knows how many bytes the host holds, so authors never count across calls, and a
//! step that routes more than that becomes a fault that says so. A step that only continues the
//! last route becomes `pass`, a step without ops becomes `hold`. The list of ops is reused, so a
//! step allocates nothing. [`crate::Stream`] feeds and reads it.

use std::borrow::Cow;

use contract::{
    HoldUntil, InString, JsonRest, Note, Op, ParameterValue, Payload, Reading, Route, Run, Segment, ToolCall,
    Until,
};

/// Longest role of a turn, in bytes.
const ROLE: usize = 16;

/// The answer to one call of the parser, and the number of bytes that the host holds.
#[derive(Debug, Default)]
pub struct Output {
    held: usize,
    /// Route of the last run.
    last: Option<Route>,
    /// Whether the host still routes all text up to the next marker to `last`.
    until_marker: bool,
    ops: Vec<Op>,
    fault: Option<String>,
    /// Whether the marker that the parser is called with ends an open string.
    ends_strings: bool,
    /// Whether `ops` and `fault` are those of the previous step: the next call clears them.
    answered: bool,
}

/// A [`crate::Step`] that borrows from the [`Output`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum StepRef<'a> {
    Pass,
    Hold,
    HoldUntil(HoldUntil),
    Ops(&'a [Op]),
    Fault(&'a str),
}

impl Output {
    /// Number of bytes that are not routed yet, including the chunk or marker that the parser is
    /// called with.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Whether the marker that the parser is called with ends a string of JSON that is open: it
    /// ends the turn, or came as a token of its own ([`crate::Request::token_markers`]). Then the
    /// model left out a quote, and the string's call is incomplete
    /// ([`crate::json::Call::give_up`]). Any other marker inside a string is part of it.
    pub fn ends_strings(&self) -> bool {
        self.ends_strings
    }

    /// Routes the oldest `bytes` held bytes. Routing more than are held is a fault.
    #[inline]
    pub fn take(&mut self, route: Route, bytes: usize) {
        if bytes == 0 {
            return;
        }
        if bytes > self.held {
            self.fault(format!("routed {bytes} bytes to {route:?} with {} held", self.held));
            return;
        }
        self.held -= bytes;
        let bytes = u32::try_from(bytes).expect("the host holds less than 4 GiB");
        match self.ops.last_mut() {
            Some(Op::Bytes(run)) if run.route == route => run.bytes += bytes,
            _ => self.ops.push(Op::Bytes(Run { route, bytes })),
        }
    }

    /// Routes the oldest `bytes` held bytes to the message.
    pub fn content(&mut self, bytes: usize) {
        self.take(Route::Content, bytes);
    }

    /// Routes the oldest `bytes` held bytes to the reasoning.
    pub fn reasoning(&mut self, bytes: usize) {
        self.take(Route::Reasoning, bytes);
    }

    /// Routes the oldest `bytes` held bytes to the arguments of the open tool call.
    pub fn arguments(&mut self, bytes: usize) {
        self.take(Route::Arguments, bytes);
    }

    /// Drops the oldest `bytes` held bytes as markup.
    pub fn drop(&mut self, bytes: usize) {
        self.take(Route::Drop, bytes);
    }

    /// Drops all held bytes.
    pub fn drop_all(&mut self) {
        self.rest(Route::Drop);
    }

    /// Drops the held word behind a turn's marker, the turn's role, once a line end in `text`, the
    /// youngest held bytes, ends it. Returns whether it is a role, and no word of prose; `None` while
    /// it goes on. A marker or the turn's end makes it one, too.
    pub fn drop_role(&mut self, text: &[u8]) -> Option<bool> {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let end = text.iter().position(|byte| !is_word(byte));
        let bytes = self.held - text.len() + end.unwrap_or(text.len());
        let is_role = bytes <= ROLE && end.is_none_or(|end| matches!(text[end], b'\n' | b'\r'));
        if is_role && end.is_some() {
            self.drop(bytes);
        }
        (end.is_some() || !is_role).then_some(is_role)
    }

    /// Routes all held bytes.
    pub fn rest(&mut self, route: Route) {
        self.take(route, self.held);
    }

    /// Routes all held bytes, and all text up to the next marker: the host doesn't call the parser
    /// before that marker.
    pub fn until_marker(&mut self, route: Route) {
        self.rest(route);
        self.ops.push(Op::UntilMarker(route));
    }

    /// Routes all held bytes but the `keep` youngest. If `keep` is 0, all text up to the next
    /// marker goes the same way ([`Self::until_marker`]).
    pub fn flow(&mut self, route: Route, keep: usize) {
        if keep == 0 { self.until_marker(route) } else { self.take(route, self.held - keep) }
    }

    /// Hides the `keep` youngest held bytes while `read` routes the others, and nothing beyond
    /// them.
    pub fn hiding<T>(&mut self, keep: usize, read: impl FnOnce(&mut Self) -> T) -> T {
        let keep = keep.min(self.held);
        self.held -= keep;
        let result = read(self);
        self.held += keep;
        if keep > 0 {
            self.ops.pop_if(|op| {
                matches!(op, Op::UntilMarker(_) | Op::UntilByte(_) | Op::UntilJson(_) | Op::HoldUntil(_))
            });
        }
        result
    }

    /// Routes all held bytes, and all text up to the next marker or up to the first of `bytes`
    /// (ASCII, 1 to 16 of them): the next text that the host gives the parser begins with that
    /// byte.
    pub fn until_byte(&mut self, route: Route, bytes: &'static str) {
        self.rest(route);
        self.ops.push(Op::UntilByte(Until { route, bytes: bytes.into() }));
    }

    /// Routes all held bytes, and the rest of a JSON value of which `depth` brackets are open, and
    /// perhaps a string. The host follows the value, markers inside its strings included. It calls
    /// the parser again with the bracket that closes the value, or with an earlier marker that
    /// stands outside the value's strings or [ends](Self::ends_strings) the open one.
    pub fn until_json(&mut self, route: Route, depth: u32, in_string: InString) {
        self.rest(route);
        self.ops.push(Op::UntilJson(JsonRest { route, depth, in_string }));
    }

    /// Leaves all held bytes held, and text that comes too: the host calls the parser again at the
    /// next marker, at one of `ends` (up to four ASCII bytes), or when there are `at_most` bytes (1
    /// to 512) that the parser hasn't seen.
    pub fn hold_until<const N: usize>(&mut self, ends: &[u8; N], at_most: u32) {
        const { assert!(N <= 4, "a hold has up to four ends") };
        let mut four = [0; 4];
        four[..N].copy_from_slice(ends);
        self.ops.push(Op::HoldUntil(HoldUntil { ends: four, at_most }));
    }

    /// Holds the head of what is probably a call: up to one of `ends`, or 48 bytes at a time
    /// ([`Self::hold_until`]).
    pub fn hold_head<const N: usize>(&mut self, ends: &[u8; N]) {
        self.hold_until(ends, 48);
    }

    /// Holds what is probably white space before the next marker, 16 bytes at a time
    /// ([`Self::hold_until`]).
    pub fn hold_gap(&mut self) {
        self.hold_until(b"", 16);
    }

    /// Closes the open item, which is incomplete if it is a call; content that follows is a new
    /// message of this phase: `commentary`, `final`, or empty where the format doesn't say.
    pub fn message(&mut self, phase: impl Into<Cow<'static, str>>) {
        self.ops.push(Op::Message(phase.into()));
    }

    /// Closes the open item and opens a tool call. This can't be undone: hold the bytes until the
    /// call is certain. The host checks that `name` is a declared tool's, or stands in the bytes
    /// dropped for this call.
    pub fn tool_call(&mut self, name: impl Into<String>, payload: Payload) {
        self.ops.push(Op::ToolCall(ToolCall::new(name, payload)));
    }

    /// Reports that the turn ends in a tool call without a name. Drops the call's opening: all held
    /// bytes but the `keep` youngest. At the token limit the answer is incomplete; where the model
    /// stopped by itself the turn fails.
    pub fn broken_call(&mut self, keep: usize) {
        self.drop(self.held - keep);
        self.ops.push(Op::BrokenCall);
    }

    /// Closes the open item: it is complete. A tool call that ends in any other way is reported as
    /// incomplete.
    pub fn close(&mut self) {
        self.ops.push(Op::Close);
    }

    /// Writes argument text that the format leaves out or spells otherwise (the host bounds its
    /// length).
    pub fn derive(&mut self, arguments: impl Into<String>) {
        self.ops.push(Op::DerivedArguments(arguments.into()));
    }

    /// Ends the open value of the call's arguments, and begins that of parameter `key`: what is
    /// routed to [`Route::Value`] from here on is its text. The host types, escapes and writes the
    /// value, with the key and what stands between values; [`Self::close`] ends the arguments.
    pub fn parameter(&mut self, key: impl Into<String>, reading: Reading) {
        self.parameter_at(vec![Segment::Key(key.into())], reading);
    }

    /// [`Self::parameter`] for a value inside another one: `path` leads there from the outermost
    /// object. The host opens and closes the objects and lists around it.
    pub fn parameter_at(&mut self, path: Vec<Segment>, reading: Reading) {
        self.ops.push(Op::Parameter(ParameterValue { path, reading }));
    }

    /// Ends the open value. Without it, one that isn't a string waits for the next value or the
    /// call's end.
    pub fn end_parameter(&mut self) {
        self.ops.push(Op::ParameterEnd);
    }

    /// Says something that isn't the text of an item, at this place of the stream. A host passes
    /// over what it doesn't know.
    pub fn note(&mut self, name: impl Into<String>, data: impl Into<String>) {
        self.ops.push(Op::Note(Note { name: name.into(), data: data.into() }));
    }

    /// Ends the parser's work on this stream: `reason` is one line that says why. The first reason
    /// of a step counts.
    pub fn fault(&mut self, reason: impl Into<String>) {
        self.fault.get_or_insert_with(|| reason.into());
    }

    /// Begins a call of the parser: the host holds `bytes` more bytes.
    #[inline]
    pub(crate) fn receive(&mut self, bytes: usize) {
        self.held += bytes;
        if std::mem::take(&mut self.answered) {
            self.ops.clear();
            self.fault = None;
        }
    }

    /// Begins a call of the parser with a marker whose literal has `bytes` bytes and which ends an
    /// open string or doesn't.
    pub(crate) fn receive_marker(&mut self, bytes: usize, ends_strings: bool) {
        self.receive(bytes);
        (self.until_marker, self.ends_strings) = (false, ends_strings);
    }

    /// The step that answers this call of the parser. It is valid until the next call begins.
    #[inline]
    pub(crate) fn answer(&mut self) -> StepRef<'_> {
        self.answered = true;
        if let Some(reason) = &self.fault {
            return StepRef::Fault(reason);
        }
        if self.ops.is_empty() {
            return StepRef::Hold;
        }
        if self.goes_on() {
            return StepRef::Pass;
        }
        if let [Op::HoldUntil(hold)] = *self.ops {
            self.until_marker = false;
            return StepRef::HoldUntil(hold);
        }
        for op in &self.ops {
            match op {
                Op::Bytes(run) => (self.last, self.until_marker) = (Some(run.route), false),
                Op::UntilMarker(route) => (self.last, self.until_marker) = (Some(*route), true),
                Op::UntilByte(until) => (self.last, self.until_marker) = (Some(until.route), false),
                Op::UntilJson(rest) => (self.last, self.until_marker) = (Some(rest.route), false),
                _ => self.until_marker = false,
            }
        }
        StepRef::Ops(&self.ops)
    }

    /// Whether the ops only say that all held bytes go where the last run went.
    fn goes_on(&self) -> bool {
        let same = |route: &Route| self.held == 0 && self.last == Some(*route);
        match self.ops.as_slice() {
            [Op::Bytes(run)] => same(&run.route),
            [Op::Bytes(run), Op::UntilMarker(route)] => {
                self.until_marker && run.route == *route && same(route)
            }
            _ => false,
        }
    }
}
