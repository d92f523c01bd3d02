//! From a turn's events to the Responses stream, and to the same answer in one piece: the item that is open here is the one whose
//! deltas go out, and closed items are the response's output, so that the stream can't say something else than the end of it.

use super::super::error::{ApiError, cancelled};
use super::super::frames::Frames;
use super::super::ids::{Clock, Ids};
use super::super::machine::Machine;
use super::super::request::ReasoningEvents;
use super::events::{self, At, Sequence};
use super::items::{Item, MessagePhase, OutputText, ReasoningText, Status, SummaryText};
use super::resource::{IncompleteDetails, Resource, ResponseError, ResponseStatus};
use crate::parser::contract::Payload;
use crate::turn::{ItemHead, ItemStatus, TurnEnd, TurnEvent, TurnFailure, Usage};

/// The only part of an item: the machine never begins a second one.
const FIRST: usize = 0;

/// The event machine of one response.
#[derive(Debug)]
pub struct ResponsesMachine {
    response: Resource,
    /// The item being written; its place is the number of items closed before it.
    open: Option<Item>,
    sequence: Sequence,
    reasoning_events: ReasoningEvents,
    ids: Ids,
    now: Clock,
    failure: Option<TurnFailure>,
}

impl ResponsesMachine {
    /// A machine for `response`, which gets its id and time here.
    pub(super) fn new(
        mut response: Resource,
        reasoning_events: ReasoningEvents,
        mut ids: Ids,
        now: Clock,
    ) -> Self {
        response.id = ids.next("resp_");
        response.created_at = now();
        let sequence = Sequence::default();
        Self { response, open: None, sequence, reasoning_events, ids, now, failure: None }
    }

    fn open(&mut self, head: &ItemHead, frames: &mut Frames) {
        debug_assert!(self.open.is_none(), "items never overlap");
        let item = self.open.insert(new_item(head, self.reasoning_events, &mut self.ids));
        let index = self.response.output.len();
        self.sequence.send(events::item_added(index, item), frames);
        begin_part(item, index, &mut self.sequence, frames);
    }

    fn text(&mut self, delta: &str, frames: &mut Frames) {
        debug_assert!(self.open.is_some(), "text belongs to an open item");
        let Some(item) = &mut self.open else { return };
        append(item, delta);
        let at = At { item_id: item.id(), output_index: self.response.output.len() };
        match item {
            Item::Message { .. } => self.sequence.send(events::text_delta(at, FIRST, delta), frames),
            Item::Reasoning { content: Some(_), .. } => {
                self.sequence.send(events::reasoning_delta(at, FIRST, delta), frames);
            }
            Item::Reasoning { content: None, .. } => {
                self.sequence.send(events::summary_text_delta(at, FIRST, delta), frames);
            }
            Item::FunctionCall { .. } => self.sequence.send(events::arguments_delta(at, delta), frames),
            Item::CustomToolCall { .. } => self.sequence.send(events::input_delta(at, delta), frames),
        }
    }

    fn close(&mut self, status: ItemStatus, frames: &mut Frames) {
        debug_assert!(self.open.is_some(), "only an open item ends");
        let Some(mut item) = self.open.take() else { return };
        let index = self.response.output.len();
        end_texts(&item, index, &mut self.sequence, frames);
        item.set_status(match status {
            ItemStatus::Completed => Status::Completed,
            ItemStatus::Incomplete => Status::Incomplete,
        });
        self.sequence.send(events::item_done(index, &item), frames);
        self.response.output.push(item);
    }

    fn fail(&mut self, failure: TurnFailure, frames: &mut Frames) {
        self.sequence.send(events::error(failure.code, &failure.message), frames);
        self.response.status = ResponseStatus::Failed;
        self.response.error = Some(ResponseError { code: failure.code, message: failure.message.clone() });
        self.sequence.send(events::response("response.failed", &self.response), frames);
        self.failure = Some(failure);
    }
}

impl Machine for ResponsesMachine {
    fn begin(&mut self, frames: &mut Frames) {
        self.sequence.send(events::response("response.created", &self.response), frames);
        self.heartbeat(frames);
    }

    fn turn(&mut self, event: &TurnEvent, frames: &mut Frames) {
        match event {
            TurnEvent::Open(head) => self.open(head, frames),
            TurnEvent::Text(delta) => self.text(delta, frames),
            TurnEvent::Close(status) => self.close(*status, frames),
        }
    }

    fn heartbeat(&mut self, frames: &mut Frames) {
        self.sequence.send(events::response("response.in_progress", &self.response), frames);
    }

