//! Makes events and items of tools that the server runs. An item is in the output from its
//! beginning, so that several may be open at once. Each item has one `done` event.

use std::collections::HashMap;

use super::items::{CallStatus, HostedItem};
use super::of_calls::{begun, code_of, completed, new_item, prefix, set_result, shown, web_action};
use crate::agent::{CallKind, Called, Consent, ServerEvent};
use crate::event_buffer::EventBuffer;
use crate::ids::Ids;
use crate::responses::events::{self, At, ItemProgress, SequenceNumbers};
use crate::responses::items::{Item, Status};
use crate::responses::typed::PATHS;
use crate::responses::typed::items::{Execution, TypedItem};
use mcp::McpTool;
use serde_json::Value;

/// Calls and lists of tools that are open.
#[derive(Debug, Default)]
pub(in crate::responses) struct HostedCalls {
    /// Output indices of the open lists, by label of the server.
    lists: HashMap<String, usize>,
    /// Open calls, by id.
    calls: HashMap<String, OpenCall>,
    /// Id of the container in which all code of this response runs.
    container: Option<String>,
}

#[derive(Debug)]
struct OpenCall {
    called: Called,
    /// The item's output index. `None` if the call needs approval and the arguments, which the
    /// request for approval holds, are incomplete.
    place: Option<usize>,
    /// The arguments so far, if the item doesn't hold their text.
    arguments: String,
    written: bool,
}

/// Destination of the events and items of one response.
pub(in crate::responses) struct OutputSink<'a> {
    pub(in crate::responses) output: &'a mut Vec<Item>,
    pub(in crate::responses) sequence: &'a mut SequenceNumbers,
    pub(in crate::responses) ids: &'a mut Ids,
    pub(in crate::responses) buffer: &'a mut EventBuffer,
}

impl OutputSink<'_> {
    /// Adds an item and announces it. Returns its output index.
    fn add(&mut self, item: HostedItem) -> usize {
        self.announce(Item::Hosted(item))
    }

    fn announce(&mut self, item: Item) -> usize {
        let place = self.output.len();
        self.output.push(item);
        self.sequence.send(events::item_added(place, &self.output[place]), self.buffer);
        place
    }

    /// Adds an item that is whole from the start.
    fn whole(&mut self, item: TypedItem) {
        let place = self.announce(Item::Typed(item));
        self.output[place].set_status(Status::Completed);
        self.done(place);
    }

    fn item(&mut self, place: usize) -> &mut HostedItem {
        let Item::Hosted(item) = &mut self.output[place] else { unreachable!("places are of hosted items") };
        item
    }

    fn progress(&mut self, place: usize, progress: ItemProgress) {
        let at = At { item_id: self.output[place].id(), output_index: place };
        self.sequence.send(events::progress(progress, at), self.buffer);
    }

    fn done(&mut self, place: usize) {
        self.sequence.send(events::item_done(place, &self.output[place]), self.buffer);
    }

    /// Ends a list.
    fn end_list(&mut self, place: usize, listed: &Result<Vec<McpTool>, String>) {
        if let HostedItem::McpListTools { tools, error, open, .. } = self.item(place) {
            *open = false;
            match listed {
                Ok(listed) => *tools = listed.iter().map(shown).collect(),
                Err(reason) => *error = Some(reason.clone()),
            }
        }
        self.progress(
            place,
            if listed.is_ok() { ItemProgress::ListCompleted } else { ItemProgress::ListFailed },
        );
        self.done(place);
    }

    /// Ends the text of a call. Code in an object of arguments is sent as one delta here, since it
    /// is read from the complete object.
    fn end_text(&mut self, place: usize, arguments: &str) {
        let Item::Hosted(item) = &mut self.output[place] else { return };
        match item {
            HostedItem::McpCall { id, arguments, .. } => {
                let at = At { item_id: id, output_index: place };
                self.sequence.send(events::mcp_arguments_done(at, arguments), self.buffer);
            }
            HostedItem::CodeInterpreterCall { id, code, .. } => {
                let at = At { item_id: id, output_index: place };
                if !arguments.is_empty() {
                    *code = code_of(arguments);
                    self.sequence.send(events::code_delta(at, code), self.buffer);
                }
                self.sequence.send(events::code_done(at, code), self.buffer);
            }
            _ => {}
        }
    }

    /// Ends a call that was cut off before it was `written`, or failed after that.
    fn fail_call(&mut self, place: usize, written: bool, reason: &str) {
        let now = if written { CallStatus::Failed } else { CallStatus::Incomplete };
        let item = self.item(place);
        set_result(item, now, &Err(reason.to_owned()));
        // Other kinds have no event for a failure: the item's status says it.
        if matches!(item, HostedItem::McpCall { .. }) {
            self.progress(place, ItemProgress::McpFailed);
        }
        self.done(place);
    }

    /// Ends an open item that nobody goes on with. `written` says whether a call's text has ended.
    pub(in crate::responses) fn break_off(&mut self, place: usize, written: bool, reason: &str) {
        if let HostedItem::McpListTools { .. } = self.item(place) {
            return self.end_list(place, &Err(reason.to_owned()));
        }
        if !written {
            self.end_text(place, "");
        }
        self.fail_call(place, written, reason);
    }
}

