//! The draft of contract 0.2 as a component: a call has the model's own id.

super::bindings! { "wit/parser-0.2-draft" }

#[path = "translate.rs"]
#[allow(clippy::duplicate_mod, reason = "one text, compiled with the bindings of each version")]
mod translate;

pub(super) use bindings::Plugin;
use bindings::PluginPre;
use bindings::exports::sluice::parser::parser as wit;

impl From<wit::ToolCall> for contract::ToolCall {
    fn from(call: wit::ToolCall) -> Self {
        Self { name: call.name, payload: call.payload.into(), id: call.id }
    }
}
