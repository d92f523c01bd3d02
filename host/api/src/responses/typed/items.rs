//! Items of calls of typed tools, exactly as clients get them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::responses::status::Status;

/// Commands of a `shell` call.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::responses) struct ShellAction {
    pub(in crate::responses) commands: Vec<String>,
    /// Most milliseconds for all of them.
    pub(in crate::responses) timeout_ms: Option<u64>,
    /// Most characters of output.
    pub(in crate::responses) max_output_length: Option<u64>,
}

/// Where the client runs the commands of a `shell` call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in crate::responses) enum ShellEnvironment {
    /// On its own machine.
    Local,
}

/// The command of a `local_shell` call.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Deserialize, Serialize)]
#[serde(tag = "type", rename = "exec")]
#[schemars(transform = crate::schema::tagged("exec"))]
pub(in crate::responses) struct ExecAction {
    /// The program and its arguments.
    pub(in crate::responses) command: Vec<String>,
    /// Environment variables to set.
    #[serde(default)]
    pub(in crate::responses) env: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::responses) timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::responses) user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::responses) working_directory: Option<String>,
}

/// A change of one file, by a diff in the V4A format.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Deserialize, Serialize)]
#[serde(tag = "type", deny_unknown_fields)]
pub(in crate::responses) enum PatchOperation {
    #[serde(rename = "create_file")]
    Create { path: String, diff: String },
    #[serde(rename = "update_file")]
    Update { path: String, diff: String },
    #[serde(rename = "delete_file")]
    Delete { path: String },
}

/// Who runs a search of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::responses) enum Execution {
    Client,
    Server,
}

/// A call of a typed tool, and what a search of the server's found.
#[derive(Debug, Clone, PartialEq, JsonSchema, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in crate::responses) enum TypedItem {
    /// Shell commands.
    ShellCall {
        id: String,
        status: Status,
        call_id: String,
        action: ShellAction,
        environment: ShellEnvironment,
    },
    /// One command.
    LocalShellCall { id: String, status: Status, call_id: String, action: ExecAction },
    /// A change of a file.
    ApplyPatchCall { id: String, status: Status, call_id: String, operation: PatchOperation },
    /// A search of tools.
    ToolSearchCall {
        id: String,
        status: Status,
        /// None of a search that the server runs.
        call_id: Option<String>,
        execution: Execution,
        arguments: Value,
    },
    /// The tools that a search of the server's found.
    ToolSearchOutput {
        id: String,
        status: Status,
        call_id: Option<String>,
        execution: Execution,
        tools: Vec<Value>,
    },
}

impl TypedItem {
    /// The item's id.
    pub(in crate::responses) fn id(&self) -> &str {
        let (Self::ShellCall { id, .. }
        | Self::LocalShellCall { id, .. }
        | Self::ApplyPatchCall { id, .. }
        | Self::ToolSearchCall { id, .. }
        | Self::ToolSearchOutput { id, .. }) = self;
        id
    }

    /// Whether the client must answer it.
    pub(in crate::responses) fn waits_for_client(&self) -> bool {
        !matches!(
            self,
            Self::ToolSearchCall { execution: Execution::Server, .. } | Self::ToolSearchOutput { .. }
        )
    }

    pub(in crate::responses) fn set_status(&mut self, new: Status) {
        let (Self::ShellCall { status, .. }
        | Self::LocalShellCall { status, .. }
        | Self::ApplyPatchCall { status, .. }
        | Self::ToolSearchCall { status, .. }
        | Self::ToolSearchOutput { status, .. }) = self;
        *status = new;
    }
}
