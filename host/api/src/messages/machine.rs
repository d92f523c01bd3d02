//! Event machine of Messages: makes the stream of one message, and the message in one piece, from a
//! turn's events. Each item is a block, and closed blocks are the message's content.

use serde_json::value::RawValue;

use super::THINKING;
use super::error::{ErrorObject, error_body, no_object};
use super::events::{
    AppliedEdit, Block, ContextManagement, Delta, Event, Message, Stop, TextContent, Usage, no_input,
};
use super::input_check::InputCheck;
use super::search::{self, SearchOutcome};
use super::thread;
use crate::agent::{Called, Cleared, CompactionEvent, ServerEvent};
use crate::error::{ApiError, cancelled, not_stored};
use crate::event_buffer::EventBuffer;
use crate::machine::{Machine, StoredAnswer};
use crate::seal::Seal;
use contract::Payload;
use turn::{self, ItemHead, ItemStatus, TurnEnd, TurnEvent, TurnFailure};

/// The event machine of one message.
#[derive(Debug)]
pub struct MessagesMachine {
    id: String,
    model: String,
    /// The request's bound on the answer's tokens. An answer that was cut at fewer tokens reached
    /// the end of the context.
    max_tokens: u32,
    request_id: String,
    /// Key that signs thinking.
    seal: Seal,
    content: Vec<Block>,
    open: Option<OpenBlock>,
    /// The stop sequence that ended the turn.
    stopped_by: Option<String>,
    stop_reason: Option<&'static str>,
    usage: turn::Usage,
    /// Results of calls that the server ran, which wait for the open block to end.
    results: Vec<Block>,
    /// What was left out of the conversation; none where the request doesn't ask.
    context: Option<ContextManagement>,
    failure: Option<TurnFailure>,
}

/// The block that is being written.
#[derive(Debug)]
struct OpenBlock {
    block: Block,
    /// Text of the block so far; for a call, its input.
    text: String,
    /// Whether the text is the input of a custom tool, which is no JSON: it is sent as the string
    /// `input` of an object.
    wrapped: bool,
    /// Checker of a call's input, if the input is JSON.
    input: Option<InputCheck>,
}

impl OpenBlock {
    /// Whether the block can go on with `text`.
    fn takes(&mut self, text: &str) -> bool {
        self.input.as_mut().is_none_or(|input| input.push(text))
    }
}

impl MessagesMachine {
    /// A machine for an answer of at most `max_tokens` to a request for `model`.
    pub(super) fn new(id: String, model: String, max_tokens: u32, seal: Seal) -> Self {
        Self {
            id,
            model,
            max_tokens,
            request_id: String::new(),
            seal,
            content: Vec::new(),
            open: None,
            stopped_by: None,
            stop_reason: None,
            usage: turn::Usage::default(),
            results: Vec::new(),
            context: None,
            failure: None,
        }
    }

    /// This machine, whose answer says what was left out of the conversation.
    pub(super) fn telling_what_was_cleared(self) -> Self {
        Self { context: Some(ContextManagement::default()), ..self }
    }

    fn open(&mut self, head: &ItemHead, buffer: &mut EventBuffer) {
        debug_assert!(self.open.is_none(), "items never overlap");
        let (block, wrapped) = match head {
            ItemHead::Reasoning => {
                (Block::Thinking { thinking: String::new(), signature: String::new() }, false)
            }
            ItemHead::Message { .. } => (Block::Text { text: String::new() }, false),
            ItemHead::ToolCall { call_id, name, payload } => {
                let (id, name) = (call_id.clone(), name.clone());
                (Block::ToolUse { id, name, input: no_input() }, *payload == Payload::Text)
            }
        };
        Event::ContentBlockStart { index: self.content.len(), content_block: &block }.send(buffer);
        let input = (matches!(block, Block::ToolUse { .. }) && !wrapped).then(InputCheck::new);
        self.open = Some(OpenBlock { block, text: String::new(), wrapped, input });
        if wrapped {
            self.write("{\"input\":\"", buffer);
        }
    }

