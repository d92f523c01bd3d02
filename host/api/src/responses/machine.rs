//! Event machine of Responses: makes the stream, and the response in one piece, from a turn's
//! events. Deltas are sent of the item that is open here, and closed items are the response's
//! output, so deltas and output can't differ.

use super::compaction::SUMMARY;
use super::continuation::Queued;
use super::events::{self, SequenceNumbers};
use super::hosted::{self, HostedCalls};
use super::input::REASONING;
use super::items::{AuthorRole, Item, Likelihood, MessagePhase, Status, TokenLogprob};
use super::names::Namespaces;
use super::open_item::{EventSink, OpenItem};
use super::resource::{
    IncompleteDetails, RawMessage, Resource, ResponseError, ResponseStatus, ResponseUsage,
};
use super::typed::TypedTool;
use super::typed::call::{TypedCall, Written};
use crate::agent::{CompactionEvent, ServerEvent};
use crate::error::{ApiError, cancelled, not_stored};
use crate::event_buffer::EventBuffer;
use crate::ids::{Clock, Ids};
use crate::machine::{Machine, StoredAnswer};
use crate::request::ReasoningEvents;
use crate::seal::Seal;
use contract::Payload;
use model::{RawText, RawTurn};
use turn::{Delta, ItemHead, ItemStatus, Phase, TokenLogprobs, TurnEnd, TurnEvent, TurnFailure, Usage};

/// Options of a request that decide which events its answer has.
#[derive(Debug, Clone)]
pub(super) struct EventOptions {
    /// Encoding of reasoning in events.
    pub(super) reasoning_events: ReasoningEvents,
    /// Seals reasoning, and summaries of compactions.
    pub(super) seal: Seal,
    /// Whether the request asks for encrypted reasoning.
    pub(super) encrypted_reasoning: bool,
    /// Flat names of the tools in namespaces.
    pub(super) namespaces: Namespaces,
    /// The tools whose calls have items of their own.
    pub(super) typed: Vec<TypedTool>,
    /// Whether deltas are padded.
    pub(super) obfuscate: bool,
}

/// The event machine of one response.
#[derive(Debug)]
pub struct ResponsesMachine {
    response: Resource,
    /// The item that the model is writing. It is pushed to the response's output when it is closed.
    open: Option<OpenItem>,
    /// The call that the model is writing and whose item comes when it is whole.
    typed: Option<TypedCall>,
    sequence: SequenceNumbers,
    hosted: HostedCalls,
    options: EventOptions,
    ids: Ids,
    now: Clock,
    failure: Option<TurnFailure>,
    /// Whether the response was told of already.
    was_queued: bool,
}

impl ResponsesMachine {
    /// A machine for `response`, which gets its id and time here.
    pub(super) fn new(mut response: Resource, options: EventOptions, mut ids: Ids, now: &Clock) -> Self {
        response.id = ids.next("resp_");
        response.created_at = now.now();
        let sequence = SequenceNumbers::default();
        let hosted = HostedCalls::default();
        Self {
            response,
            open: None,
            typed: None,
            sequence,
            hosted,
            options,
            ids,
            now: now.clone(),
            failure: None,
            was_queued: false,
        }
    }

    /// Goes on with a response that was told of when it was queued.
    pub(super) fn resume(&mut self, queued: Queued) {
        self.response.id = queued.id;
        self.response.created_at = queued.created_at;
        self.sequence = SequenceNumbers::after(queued.events);
        self.was_queued = true;
    }

    fn open(&mut self, head: &ItemHead, buffer: &mut EventBuffer) {
        debug_assert!(!self.is_writing(), "items never overlap");
        if let Some(call) = self.typed_call(head) {
            self.typed = Some(call);
            return;
        }
        let item = self.new_item(head);
        let out = EventSink { sequence: &mut self.sequence, buffer };
        self.open = Some(OpenItem::begin(item, self.response.output.len(), out));
    }

