//! Where the held bytes go: one [`Output`] lives as long as its stream, and the parser speaks to it in every call.
//!
//! Invariant: it knows how many bytes the host holds, so authors never count across calls, and a step that routes more than
//! that becomes a fault that says so. A step that only goes on as before collapses to `pass`, one that says nothing to `hold`.
//! Its list is used again and again, so a step allocates nothing. [`crate::Stream`] feeds and reads it.

use crate::types::{JsonRest, Op, Payload, Phase, Route, Run, ToolCall, Until};

/// The answer to one call, and the count of what the host holds.
#[derive(Debug, Default)]
pub struct Output {
    held: usize,
    /// Where the last run went.
    last: Option<Route>,
    /// Whether the host was told to go on that way until the next marker, and none came.
    until_marker: bool,
    ops: Vec<Op>,
    fault: Option<String>,
    /// Whether `ops` and `fault` are those of a step that was answered.
    answered: bool,
}

/// [`crate::Step`], lent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StepRef<'a> {
    Pass,
    Hold,
    Ops(&'a [Op]),
    Fault(&'a str),
}

impl Output {
    /// Bytes that are not routed yet, those of the present call included.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Routes the oldest `bytes` of those held.
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

    /// Routes the next `bytes` to the message.
    pub fn content(&mut self, bytes: usize) {
        self.take(Route::Content, bytes);
    }

    /// Routes the next `bytes` to the reasoning.
    pub fn reasoning(&mut self, bytes: usize) {
        self.take(Route::Reasoning, bytes);
    }

    /// Routes the next `bytes` to the arguments of the open call.
    pub fn arguments(&mut self, bytes: usize) {
        self.take(Route::Arguments, bytes);
    }

    /// Drops the next `bytes`: markup.
    pub fn drop(&mut self, bytes: usize) {
        self.take(Route::Drop, bytes);
    }

    /// Drops all that is held.
    pub fn drop_all(&mut self) {
        self.rest(Route::Drop);
    }

    /// Drops `text`, which is held alone, up to the end of its line: after how many bytes that came, if it did.
    pub fn drop_line(&mut self, text: &[u8]) -> Option<usize> {
        let end = text.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        self.drop(end.unwrap_or(text.len()));
        end
    }

    /// Routes all that is held.
    pub fn rest(&mut self, route: Route) {
        self.take(route, self.held);
    }

    /// Routes all that is held, and all text up to the next marker: the host need not ask again before that.
    pub fn until_marker(&mut self, route: Route) {
        self.rest(route);
        self.ops.push(Op::UntilMarker(route));
    }

    /// Routes all that is held but for the `keep` youngest bytes, and where there are none, all text up to the next marker.
    pub fn flow(&mut self, route: Route, keep: usize) {
        if keep == 0 { self.until_marker(route) } else { self.take(route, self.held - keep) }
    }

    /// Routes all that is held, and all text up to the next marker or up to the first of `bytes` (ASCII, 1 to 16 of them):
    /// the host asks again with the text from that byte on, and not before.
    pub fn until_byte(&mut self, route: Route, bytes: &'static str) {
        self.rest(route);
        self.ops.push(Op::UntilByte(Until { route, bytes }));
    }

    /// Routes all that is held, and the rest of a JSON value with `depth` open brackets, perhaps in a string: the host follows it, markers inside
    /// strings included, and gives the bracket that closes it, or a marker before that outside of a string, and asks about nothing else.
    pub fn until_json(&mut self, route: Route, depth: u32, in_string: bool) {
        self.rest(route);
        self.ops.push(Op::UntilJson(JsonRest { route, depth, in_string }));
    }

    /// Closes what is open; content that follows is a new message of this phase.
    pub fn message(&mut self, phase: Phase) {
        self.ops.push(Op::Message(phase));
    }

    /// Closes what is open and opens a tool call. There is no way back.
    pub fn tool_call(&mut self, name: impl Into<String>, payload: Payload) {
        self.ops.push(Op::ToolCall(ToolCall { name: name.into(), payload }));
    }

    /// The turn ends in a call that never came to its name: what is held is its opening and dropped, but for the `keep` youngest bytes.
    /// The answer is incomplete at the token limit, and fails where the model stopped by itself.
    pub fn broken_call(&mut self, keep: usize) {
        self.drop(self.held - keep);
        self.ops.push(Op::BrokenCall);
    }

    /// The open item is complete.
    pub fn close(&mut self) {
        self.ops.push(Op::Close);
    }

    /// Argument text that the format leaves out or spells otherwise (bounded by the host).
    pub fn derive(&mut self, arguments: impl Into<String>) {
        self.ops.push(Op::DerivedArguments(arguments.into()));
    }

    /// Gives up: one line saying why. The first reason given stands.
    pub fn fault(&mut self, reason: impl Into<String>) {
        self.fault.get_or_insert_with(|| reason.into());
    }

    /// A call begins, with `bytes` more bytes of text.
    #[inline]
    pub(crate) fn receive(&mut self, bytes: usize) {
        self.held += bytes;
        if std::mem::take(&mut self.answered) {
            self.ops.clear();
            self.fault = None;
        }
    }

    /// A call begins, with a marker of `bytes` bytes.
    pub(crate) fn receive_marker(&mut self, bytes: usize) {
        self.receive(bytes);
        self.until_marker = false;
    }

    /// The step that the call amounts to. It stands until the next one begins.
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

    /// Whether the ops say nothing but "all of it where the last run went".
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