    fn text(&mut self, text: &str, buffer: &mut EventBuffer) {
        if self.open.as_ref().is_some_and(|open| open.wrapped) {
            let quoted = serde_json::to_string(text).expect("strings serialise");
            self.write(&quoted[1..quoted.len() - 1], buffer);
        } else if self.open.as_mut().is_some_and(|open| !open.takes(text)) {
            self.refuse_input(buffer);
        } else {
            self.write(text, buffer);
        }
    }

    /// Fails the message: no block can carry the arguments that the model wrote, and a tool must
    /// not run with a part of them.
    fn refuse_input(&mut self, buffer: &mut EventBuffer) {
        let name = match self.open.take().map(|open| open.block) {
            Some(Block::ToolUse { name, .. } | Block::McpToolUse { name, .. }) => name,
            Some(Block::ServerToolUse { name, .. }) => name.to_owned(),
            _ => return,
        };
        self.fail(no_object(&name), buffer);
    }

    /// Appends `text` to the open block and sends a delta.
    fn write(&mut self, text: &str, buffer: &mut EventBuffer) {
        debug_assert!(self.open.is_some(), "text belongs to an open item");
        let Some(open) = &mut self.open else { return };
        open.text.push_str(text);
        let delta = match &open.block {
            Block::Thinking { .. } => Delta::Thinking { thinking: text },
            Block::Text { .. } => Delta::Text { text },
            Block::ToolUse { .. } | Block::McpToolUse { .. } | Block::ServerToolUse { .. } => {
                Delta::InputJson { partial_json: text }
            }
            Block::McpToolResult { .. } | Block::WebSearchToolResult { .. } => return,
            Block::Compaction { .. } => Delta::Compaction { content: Some(text) },
        };
        Event::ContentBlockDelta { index: self.content.len(), delta }.send(buffer);
    }

    fn close(&mut self, status: ItemStatus, buffer: &mut EventBuffer) {
        if status == ItemStatus::Completed {
            self.complete_input(buffer);
            if self.open.as_ref().and_then(|open| open.input.as_ref()).is_some_and(|input| !input.is_whole())
            {
                return self.refuse_input(buffer);
            }
        }
        debug_assert!(self.open.is_some(), "only an open item ends");
        let Some(OpenBlock { mut block, text: written, .. }) = self.open.take() else { return };
        let index = self.content.len();
        match &mut block {
            Block::Thinking { thinking, signature } => {
                *signature = self.seal.sign(THINKING, &written);
                *thinking = written;
                Event::ContentBlockDelta { index, delta: Delta::Signature { signature } }.send(buffer);
            }
            Block::Text { text } => *text = written,
            Block::Compaction { content } => *content = Some(written),
            Block::McpToolResult { .. } | Block::WebSearchToolResult { .. } => {}
            // Input that was cut off is no JSON. Clients can't run the call; `stop_reason` tells
            // them that it was cut.
            Block::ToolUse { input, .. }
            | Block::McpToolUse { input, .. }
            | Block::ServerToolUse { input, .. } => {
                *input = RawValue::from_string(written).unwrap_or_else(|_| no_input());
            }
        }
        Event::ContentBlockStop { index }.send(buffer);
        self.content.push(block);
        self.send_results(buffer);
    }

    /// Sends the results that wait, unless a block is open: blocks never overlap.
    fn send_results(&mut self, buffer: &mut EventBuffer) {
        if self.open.is_some() {
            return;
        }
        for result in std::mem::take(&mut self.results) {
            let index = self.content.len();
            Event::ContentBlockStart { index, content_block: &result }.send(buffer);
            Event::ContentBlockStop { index }.send(buffer);
            self.content.push(result);
        }
    }

    /// Opens the block of a call that the server runs.
    fn begin_call(&mut self, id: &str, called: &Called, buffer: &mut EventBuffer) {
        let block = Block::of_call(id, called);
        Event::ContentBlockStart { index: self.content.len(), content_block: &block }.send(buffer);
        self.open =
            Some(OpenBlock { block, text: String::new(), wrapped: false, input: Some(InputCheck::new()) });
    }

