//! A call of a typed tool while the model writes it. Its item says what to do in fields, so it
//! comes once all of them are there. A call that was cut off, or isn't what the tool takes, comes as
//! a function's with the text that the model wrote: nothing of it is lost, and no half of a command
//! is run.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::TypedTool;
use super::items::{ExecAction, Execution, PatchOperation, ShellAction, ShellEnvironment, TypedItem};
use crate::ids::Ids;
use crate::responses::items::{Item, Status};

/// A call that the model is writing.
#[derive(Debug)]
pub(in crate::responses) struct TypedCall {
    tool: TypedTool,
    call_id: String,
    arguments: String,
}

/// What is written into a call's item by events of its own.
#[derive(Debug)]
pub(in crate::responses) enum Written {
    Nothing,
    /// The commands of `shell`.
    Commands(Vec<String>),
    /// The arguments of a function.
    Arguments(String),
}

/// What the model writes of a `local_shell` call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exec {
    command: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    timeout_ms: Option<u64>,
    user: Option<String>,
    working_directory: Option<String>,
}

impl TypedCall {
    /// A call without its arguments.
    pub(in crate::responses) fn new(tool: TypedTool, call_id: &str) -> Self {
        Self { tool, call_id: call_id.to_owned(), arguments: String::new() }
    }

    /// Appends to the arguments.
    pub(in crate::responses) fn push(&mut self, delta: &str) {
        self.arguments.push_str(delta);
    }

    /// The item of the call as it is announced, and what events are to write into it. `whole`: the
    /// model ended the call itself.
    pub(in crate::responses) fn into_item(self, whole: bool, ids: &mut Ids) -> (Item, Written) {
        let status = Status::InProgress;
        let Some(mut item) = self.typed(status, ids).filter(|_| whole) else {
            let Self { tool, call_id, arguments } = self;
            let (id, name, namespace) = (ids.next("fc_"), tool.name().to_owned(), None);
            let item = Item::FunctionCall { id, status, call_id, name, namespace, arguments: String::new() };
            return (item, Written::Arguments(arguments));
        };
        let written = match &mut item {
            TypedItem::ShellCall { action, .. } => Written::Commands(std::mem::take(&mut action.commands)),
            _ => Written::Nothing,
        };
        (Item::Typed(item), written)
    }

    /// The tool's own item; none if the arguments aren't what it takes.
    fn typed(&self, status: Status, ids: &mut Ids) -> Option<TypedItem> {
        let (arguments, call_id) = (self.arguments.as_str(), self.call_id.clone());
        Some(match self.tool {
            TypedTool::Shell => {
                let action = read::<ShellAction>(arguments).filter(|action| !action.commands.is_empty())?;
                let (id, environment) = (ids.next("sh_"), ShellEnvironment::Local);
                TypedItem::ShellCall { id, status, call_id, action, environment }
            }
            TypedTool::LocalShell => {
                let Exec { command, env, timeout_ms, user, working_directory } =
                    read::<Exec>(arguments).filter(|action| !action.command.is_empty())?;
                let action = ExecAction { command, env, timeout_ms, user, working_directory };
                TypedItem::LocalShellCall { id: ids.next("lsh_"), status, call_id, action }
            }
            TypedTool::ApplyPatch => {
                let operation = read::<PatchOperation>(arguments)?;
                TypedItem::ApplyPatchCall { id: ids.next("apc_"), status, call_id, operation }
            }
            TypedTool::ToolSearch => {
                let arguments = read::<Map<String, Value>>(arguments)?.into();
                let (id, execution) = (ids.next("tsc_"), Execution::Client);
                TypedItem::ToolSearchCall { id, status, call_id: Some(call_id), execution, arguments }
            }
        })
    }
}

fn read<'a, T: Deserialize<'a>>(arguments: &'a str) -> Option<T> {
    serde_json::from_str(arguments).ok()
}
