//! Tools that Anthropic's clients declare by a type with a date and without a schema, since its own
//! models know them: a shell, an editor, and a memory of files. The model here is told what they
//! take; calls come as those of any tool, and the client runs them.

use super::fields::WEB_SEARCH;
use serde_json::{Map, Value, json};

/// A tool of a known type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KnownTool {
    Bash,
    /// With the command `undo_edit` or without.
    TextEditor {
        undo: bool,
    },
    Memory,
}

/// Versions of the editor whose edits can be undone.
const WITH_UNDO: [&str; 2] = ["text_editor_20241022", "text_editor_20250124"];

/// Types of tools that have a date behind them.
const DATED: [&str; 6] = ["bash", "text_editor", "memory", WEB_SEARCH, "computer", "computer_toolset"];

/// The type in the table of tools that a tool's type stands for: that of a known tool without its
/// date.
pub(super) fn family(kind: &str) -> &str {
    let is_date = |end: &str| end.len() == 8 && end.bytes().all(|byte| byte.is_ascii_digit());
    match kind.rsplit_once('_') {
        Some((family, date)) if is_date(date) && DATED.contains(&family) => family,
        _ => kind,
    }
}

impl KnownTool {
    /// The tool of a type.
    pub(super) fn of(kind: &str) -> Option<Self> {
        match family(kind) {
            "bash" => Some(Self::Bash),
            "text_editor" => Some(Self::TextEditor { undo: WITH_UNDO.contains(&kind) }),
            "memory" => Some(Self::Memory),
            _ => None,
        }
    }

    /// What the model is told of it.
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Bash => {
                "Runs a command in a shell on the user's machine and returns what it prints. The shell stays open: its folder and variables hold for the next command."
            }
            Self::TextEditor { .. } => {
                "Shows, creates and edits text files. view shows a file, or what is in a folder; create writes a new file; str_replace replaces a text that stands once in the file; insert puts a text behind a line (0: at the beginning)."
            }
            Self::Memory => {
                "Keeps files in /memories between conversations. view shows a file, or what is in a folder; create writes a file; str_replace replaces a text that stands once in it; insert puts a text behind a line; delete and rename move files and folders. Look at /memories before a task, and write down what a later one needs."
            }
        }
    }

    /// Schema of what it takes.
    pub(super) fn schema(self) -> Value {
        let text = |about: &str| json!({"type": "string", "description": about});
        let path = text("Path of the file or folder");
        let range = json!({"type": "array", "items": {"type": "integer"}, "description": "First and last line to view; -1: the end"});
        let line = json!({"type": "integer", "description": "The line behind which to insert"});
        let edits = [
            ("path", path.clone()),
            ("view_range", range),
            ("file_text", text("What to create the file with")),
            ("old_str", text("The text to replace")),
            ("insert_line", line),
        ];
        let (more, required): (Vec<(&str, Value)>, Value) = match self {
            Self::Bash => {
                let restart =
                    json!({"type": "boolean", "description": "Starts the shell anew, in place of a command"});
                (vec![("command", text("The command")), ("restart", restart)], json!([]))
            }
            Self::TextEditor { undo } => {
                let commands = ["view", "create", "str_replace", "insert", "undo_edit"];
                let command = json!({"type": "string", "enum": commands[..4 + usize::from(undo)]});
                let new = text("The text in its place, or the one to insert");
                let head = vec![("command", command)];
                (
                    head.into_iter().chain(edits).chain([("new_str", new)]).collect(),
                    json!(["command", "path"]),
                )
            }
            Self::Memory => {
                let commands = ["view", "create", "str_replace", "insert", "delete", "rename"];
                let head = vec![("command", json!({"type": "string", "enum": commands}))];
                let tail = [
                    ("new_str", text("The text in its place")),
                    ("insert_text", text("The text to insert")),
                    ("old_path", text("The path to rename")),
                    ("new_path", text("The path to rename it to")),
                ];
                (head.into_iter().chain(edits).chain(tail).collect(), json!(["command"]))
            }
        };
        let properties: Map<String, Value> =
            more.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }
}
