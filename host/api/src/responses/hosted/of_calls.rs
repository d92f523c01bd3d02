//! Items of calls: makes new ones, sets results, and reads the arguments.

use serde_json::Value;

use super::items::{CallError, CallStatus, ErrorText, HostedItem, ListedTool, Logs, WebAction};
use crate::agent::{CallKind, Called, Consent};
use crate::responses::events::ItemProgress;
use mcp::McpTool;

/// A tool as a list of tools shows it.
pub(super) fn shown(tool: &McpTool) -> ListedTool {
    let McpTool { name, description, input_schema, annotations } = tool.clone();
    ListedTool { name, description, input_schema, annotations }
}

/// Item of a call that begins. `container` returns the id of the container for code.
pub(super) fn new_item(called: &Called, id: String, container: impl FnOnce() -> String) -> HostedItem {
    let status = CallStatus::InProgress;
    match called.kind {
        CallKind::Mcp => HostedItem::McpCall {
            id,
            status,
            server_label: called.server.clone(),
            name: called.name.clone(),
            arguments: String::new(),
            approval_request_id: match &called.consent {
                Consent::Given(id) => Some(id.clone()),
                Consent::NotNeeded | Consent::Asked => None,
            },
            output: None,
            error: None,
        },
        CallKind::Code { .. } => {
            let (container_id, code) = (container(), String::new());
            HostedItem::CodeInterpreterCall { id, status, container_id, code, outputs: None }
        }
        kind => HostedItem::WebSearchCall { id, status, action: web_action(kind, "") },
    }
}

/// Sets the status and the result of a call's item.
pub(super) fn set_result(item: &mut HostedItem, now: CallStatus, result: &Result<String, String>) {
    match item {
        HostedItem::McpCall { status, output, error, .. } => {
            *status = now;
            match result {
                Ok(text) => *output = Some(text.clone()),
                Err(reason) => *error = Some(CallError { content: [ErrorText { text: reason.clone() }] }),
            }
        }
        HostedItem::WebSearchCall { status, .. } => *status = now,
        HostedItem::CodeInterpreterCall { status, outputs, .. } => {
            *status = now;
            let (Ok(logs) | Err(logs)) = result;
            *outputs = Some(vec![Logs { logs: logs.clone() }]);
        }
        HostedItem::McpListTools { .. } | HostedItem::McpApprovalRequest { .. } => {}
    }
}

/// The action of a call of `browser.*` with these arguments.
pub(super) fn web_action(kind: CallKind, arguments: &str) -> WebAction {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    let text = |name: &str| arguments[name].as_str().map(str::to_owned);
    match kind {
        // `id` is a link's number, or an address.
        CallKind::OpenPage => WebAction::OpenPage { url: text("url").or_else(|| text("id")) },
        CallKind::FindInPage => {
            WebAction::FindInPage { pattern: text("pattern").unwrap_or_default(), url: text("url") }
        }
        _ => WebAction::Search { query: text("query").unwrap_or_default() },
    }
}

/// The code in the arguments: the field `code` of an object, or the whole text if it is no such
/// object.
pub(super) fn code_of(arguments: &str) -> String {
    let object: Value = serde_json::from_str(arguments).unwrap_or_default();
    object["code"].as_str().unwrap_or(arguments).to_owned()
}

/// Prefix of the ids of items of this kind.
pub(super) fn prefix(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Mcp => "mcp_",
        CallKind::Code { .. } => "ci_",
        _ => "ws_",
    }
}

/// The first progress event of a call.
pub(super) fn begun(kind: CallKind) -> ItemProgress {
    match kind {
        CallKind::Mcp => ItemProgress::McpBegun,
        CallKind::Code { .. } => ItemProgress::CodeBegun,
        _ => ItemProgress::SearchBegun,
    }
}

/// The last progress event of a call that succeeds.
pub(super) fn completed(kind: CallKind) -> ItemProgress {
    match kind {
        CallKind::Mcp => ItemProgress::McpCompleted,
        CallKind::Code { .. } => ItemProgress::CodeCompleted,
        _ => ItemProgress::SearchCompleted,
    }
}
