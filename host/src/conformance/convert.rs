//! Converts between the types of the case format, which are the SDK's, and the host's own.

use parser_sdk as sdk;
use parser_sdk::testing::case::{CaseItem, End};
use parser_sdk::testing::{Head, Item as SdkItem};

use crate::parser::contract;
use crate::turn::{Item, ItemHead, ItemStatus, TurnEnd};

pub(super) fn request(request: sdk::Request) -> contract::Request {
    contract::Request {
        tools: request.tools.into_iter().map(tool).collect(),
        tool_choice: match request.tool_choice {
            sdk::ToolChoice::Auto => contract::ToolChoice::Auto,
            sdk::ToolChoice::None => contract::ToolChoice::None,
            sdk::ToolChoice::Required => contract::ToolChoice::Required,
            sdk::ToolChoice::Named(name) => contract::ToolChoice::Named(name),
        },
        parallel_tool_calls: request.parallel_tool_calls,
        response_schema: request.response_schema,
        response_grammar: request.response_grammar.map(grammar),
        token_markers: request.token_markers,
        options: request.options,
    }
}

fn tool(tool: sdk::Tool) -> contract::Tool {
    contract::Tool {
        name: tool.name,
        description: tool.description,
        kind: match tool.kind {
            sdk::ToolKind::Function => contract::ToolKind::Function,
            sdk::ToolKind::Custom => contract::ToolKind::Custom,
        },
        parameters_json: tool.parameters_json,
        strict: tool.strict,
        grammar: tool.grammar.map(grammar),
    }
}

fn grammar(grammar: sdk::Grammar) -> contract::Grammar {
    contract::Grammar { syntax: grammar.syntax, definition: grammar.definition }
}

pub(super) fn finish(reason: sdk::FinishReason) -> contract::FinishReason {
    match reason {
        sdk::FinishReason::Stop => contract::FinishReason::Stop,
        sdk::FinishReason::Length => contract::FinishReason::Length,
        sdk::FinishReason::Cancelled => contract::FinishReason::Cancelled,
    }
}

/// An item of a turn, in the type of cases.
pub(super) fn item(item: Item) -> CaseItem {
    let head = match item.head {
        ItemHead::Reasoning => Head::Reasoning,
        ItemHead::Message { phase } => Head::Message(match phase {
            contract::Phase::Unspecified => sdk::Phase::Unspecified,
            contract::Phase::Commentary => sdk::Phase::Commentary,
            contract::Phase::Final => sdk::Phase::Final,
        }),
        ItemHead::ToolCall { name, payload, .. } => {
            let payload = match payload {
                contract::Payload::Json => sdk::Payload::Json,
                contract::Payload::Text => sdk::Payload::Text,
            };
            Head::ToolCall(sdk::ToolCall { name, payload })
        }
    };
    SdkItem { head, text: item.text, complete: item.status == ItemStatus::Completed }.into()
}

/// How the response of a turn with this end ends.
pub(super) fn end(end: &TurnEnd) -> End {
    match end {
        TurnEnd::Completed => End::Completed,
        TurnEnd::MaxOutputTokens => End::Incomplete,
        TurnEnd::Cancelled | TurnEnd::Failed(_) => End::Failed,
    }
}
