//! Record of one turn: separates calls of the server's tools from the turn's events, and stores
//! everything for the next turn.

use serde_json::json;

use super::event::{AnswerEvent, CallKind, Consent, ServerEvent};
use super::route::Route;
use super::search::SEARCH;
use super::toolbox::Toolbox;
use super::transcript::Transcript;
use prompt::ChatMessage;
use turn::{Delta, ItemHead, ItemStatus, TurnEvent};

/// Error of calls above `max_tool_calls`.
pub(crate) const TOO_MANY: &str = "not run: this response has made as many calls as max_tool_calls allows";

/// Record of the current turn.
pub(super) struct TurnRecord {
    transcript: Transcript,
    open: Option<OpenCall>,
    /// The search that the model is writing.
    open_search: Option<OpenSearch>,
    /// Whether a tool of the server was called.
    called: bool,
    /// Whether the client must act: run a call, or approve one.
    for_client: bool,
    /// Number of calls that may still run in this answer; none: no limit.
    calls_left: Option<u32>,
}

/// A call that the model is writing.
struct OpenCall {
    id: String,
    name: String,
    route: Route,
    arguments: String,
}

/// A search of tools that the model is writing: its event, and its arguments.
struct OpenSearch {
    begun: TurnEvent,
    id: String,
    arguments: String,
}

/// Consequence of an event.
pub(super) enum RecordedCall {
    /// No call has ended.
    None,
    /// A call is complete and must run.
    Run { id: String, route: Route, arguments: String },
    /// A search of tools is complete; none of its arguments: it must not run.
    Search { id: String, arguments: String, refused: bool },
    /// A call ends without having run.
    Refused { id: String, error: String },
}

impl TurnRecord {
    /// Makes an empty record; `max_calls` limits the calls of all turns.
    pub(super) fn new(max_calls: Option<u32>) -> Self {
        let transcript = Transcript::default();
        Self {
            transcript,
            open: None,
            open_search: None,
            called: false,
            for_client: false,
            calls_left: max_calls,
        }
    }

    /// Takes an event of the turn.
    pub(super) fn event(
        &mut self,
        event: TurnEvent,
        toolbox: &Toolbox,
        out: &mut Vec<AnswerEvent>,
    ) -> RecordedCall {
        if let Some(search) = self.open_search.take() {
            return self.search(search, event, out);
        }
        match (&event, &mut self.open) {
            (TurnEvent::Open(ItemHead::ToolCall { call_id, name, .. }), _)
                if toolbox.searches && name == SEARCH =>
            {
                let (id, arguments) = (call_id.clone(), String::new());
                self.open_search = Some(OpenSearch { begun: event, id, arguments });
                return RecordedCall::None;
            }
            (TurnEvent::Open(ItemHead::ToolCall { call_id, name, payload }), _) => {
                if let Some(route) = toolbox.route(name, *payload) {
                    let (id, name, arguments) = (call_id.clone(), name.clone(), String::new());
                    let called = route.called.clone();
                    self.open = Some(OpenCall { id, name, route, arguments });
                    out.push(AnswerEvent::Server(ServerEvent::CallBegun {
                        call_id: call_id.clone(),
                        called,
                    }));
                    return RecordedCall::None;
                }
                self.for_client = true;
            }
            (TurnEvent::Text(delta), Some(call)) => {
                let (call_id, delta) = (call.id.clone(), delta.text.clone());
                call.arguments.push_str(&delta);
                out.push(AnswerEvent::Server(ServerEvent::CallText { call_id, delta }));
                return RecordedCall::None;
            }
            (TurnEvent::Close(status), Some(_)) => {
                let call = self.open.take().expect("it is open");
                return self.close(call, *status, out);
            }
            _ => {}
        }
        self.transcript.event(&event);
        out.push(AnswerEvent::Turn(event));
        RecordedCall::None
    }

    /// Takes an event of a search. One that was cut off is the client's to see, as a call.
    fn search(&mut self, search: OpenSearch, event: TurnEvent, out: &mut Vec<AnswerEvent>) -> RecordedCall {
        let OpenSearch { begun, id, mut arguments } = search;
        match event {
            TurnEvent::Text(delta) => {
                arguments.push_str(&delta);
                self.open_search = Some(OpenSearch { begun, id, arguments });
                RecordedCall::None
            }
            TurnEvent::Close(ItemStatus::Completed) => {
                self.called = true;
                self.transcript.call(id.clone(), SEARCH.to_owned(), arguments.clone());
                RecordedCall::Search { id, arguments, refused: !self.may_call() }
            }
            end => {
                let text = (!arguments.is_empty())
                    .then(|| TurnEvent::Text(Delta { text: arguments, tokens: Vec::new() }));
                out.extend([Some(begun), text, Some(end)].into_iter().flatten().map(AnswerEvent::Turn));
                RecordedCall::None
            }
        }
    }

    /// Whether one more call may run, which counts.
    fn may_call(&mut self) -> bool {
        match &mut self.calls_left {
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        }
    }

    fn close(&mut self, call: OpenCall, status: ItemStatus, out: &mut Vec<AnswerEvent>) -> RecordedCall {
        let OpenCall { id, name, route, arguments } = call;
        if status == ItemStatus::Incomplete {
            return RecordedCall::Refused { id, error: "the call was cut off".to_owned() };
        }
        out.push(AnswerEvent::Server(ServerEvent::CallWritten { call_id: id.clone() }));
        if route.called.consent == Consent::Asked {
            self.for_client = true;
            return RecordedCall::None;
        }
        self.called = true;
        self.transcript.call(id.clone(), name, arguments.clone());
        if !self.may_call() {
            return RecordedCall::Refused { id, error: TOO_MANY.to_owned() };
        }
        let raw = route.called.kind == CallKind::Code { raw: true };
        let arguments = if raw { json!({ "code": arguments }).to_string() } else { arguments };
        RecordedCall::Run { id, route, arguments }
    }

    /// Whether another turn follows the calls.
    pub(super) fn goes_on(&self) -> bool {
        self.called && !self.for_client
    }

    /// Takes the turn's messages; the next turn begins with an empty record.
    pub(super) fn take_messages(&mut self, result: impl FnMut(&str) -> String) -> Vec<ChatMessage> {
        self.called = false;
        std::mem::take(&mut self.transcript).into_messages(result)
    }
}