    fn text(&mut self, delta: &Delta, buffer: &mut EventBuffer) {
        debug_assert!(self.is_writing(), "text belongs to an open item");
        if let Some(call) = &mut self.typed {
            call.push(delta);
            return;
        }
        let Some(written) = &mut self.open else { return };
        let out = EventSink { sequence: &mut self.sequence, buffer };
        let logprobs = delta.tokens.iter().map(|token| token_logprob(&token.logprobs)).collect();
        written.text(delta, logprobs, self.options.obfuscate, out);
    }

    fn close(&mut self, status: ItemStatus, buffer: &mut EventBuffer) {
        debug_assert!(self.is_writing(), "only an open item ends");
        self.write_typed(status, buffer);
        let Some(written) = self.open.take() else { return };
        let status = match status {
            ItemStatus::Completed => Status::Completed,
            ItemStatus::Incomplete => Status::Incomplete,
        };
        let reasoning = written.reasoning().filter(|_| self.options.encrypted_reasoning);
        let encrypted = reasoning.map(|text| self.options.seal.seal(REASONING, text));
        let out = EventSink { sequence: &mut self.sequence, buffer };
        self.response.output.push(written.end(status, encrypted, out));
    }

    /// Whether the model is writing an item.
    fn is_writing(&self) -> bool {
        self.open.is_some() || self.typed.is_some()
    }

    /// The call of a tool whose calls have items of their own.
    fn typed_call(&self, head: &ItemHead) -> Option<TypedCall> {
        let ItemHead::ToolCall { call_id, name, .. } = head else { return None };
        let tool = self.options.typed.iter().find(|tool| tool.name() == name)?;
        Some(TypedCall::new(*tool, call_id))
    }

    /// Opens the item of the call that was being written, and writes what there is of it.
    fn write_typed(&mut self, status: ItemStatus, buffer: &mut EventBuffer) {
        let Some(call) = self.typed.take() else { return };
        let (item, written) = call.into_item(status == ItemStatus::Completed, &mut self.ids);
        let out = EventSink { sequence: &mut self.sequence, buffer };
        let mut open = OpenItem::begin(item, self.response.output.len(), out);
        let out = EventSink { sequence: &mut self.sequence, buffer };
        match written {
            Written::Nothing => {}
            Written::Commands(commands) => open.commands(commands, self.options.obfuscate, out),
            Written::Arguments(text) => open.text(&text, Vec::new(), self.options.obfuscate, out),
        }
        self.open = Some(open);
    }

    fn fail(&mut self, failure: TurnFailure, buffer: &mut EventBuffer) {
        let code = error_code(failure.code);
        self.sequence.send(events::error(code, &failure.message), buffer);
        self.response.status = ResponseStatus::Failed;
        self.response.error = Some(ResponseError { code, message: failure.message.clone() });
        self.sequence.send(events::response("response.failed", &self.response), buffer);
        self.failure = Some(failure);
    }

    fn incomplete(&mut self, reason: &'static str, buffer: &mut EventBuffer) {
        self.response.status = ResponseStatus::Incomplete;
        self.response.incomplete_details = Some(IncompleteDetails { reason });
        self.sequence.send(events::response("response.incomplete", &self.response), buffer);
    }

    /// The item for `head`, without text, as `response.output_item.added` announces it.
    fn new_item(&mut self, head: &ItemHead) -> Item {
        let (status, ids) = (Status::InProgress, &mut self.ids);
        match head {
            ItemHead::Reasoning => {
                let content = (self.options.reasoning_events == ReasoningEvents::Text).then(Vec::new);
                let (id, summary) = (ids.next("rs_"), Vec::new());
                Item::Reasoning { id, status, summary, content, encrypted_content: None }
            }
            ItemHead::Message { phase } => {
                let (id, phase, content) = (ids.next("msg_"), message_phase(*phase), Vec::new());
                Item::Message { id, status, role: AuthorRole::Assistant, phase, content }
            }
            ItemHead::ToolCall { call_id, name, payload } => {
                let (namespace, name) = self.options.namespaces.split(name);
                let call_id = call_id.clone();
                match payload {
                    Payload::Json => {
                        let (id, arguments) = (ids.next("fc_"), String::new());
                        Item::FunctionCall { id, status, call_id, name, namespace, arguments }
                    }
                    Payload::Text => {
                        let (id, input) = (ids.next("ctc_"), String::new());
                        Item::CustomToolCall { id, status, call_id, name, namespace, input }
                    }
                }
            }
        }
    }
}

