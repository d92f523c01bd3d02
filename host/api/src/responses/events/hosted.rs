//! Events of tools that the server runs.

use schemars::JsonSchema;
use serde::Serialize;

use super::{At, Event};

#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::responses) struct Progress<'a> {
    item_id: &'a str,
    output_index: usize,
}

/// Progress of an item, reported by an event that has only the item's id and place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::responses) enum ItemProgress {
    ListBegun,
    ListCompleted,
    ListFailed,
    McpBegun,
    McpCompleted,
    McpFailed,
    SearchBegun,
    Searching,
    SearchCompleted,
    CodeBegun,
    Interpreting,
    CodeCompleted,
}

/// `response.mcp_list_tools.*`, `response.mcp_call.*`, `response.web_search_call.*`,
/// `response.code_interpreter_call.*`.
pub(in crate::responses) fn progress(progress: ItemProgress, at: At<'_>) -> Event<Progress<'_>> {
    let At { item_id, output_index } = at;
    let kind = match progress {
        ItemProgress::ListBegun => "response.mcp_list_tools.in_progress",
        ItemProgress::ListCompleted => "response.mcp_list_tools.completed",
        ItemProgress::ListFailed => "response.mcp_list_tools.failed",
        ItemProgress::McpBegun => "response.mcp_call.in_progress",
        ItemProgress::McpCompleted => "response.mcp_call.completed",
        ItemProgress::McpFailed => "response.mcp_call.failed",
        ItemProgress::SearchBegun => "response.web_search_call.in_progress",
        ItemProgress::Searching => "response.web_search_call.searching",
        ItemProgress::SearchCompleted => "response.web_search_call.completed",
        ItemProgress::CodeBegun => "response.code_interpreter_call.in_progress",
        ItemProgress::Interpreting => "response.code_interpreter_call.interpreting",
        ItemProgress::CodeCompleted => "response.code_interpreter_call.completed",
    };
    Event { kind, body: Progress { item_id, output_index } }
}

#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::responses) struct HostedDelta<'a> {
    item_id: &'a str,
    output_index: usize,
    delta: &'a str,
}

/// `response.mcp_call_arguments.delta`.
pub(in crate::responses) fn mcp_arguments_delta<'a>(at: At<'a>, delta: &'a str) -> Event<HostedDelta<'a>> {
    let At { item_id, output_index } = at;
    Event { kind: "response.mcp_call_arguments.delta", body: HostedDelta { item_id, output_index, delta } }
}

/// `response.code_interpreter_call_code.delta`.
pub(in crate::responses) fn code_delta<'a>(at: At<'a>, delta: &'a str) -> Event<HostedDelta<'a>> {
    let At { item_id, output_index } = at;
    let body = HostedDelta { item_id, output_index, delta };
    Event { kind: "response.code_interpreter_call_code.delta", body }
}

#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::responses) struct McpArgumentsDone<'a> {
    item_id: &'a str,
    output_index: usize,
    arguments: &'a str,
}

/// `response.mcp_call_arguments.done`.
pub(in crate::responses) fn mcp_arguments_done<'a>(
    at: At<'a>,
    arguments: &'a str,
) -> Event<McpArgumentsDone<'a>> {
    let At { item_id, output_index } = at;
    let body = McpArgumentsDone { item_id, output_index, arguments };
    Event { kind: "response.mcp_call_arguments.done", body }
}

#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::responses) struct CodeDone<'a> {
    item_id: &'a str,
    output_index: usize,
    code: &'a str,
}

/// `response.code_interpreter_call_code.done`.
pub(in crate::responses) fn code_done<'a>(at: At<'a>, code: &'a str) -> Event<CodeDone<'a>> {
    let At { item_id, output_index } = at;
    Event { kind: "response.code_interpreter_call_code.done", body: CodeDone { item_id, output_index, code } }
}