    /// Ends a call that the server ran. One that was cut off has no result: its block says what there is
    /// of it.
    fn end_call(&mut self, call_id: &str, result: &Result<String, String>, buffer: &mut EventBuffer) {
        if self.open.as_ref().is_some_and(|open| open.block.is_call(call_id)) {
            return self.close(ItemStatus::Incomplete, buffer);
        }
        let is_search = self.searches().any(|id| *id == search::block_id(call_id));
        self.results.push(if is_search {
            let content = SearchOutcome::of(result, &self.seal);
            Block::WebSearchToolResult { tool_use_id: search::block_id(call_id), content }
        } else {
            let (is_error, Ok(text) | Err(text)) = (result.is_err(), result);
            let content = [TextContent { text: text.clone() }];
            Block::McpToolResult { tool_use_id: call_id.to_owned(), is_error, content }
        });
        self.send_results(buffer);
    }

    /// Ids of the searches of the web.
    fn searches(&self) -> impl Iterator<Item = &String> {
        self.content.iter().filter_map(|block| match block {
            Block::ServerToolUse { id, .. } => Some(id),
            _ => None,
        })
    }

    /// Writes what the input of a completed call lacks: the end of a wrapped text, or `{}` if the
    /// model wrote no arguments, since not every client takes an empty text for an empty object.
    fn complete_input(&mut self, buffer: &mut EventBuffer) {
        let Some(open) = &self.open else { return };
        if open.wrapped {
            self.write("\"}", buffer);
        } else if open.input.is_some() && open.text.trim().is_empty() {
            self.text("{}", buffer);
        }
    }

    /// The stop reason. It is `tool_use` if there are calls, even if a stop sequence ended the
    /// turn, but not if the answer was cut.
    fn reason(&self, end: &TurnEnd) -> &'static str {
        let calls = self.content.iter().any(|block| matches!(block, Block::ToolUse { .. }));
        match end {
            TurnEnd::MaxOutputTokens if self.usage.output_tokens < self.max_tokens => {
                "model_context_window_exceeded"
            }
            TurnEnd::MaxOutputTokens => "max_tokens",
            _ if matches!(self.content[..], [Block::Compaction { .. }]) => "compaction",
            _ if calls => "tool_use",
            _ if self.stopped_by.is_some() => "stop_sequence",
            _ => "end_turn",
        }
    }

    fn stop(&self) -> Stop<'_> {
        let by = self.stopped_by.as_deref().filter(|_| self.stop_reason == Some("stop_sequence"));
        Stop { stop_reason: self.stop_reason, stop_sequence: by }
    }

    fn usage(&self) -> Usage {
        let turn::Usage { input_tokens, cached_tokens, output_tokens, reasoning_tokens } = self.usage;
        let usage = Usage::new(input_tokens, cached_tokens, output_tokens, reasoning_tokens);
        usage.with_searches(self.searches().count())
    }

    fn fail(&mut self, failure: TurnFailure, buffer: &mut EventBuffer) {
        let error = ErrorObject::new(ApiError::turn(&failure).status, &failure.message);
        Event::Error { error, request_id: &self.request_id }.send(buffer);
        self.failure = Some(failure);
    }
}

impl Machine for MessagesMachine {
    fn accepted(&mut self, request_id: &str, prompt_tokens: u32) {
        request_id.clone_into(&mut self.request_id);
        self.usage.input_tokens = prompt_tokens;
    }

    fn begin(&mut self, buffer: &mut EventBuffer) {
        let message = Message::new(&self.id, &self.model, &[], Stop::default(), self.usage());
        Event::MessageStart { message }.send(buffer);
    }

    fn turn(&mut self, event: &TurnEvent, buffer: &mut EventBuffer) {
        if self.failure.is_some() {
            return;
        }
        match event {
            TurnEvent::Open(head) => self.open(head, buffer),
            TurnEvent::Text(text) => self.text(text, buffer),
            TurnEvent::Close(status) => self.close(*status, buffer),
            _ => {}
        }
    }

