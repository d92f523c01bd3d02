//! Contract 0.1 as a component.

super::bindings! { "wit/parser-0.1" }

#[path = "translate.rs"]
#[allow(clippy::duplicate_mod, reason = "one text, compiled with the bindings of each version")]
mod translate;

pub(super) use bindings::Plugin;
use bindings::PluginPre;
use bindings::exports::sluice::parser::parser as wit;

impl From<wit::ToolCall> for contract::ToolCall {
    fn from(call: wit::ToolCall) -> Self {
        Self { name: call.name, payload: call.payload.into(), id: None }
    }
}