impl Machine for ResponsesMachine {
    fn begin(&mut self, buffer: &mut EventBuffer) {
        if !self.was_queued {
            self.sequence.send(events::response("response.created", &self.response), buffer);
        }
        self.heartbeat(buffer);
    }

    fn queue(&mut self, buffer: &mut EventBuffer) {
        self.response.status = ResponseStatus::Queued;
        for kind in ["response.created", "response.queued"] {
            self.sequence.send(events::response(kind, &self.response), buffer);
        }
    }

    fn turn(&mut self, event: &TurnEvent, buffer: &mut EventBuffer) {
        match event {
            TurnEvent::Open(head) => self.open(head, buffer),
            TurnEvent::Text(delta) => self.text(delta, buffer),
            TurnEvent::Close(status) => self.close(*status, buffer),
            _ => {}
        }
    }

    fn server(&mut self, event: &ServerEvent, buffer: &mut EventBuffer) {
        let output = &mut self.response.output;
        let out = hosted::OutputSink { output, sequence: &mut self.sequence, ids: &mut self.ids, buffer };
        self.hosted.event(event, out);
    }

    fn compaction(&mut self, event: &CompactionEvent, buffer: &mut EventBuffer) {
        let out = EventSink { sequence: &mut self.sequence, buffer };
        match event {
            CompactionEvent::Begun => {
                let item = Item::Compaction { id: self.ids.next("cmp_"), encrypted_content: String::new() };
                self.open = Some(OpenItem::begin(item, self.response.output.len(), out));
            }
            CompactionEvent::Sampled => {
                if let Some(item) = &self.open {
                    item.compacting(out);
                }
            }
            CompactionEvent::Ended { summary } => {
                let Some(item) = self.open.take() else { return };
                let sealed = summary.as_ref().map(|summary| self.options.seal.seal(SUMMARY, summary));
                self.response.output.push(item.end(Status::Completed, sealed, out));
            }
        }
    }

    fn heartbeat(&mut self, buffer: &mut EventBuffer) {
        self.sequence.send(events::response("response.in_progress", &self.response), buffer);
    }

    fn raw(&mut self, turn: RawTurn) {
        let message = |raw: RawText| RawMessage { message: raw.text, tokens: raw.tokens };
        self.response.input_messages.push(message(turn.input));
        self.response.output_messages.push(message(turn.output));
    }

    fn end(&mut self, end: &TurnEnd, usage: Usage, buffer: &mut EventBuffer) {
        self.response.usage = Some(usage.into());
        match end {
            TurnEnd::Failed(failure) if failure.code == TurnFailure::WITHDRAWN => {
                // The protocol's clients know no event of a cancelled response.
                self.response.status = ResponseStatus::Cancelled;
                self.sequence.send(events::response("response.incomplete", &self.response), buffer);
            }
            TurnEnd::Failed(_) if end.is_steered() => {
                if self.is_writing() {
                    self.close(ItemStatus::Incomplete, buffer);
                }
                self.incomplete("steered", buffer);
            }
            TurnEnd::Failed(failure) => self.fail(failure.clone(), buffer),
            TurnEnd::Cancelled => self.fail(cancelled(), buffer),
            TurnEnd::MaxOutputTokens => self.incomplete("max_output_tokens", buffer),
            TurnEnd::Completed => {
                self.response.status = ResponseStatus::Completed;
                self.response.completed_at = Some(self.now.now().max(self.response.created_at));
                self.sequence.send(events::response("response.completed", &self.response), buffer);
            }
        }
    }