impl HostedCalls {
    /// Writes the events for `event`.
    pub(in crate::responses) fn event(&mut self, event: &ServerEvent, mut out: OutputSink<'_>) {
        match event {
            ServerEvent::ListBegun { server } => self.list_begun(server, &mut out),
            ServerEvent::ListEnded { server, tools } => self.list_ended(server, tools, &mut out),
            ServerEvent::CallBegun { call_id, called } => self.call_begun(call_id, called, &mut out),
            ServerEvent::CallText { call_id, delta } => {
                if let Some(call) = self.calls.get_mut(call_id) {
                    call.text(delta, &mut out);
                }
            }
            ServerEvent::CallWritten { call_id } => self.call_written(call_id, &mut out),
            ServerEvent::Searched { arguments, found } => searched(arguments, found, &mut out),
            ServerEvent::CallEnded { call_id, result } => self.call_ended(call_id, result, &mut out),
        }
    }

    fn list_begun(&mut self, server: &str, out: &mut OutputSink<'_>) {
        let (id, server_label) = (out.ids.next("mcpl_"), server.to_owned());
        let place = out.add(HostedItem::McpListTools {
            id,
            server_label,
            tools: Vec::new(),
            error: None,
            open: true,
        });
        out.progress(place, ItemProgress::ListBegun);
        self.lists.insert(server.to_owned(), place);
    }

    fn list_ended(&mut self, server: &str, listed: &Result<Vec<McpTool>, String>, out: &mut OutputSink<'_>) {
        if let Some(place) = self.lists.remove(server) {
            out.end_list(place, listed);
        }
    }

    fn call_begun(&mut self, call_id: &str, called: &Called, out: &mut OutputSink<'_>) {
        let place = match &called.consent {
            Consent::Asked => None,
            Consent::NotNeeded | Consent::Given(_) => {
                let id = out.ids.next(prefix(called.kind));
                let item = new_item(called, id, || {
                    self.container.get_or_insert_with(|| out.ids.next("cntr_")).clone()
                });
                let place = out.add(item);
                out.progress(place, begun(called.kind));
                Some(place)
            }
        };
        let call = OpenCall { called: called.clone(), place, arguments: String::new(), written: false };
        self.calls.insert(call_id.to_owned(), call);
    }

    fn call_written(&mut self, call_id: &str, out: &mut OutputSink<'_>) {
        let Some(call) = self.calls.get_mut(call_id) else { return };
        let Some(place) = call.place else {
            let Called { server, name, .. } = &call.called;
            let (server_label, name) = (server.clone(), name.clone());
            let arguments = std::mem::take(&mut call.arguments);
            let id = out.ids.next("mcpr_");
            let place = out.add(HostedItem::McpApprovalRequest { id, server_label, name, arguments });
            out.done(place);
            self.calls.remove(call_id);
            return;
        };
        out.end_text(place, &call.arguments);
        call.written = true;
        match call.called.kind {
            CallKind::Mcp => {}
            CallKind::Code { .. } => out.progress(place, ItemProgress::Interpreting),
            kind => {
                if let HostedItem::WebSearchCall { action, .. } = out.item(place) {
                    *action = web_action(kind, &call.arguments);
                }
                out.progress(place, ItemProgress::Searching);
            }
        }
    }

    fn call_ended(&mut self, call_id: &str, result: &Result<String, String>, out: &mut OutputSink<'_>) {
        let Some(call) = self.calls.remove(call_id) else { return };
        // A call that was cut off before the client could be asked for approval leaves no item.
        let Some(place) = call.place else { return };
        if !call.written {
            out.end_text(place, &call.arguments);
        }
        match result {
            Ok(_) => {
                set_result(out.item(place), CallStatus::Completed, result);
                out.progress(place, completed(call.called.kind));
                out.done(place);
            }
            Err(reason) => out.fail_call(place, call.written, reason),
        }
    }
}

/// A search of tools, and what it found.
fn searched(arguments: &str, found: &[String], out: &mut OutputSink<'_>) {
    let (status, call_id, execution) = (Status::InProgress, None, Execution::Server);
    let json = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    // Arguments that are no object stay what the model wrote, and can be read back.
    let object = |text: &str| serde_json::from_str(text).map_or_else(|_| Value::from(text), Value::Object);
    let tools: Vec<Value> = found.iter().map(|tool| json(tool)).collect();
    let mut arguments = object(arguments);
    if let Value::Object(arguments) = &mut arguments {
        arguments.insert(PATHS.to_owned(), tools.iter().map(|tool| tool["name"].clone()).collect());
    }
    let id = out.ids.next("tsc_");
    out.whole(TypedItem::ToolSearchCall { id, status, call_id: call_id.clone(), execution, arguments });
    let id = out.ids.next("tso_");
    out.whole(TypedItem::ToolSearchOutput { id, status, call_id, execution, tools });
}

impl OpenCall {
    fn text(&mut self, delta: &str, out: &mut OutputSink<'_>) {
        let Some(place) = self.place else { return self.arguments.push_str(delta) };
        let (arguments, sequence, buffer) = (&mut self.arguments, &mut *out.sequence, &mut *out.buffer);
        let Item::Hosted(item) = &mut out.output[place] else { return };
        match (self.called.kind, item) {
            (CallKind::Mcp, HostedItem::McpCall { id, arguments, .. }) => {
                arguments.push_str(delta);
                let at = At { item_id: id, output_index: place };
                sequence.send(events::mcp_arguments_delta(at, delta), buffer);
            }
            (CallKind::Code { raw: true }, HostedItem::CodeInterpreterCall { id, code, .. }) => {
                code.push_str(delta);
                let at = At { item_id: id, output_index: place };
                sequence.send(events::code_delta(at, delta), buffer);
            }
            _ => arguments.push_str(delta),
        }
    }
}