    fn server(&mut self, event: &ServerEvent, buffer: &mut EventBuffer) {
        if self.failure.is_some() {
            return;
        }
        match event {
            ServerEvent::CallBegun { call_id, called } => self.begin_call(call_id, called, buffer),
            ServerEvent::CallText { delta, .. } => self.text(delta, buffer),
            ServerEvent::CallWritten { .. } => self.close(ItemStatus::Completed, buffer),
            ServerEvent::CallEnded { call_id, result } => self.end_call(call_id, result, buffer),
            // No tools are searched for Messages.
            ServerEvent::ListBegun { .. } | ServerEvent::ListEnded { .. } | ServerEvent::Searched { .. } => {}
        }
    }

    fn cleared(&mut self, cleared: &[Cleared]) {
        if let Some(context) = &mut self.context {
            context.applied_edits = cleared.iter().map(AppliedEdit::of).collect();
        }
    }

    fn compaction(&mut self, event: &CompactionEvent, buffer: &mut EventBuffer) {
        let index = self.content.len();
        match event {
            CompactionEvent::Begun => {
                let content_block = &Block::Compaction { content: None };
                Event::ContentBlockStart { index, content_block }.send(buffer);
            }
            CompactionEvent::Sampled => self.heartbeat(buffer),
            CompactionEvent::Ended { summary } => {
                let content = summary.as_deref();
                Event::ContentBlockDelta { index, delta: Delta::Compaction { content } }.send(buffer);
                Event::ContentBlockStop { index }.send(buffer);
                self.content.push(Block::Compaction { content: summary.clone() });
            }
        }
    }

    fn heartbeat(&mut self, buffer: &mut EventBuffer) {
        if self.failure.is_none() {
            Event::Ping.send(buffer);
        }
    }

    fn stopped_by(&mut self, stop: &str) {
        self.stopped_by = Some(stop.to_owned());
    }

    fn end(&mut self, end: &TurnEnd, usage: turn::Usage, buffer: &mut EventBuffer) {
        self.usage = usage;
        if self.failure.is_some() {
            return;
        }
        match end {
            TurnEnd::Failed(failure) => self.fail(failure.clone(), buffer),
            TurnEnd::Cancelled => self.fail(cancelled(), buffer),
            TurnEnd::Completed | TurnEnd::MaxOutputTokens => {
                self.stop_reason = Some(self.reason(end));
                let (delta, usage, context_management) = (self.stop(), self.usage(), self.context.as_ref());
                Event::MessageDelta { delta, usage, context_management }.send(buffer);
                Event::MessageStop.send(buffer);
            }
        }
    }

    fn has_done(&self) -> bool {
        false
    }

    fn record(&mut self) -> Option<StoredAnswer> {
        let status = match (&self.failure, self.stop_reason) {
            (Some(_), _) => Some(store::Status::Failed),
            (None, Some(_)) => Some(store::Status::Completed),
            (None, None) => None,
        };
        let output = status.map(|_| thread::answer(&self.content)).into_iter().collect();
        Some(StoredAnswer { id: self.id.clone(), status, object: Vec::new(), output })
    }

    fn not_stored(&mut self, buffer: &mut EventBuffer) {
        if self.failure.is_none() {
            // The two events of the end.
            (0..2).for_each(|_| buffer.take_back());
            self.stop_reason = None;
            self.fail(not_stored(), buffer);
        }
    }

    fn body(&self) -> (u16, String) {
        if let Some(failure) = &self.failure {
            let error = ApiError::turn(failure);
            return (error.status, error_body(&error, &self.request_id));
        }
        let message = Message {
            context_management: self.context.as_ref(),
            ..Message::new(&self.id, &self.model, &self.content, self.stop(), self.usage())
        };
        (200, serde_json::to_string(&message).expect("protocol types serialise"))
    }
}