    fn end(&mut self, end: &TurnEnd, usage: Usage, frames: &mut Frames) {
        self.response.usage = Some(usage.into());
        match end {
            TurnEnd::Failed(failure) => self.fail(failure.clone(), frames),
            TurnEnd::Cancelled => self.fail(cancelled(), frames),
            TurnEnd::MaxOutputTokens => {
                self.response.status = ResponseStatus::Incomplete;
                self.response.incomplete_details = Some(IncompleteDetails { reason: "max_output_tokens" });
                self.sequence.send(events::response("response.incomplete", &self.response), frames);
            }
            TurnEnd::Completed => {
                self.response.status = ResponseStatus::Completed;
                self.response.completed_at = Some((self.now)().max(self.response.created_at));
                self.sequence.send(events::response("response.completed", &self.response), frames);
            }
        }
        frames.push_done();
    }

    fn body(&self) -> (u16, String) {
        // A response that failed is told whole too: its `error` is where the error object's would be.
        let status = self.failure.as_ref().map_or(200, |failure| ApiError::turn(failure).status);
        (status, serde_json::to_string(&self.response).expect("protocol types serialise"))
    }
}

/// An item as it is announced: without text.
fn new_item(head: &ItemHead, reasoning: ReasoningEvents, ids: &mut Ids) -> Item {
    let status = Status::InProgress;
    match head {
        ItemHead::Reasoning => {
            let content = (reasoning == ReasoningEvents::Text).then(Vec::new);
            Item::Reasoning { id: ids.next("rs_"), status, summary: Vec::new(), content }
        }
        ItemHead::Message { phase } => {
            let phase = MessagePhase::new(*phase);
            Item::Message { id: ids.next("msg_"), status, role: "assistant", phase, content: Vec::new() }
        }
        ItemHead::ToolCall { call_id, name, payload } => {
            let (call_id, name) = (call_id.clone(), name.clone());
            match payload {
                Payload::Json => Item::FunctionCall {
                    id: ids.next("fc_"),
                    status,
                    call_id,
                    name,
                    arguments: String::new(),
                },
                Payload::Text => {
                    Item::CustomToolCall { id: ids.next("ctc_"), status, call_id, name, input: String::new() }
                }
            }
        }
    }
}

/// Adds `delta` to the item's text.
fn append(item: &mut Item, delta: &str) {
    let text = match item {
        Item::Message { content, .. } => content.last_mut().map(|part| &mut part.text),
        Item::Reasoning { content: Some(content), .. } => content.last_mut().map(|part| &mut part.text),
        Item::Reasoning { summary, .. } => summary.last_mut().map(|part| &mut part.text),
        Item::FunctionCall { arguments, .. } => Some(arguments),
        Item::CustomToolCall { input, .. } => Some(input),
    };
    text.expect("an item's part is begun with it").push_str(delta);
}

/// Begins the item's part, if its kind has parts.
fn begin_part(item: &mut Item, index: usize, sequence: &mut Sequence, frames: &mut Frames) {
    match item {
        Item::Message { id, content, .. } => {
            content.push(OutputText::default());
            let at = At { item_id: id, output_index: index };
            sequence.send(events::part_added(at, FIRST, &content[FIRST]), frames);
        }
        Item::Reasoning { id, content: Some(content), .. } => {
            content.push(ReasoningText::default());
            let at = At { item_id: id, output_index: index };
            sequence.send(events::part_added(at, FIRST, &content[FIRST]), frames);
        }
        Item::Reasoning { id, summary, content: None, .. } => {
            summary.push(SummaryText::default());
            let at = At { item_id: id, output_index: index };
            sequence.send(events::summary_added(at, FIRST, &summary[FIRST]), frames);
        }
        Item::FunctionCall { .. } | Item::CustomToolCall { .. } => {}
    }
}

/// The `done` events inside the item.
fn end_texts(item: &Item, output_index: usize, sequence: &mut Sequence, frames: &mut Frames) {
    let at = At { item_id: item.id(), output_index };
    match item {
        Item::Message { content, .. } => {
            let part = &content[FIRST];
            sequence.send(events::text_done(at, FIRST, &part.text), frames);
            sequence.send(events::part_done(at, FIRST, part), frames);
        }
        Item::Reasoning { content: Some(content), .. } => {
            let part = &content[FIRST];
            sequence.send(events::reasoning_done(at, FIRST, &part.text), frames);
            sequence.send(events::part_done(at, FIRST, part), frames);
        }
        Item::Reasoning { summary, .. } => {
            let part = &summary[FIRST];
            sequence.send(events::summary_text_done(at, FIRST, &part.text), frames);
            sequence.send(events::summary_done(at, FIRST, part), frames);
        }
        Item::FunctionCall { name, arguments, .. } => {
            sequence.send(events::arguments_done(at, name, arguments), frames);
        }
        Item::CustomToolCall { input, .. } => sequence.send(events::input_done(at, input), frames),
    }
}
