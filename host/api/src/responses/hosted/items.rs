//! Items of tools that the server runs, exactly as clients get them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Status of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::responses) enum CallStatus {
    /// Being written, or running.
    InProgress,
    /// It ran.
    Completed,
    /// Cut off by the end of the turn, before it could run.
    Incomplete,
    /// It couldn't run, or ran and failed.
    Failed,
}

/// A tool in a list.
#[derive(Debug, Clone, PartialEq, JsonSchema, Deserialize, Serialize)]
pub(in crate::responses) struct ListedTool {
    pub(in crate::responses) name: String,
    pub(in crate::responses) description: String,
    pub(in crate::responses) input_schema: Map<String, Value>,
    pub(in crate::responses) annotations: Option<Value>,
}

/// What a web search did.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in crate::responses) enum WebAction {
    /// It searched.
    Search { query: String },
    /// It opened a page; none: the one that is open.
    OpenPage { url: Option<String> },
    /// It looked for a text in a page.
    FindInPage { pattern: String, url: Option<String> },
}

/// What went wrong with a call: the protocol's word for a tool that didn't do what it was asked
/// for, whatever the reason.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Deserialize, Serialize)]
#[serde(tag = "type", rename = "mcp_tool_execution_error")]
#[schemars(transform = crate::schema::tagged("mcp_tool_execution_error"))]
pub(in crate::responses) struct CallError {
    pub(in crate::responses) content: [ErrorText; 1],
}

/// The words of an error.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Deserialize, Serialize)]
#[serde(tag = "type", rename = "text")]
#[schemars(transform = crate::schema::tagged("text"))]
pub(in crate::responses) struct ErrorText {
    pub(in crate::responses) text: String,
}

/// What code printed.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Deserialize, Serialize)]
#[serde(tag = "type", rename = "logs")]
#[schemars(transform = crate::schema::tagged("logs"))]
pub(in crate::responses) struct Logs {
    pub(in crate::responses) logs: String,
}

/// An item of a tool that the server runs.
#[derive(Debug, Clone, PartialEq, JsonSchema, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in crate::responses) enum HostedItem {
    /// The tools of an MCP server.
    McpListTools {
        id: String,
        server_label: String,
        tools: Vec<ListedTool>,
        error: Option<String>,
        /// It isn't there yet; the protocol has no status for that.
        #[serde(skip)]
        open: bool,
    },
    /// A call to one.
    McpCall {
        id: String,
        status: CallStatus,
        server_label: String,
        name: String,
        arguments: String,
        /// Where the client was asked, the request that it agreed to.
        approval_request_id: Option<String>,
        output: Option<String>,
        error: Option<CallError>,
    },
    /// A call that the client must agree to first.
    McpApprovalRequest { id: String, server_label: String, name: String, arguments: String },
    /// A search on the web, or what follows one.
    WebSearchCall { id: String, status: CallStatus, action: WebAction },
    /// Code that was run.
    CodeInterpreterCall {
        id: String,
        status: CallStatus,
        container_id: String,
        code: String,
        outputs: Option<Vec<Logs>>,
    },
}

impl HostedItem {
    /// The item's id.
    pub(in crate::responses) fn id(&self) -> &str {
        let (Self::McpListTools { id, .. }
        | Self::McpCall { id, .. }
        | Self::McpApprovalRequest { id, .. }
        | Self::WebSearchCall { id, .. }
        | Self::CodeInterpreterCall { id, .. }) = self;
        id
    }

    /// Whether the client must answer it.
    pub(in crate::responses) fn waits_for_client(&self) -> bool {
        matches!(self, Self::McpApprovalRequest { .. })
    }

    /// Whether the item isn't finished yet.
    pub(in crate::responses) fn is_open(&self) -> bool {
        match self {
            Self::McpListTools { open, .. } => *open,
            Self::McpApprovalRequest { .. } => false,
            Self::McpCall { status, .. }
            | Self::WebSearchCall { status, .. }
            | Self::CodeInterpreterCall { status, .. } => *status == CallStatus::InProgress,
        }
    }
}