    fn may_stop(&self) -> bool {
        let is_settled = |item: &Item| !item.is_running() && !item.waits_for_client();
        let is_settled_so_far = self.typed.is_none() && self.open.as_ref().is_none_or(OpenItem::is_reasoning);
        is_settled_so_far && self.response.output.iter().all(is_settled)
    }

    fn record(&mut self) -> Option<StoredAnswer> {
        let object = self.response.without_output();
        let output = self.response.output.iter().filter(|item| !item.is_running());
        Some(StoredAnswer {
            id: self.response.id.clone(),
            status: stored_status(self.response.status),
            object,
            output: output.map(stored_item).collect(),
        })
    }

    fn finished(&self, first: usize) -> Vec<store::StoredItem> {
        let rest = self.response.output.get(first..).unwrap_or_default();
        rest.iter().take_while(|item| !item.is_running()).map(stored_item).collect()
    }

    fn not_stored(&mut self, buffer: &mut EventBuffer) {
        if self.failure.is_some() {
            return;
        }
        self.sequence.take_back(buffer);
        self.response.completed_at = None;
        self.response.incomplete_details = None;
        self.fail(not_stored(), buffer);
    }

    fn body(&self) -> (u16, String) {
        // A response that failed is sent as a response object, too: its field `error` has what the
        // error object would have.
        let status = self.failure.as_ref().map_or(200, |failure| ApiError::turn(failure).status);
        (status, serde_json::to_string(&self.response).expect("protocol types serialise"))
    }
}

impl From<Usage> for ResponseUsage {
    fn from(usage: Usage) -> Self {
        let Usage { input_tokens, cached_tokens, output_tokens, reasoning_tokens } = usage;
        Self::new(input_tokens, cached_tokens, output_tokens, reasoning_tokens)
    }
}

fn stored_item(item: &Item) -> store::StoredItem {
    let body = serde_json::to_vec(item).expect("protocol types serialise");
    store::StoredItem { id: item.id().to_owned(), body }
}

/// The store's word for how a response ended; none while it hasn't.
fn stored_status(status: ResponseStatus) -> Option<store::Status> {
    match status {
        ResponseStatus::Queued | ResponseStatus::InProgress => None,
        ResponseStatus::Completed => Some(store::Status::Completed),
        ResponseStatus::Incomplete => Some(store::Status::Incomplete),
        ResponseStatus::Cancelled => Some(store::Status::Cancelled),
        ResponseStatus::Failed => Some(store::Status::Failed),
    }
}

/// The code of a failed response. The protocol has a closed list of codes, and clients may refuse
/// others. Nothing is lost, since the message says what the server's own code says.
pub(super) fn error_code(code: &'static str) -> &'static str {
    match code {
        "rate_limit_exceeded" | "invalid_prompt" => code,
        "context_length_exceeded"
        | TurnFailure::CONSTRAINT_TOO_COMPLEX
        | TurnFailure::CONSTRAINT_TOO_SLOW
        | TurnFailure::CONSTRAINT_UNSATISFIABLE
        | TurnFailure::REPLAY_MISMATCH => "invalid_prompt",
        _ => "server_error",
    }
}

/// The protocol's word for a phase; `None` if the model's output format doesn't tell the phase.
fn message_phase(phase: Phase) -> Option<MessagePhase> {
    match phase {
        Phase::Unspecified => None,
        Phase::Commentary => Some(MessagePhase::Commentary),
        Phase::Final => Some(MessagePhase::FinalAnswer),
    }
}

fn token_logprob(token: &TokenLogprobs) -> TokenLogprob {
    let likelihood = |of: &turn::TokenLogprob| Likelihood {
        token: String::from_utf8_lossy(&of.bytes).into_owned(),
        bytes: of.bytes.clone(),
        // JSON has no minus infinity: this number stands for it.
        logprob: of.logprob.max(-9999.0),
    };
    TokenLogprob {
        chosen: likelihood(&token.chosen),
        top_logprobs: token.top.iter().map(likelihood).collect(),
    }
}
