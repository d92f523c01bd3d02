//! Tools that the client runs and whose calls have items of their own: `shell`, `local_shell`,
//! `apply_patch` and `tool_search`. The model sees each as a function of the tool's name; what it
//! writes becomes the tool's item (`call`), and the items of earlier calls become calls of that
//! function and their results (`input`).

pub(super) mod call;
pub(super) mod input;
pub(super) mod items;

use serde_json::{Value, json};

use crate::agent::SEARCH;

/// Argument in which a search that the server ran names what it found, beside what the model wrote:
/// OpenAI's clients look for it.
pub(super) const PATHS: &str = "paths";

/// A tool of this kind. In a request there is at most one of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypedTool {
    /// Commands in a shell of the client's.
    Shell,
    /// One command, without a shell unless it names one.
    LocalShell,
    /// Changes of one file.
    ApplyPatch,
    /// Search of tools that the model doesn't see yet.
    ToolSearch,
}

impl TypedTool {
    const ALL: [Self; 4] = [Self::Shell, Self::LocalShell, Self::ApplyPatch, Self::ToolSearch];

    /// Its `type`, by which the model knows it, too.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::LocalShell => "local_shell",
            Self::ApplyPatch => "apply_patch",
            Self::ToolSearch => SEARCH,
        }
    }

    /// Types of its items: of a call, and of its result.
    const fn items(self) -> (&'static str, &'static str) {
        match self {
            Self::Shell => ("shell_call", "shell_call_output"),
            Self::LocalShell => ("local_shell_call", "local_shell_call_output"),
            Self::ApplyPatch => ("apply_patch_call", "apply_patch_call_output"),
            Self::ToolSearch => ("tool_search_call", "tool_search_output"),
        }
    }

    /// The tool of this type or name.
    pub(super) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The tool whose calls are items of this type.
    pub(super) fn of_call(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.items().0 == kind)
    }

    /// The tool whose results are items of this type.
    pub(super) fn of_result(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.items().1 == kind)
    }

    /// Type of the item that answers a call of this type.
    pub(super) fn result_of(call: &str) -> Option<&'static str> {
        Self::of_call(call).map(|tool| tool.items().1)
    }

    /// What the model is told of it, unless the client says more.
    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::Shell => {
                "Runs shell commands on the user's machine and returns what they print and how they exit."
            }
            Self::LocalShell => {
                "Runs one command on the user's machine and returns what it prints. Pipes and variables need a shell: [\"bash\", \"-lc\", \"…\"]."
            }
            Self::ApplyPatch => {
                "Creates, changes or deletes one file. In a diff each line begins with a space (kept), `-` (removed) or `+` (added); a line `@@` begins each place that changes, and may name the function or class around it. A new file has `+` lines only."
            }
            Self::ToolSearch => {
                "Finds more tools, which can be called once they are found. Use it when no tool at hand does what is needed."
            }
        }
    }

    /// Schema of what the model writes.
    pub(super) fn parameters(self) -> Value {
        let (properties, required) = match self {
            Self::Shell => (
                json!({
                    "commands": {"type": "array", "items": {"type": "string"}, "description": "Commands, run one after the other"},
                    "timeout_ms": {"type": "integer", "description": "Most milliseconds for all of them"},
                    "max_output_length": {"type": "integer", "description": "Most characters of output to return"},
                }),
                json!(["commands"]),
            ),
            Self::LocalShell => (
                json!({
                    "command": {"type": "array", "items": {"type": "string"}, "description": "The program and its arguments"},
                    "working_directory": {"type": "string", "description": "Folder to run it in"},
                    "timeout_ms": {"type": "integer", "description": "Most milliseconds"},
                    "env": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Environment variables to set"},
                    "user": {"type": "string", "description": "User to run it as"},
                }),
                json!(["command"]),
            ),
            Self::ApplyPatch => (
                json!({
                    "type": {"type": "string", "enum": ["create_file", "update_file", "delete_file"]},
                    "path": {"type": "string", "description": "Path of the file in the workspace"},
                    "diff": {"type": "string", "description": "What changes; not for delete_file"},
                }),
                json!(["type", "path"]),
            ),
            Self::ToolSearch => (
                json!({
                    "query": {"type": "string", "description": "What the tool should do, in a few words"},
                    "limit": {"type": "integer", "description": "Most tools to return"},
                }),
                json!(["query"]),
            ),
        };
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }
}
