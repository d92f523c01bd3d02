//! Events of a shell's call, whose item has a list of commands. They name the item by its place only.

use schemars::JsonSchema;
use serde::Serialize;

use super::Event;
use crate::schema::padded;

/// Where a command stands.
#[derive(Debug, Clone, Copy, Default, JsonSchema, Serialize)]
pub(in crate::responses) struct CommandAt {
    /// The item's place in the output.
    pub(in crate::responses) output_index: usize,
    /// The command's place in the item.
    pub(in crate::responses) command_index: usize,
}

#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::responses) struct Command<'a> {
    #[serde(flatten)]
    at: CommandAt,
    command: &'a str,
}

#[derive(Debug, JsonSchema, Serialize)]
#[schemars(transform = padded)]
pub(in crate::responses) struct CommandDelta<'a> {
    #[serde(flatten)]
    at: CommandAt,
    delta: &'a str,
}

/// `response.shell_call_command.added`: a command begins, without its text.
pub(in crate::responses) fn command_added(at: CommandAt) -> Event<Command<'static>> {
    Event { kind: "response.shell_call_command.added", body: Command { at, command: "" } }
}

/// `response.shell_call_command.delta`.
pub(in crate::responses) fn command_delta(at: CommandAt, delta: &str) -> Event<CommandDelta<'_>> {
    Event { kind: "response.shell_call_command.delta", body: CommandDelta { at, delta } }
}

/// `response.shell_call_command.done`.
pub(in crate::responses) fn command_done(at: CommandAt, command: &str) -> Event<Command<'_>> {
    Event { kind: "response.shell_call_command.done", body: Command { at, command } }
}
