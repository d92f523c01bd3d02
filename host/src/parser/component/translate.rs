//! Conversions between the types of contract 0.1 and [`contract`]'s, case by case. Strings are moved, requests are borrowed.

use super::bindings::exports::sluice::parser::parser as wit;
use contract;

/// Borrows `pairs` as the bindings take them.
pub(super) fn pairs(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// Borrows a request, with its converted tools and options.
pub(super) fn request<'a>(
    request: &'a contract::Request,
    tools: &'a [wit::Tool<'a>],
    options: &'a [(&'a str, &'a str)],
) -> wit::Request<'a> {
    wit::Request {
        tools,
        tool_choice: (&request.tool_choice).into(),
        parallel_tool_calls: request.parallel_tool_calls,
        response_schema: request.response_schema.as_deref(),
        response_grammar: request.response_grammar.as_ref().map(Into::into),
        token_markers: &request.token_markers,
        options,
    }
}

impl<'a> From<&'a contract::Tool> for wit::Tool<'a> {
    fn from(tool: &'a contract::Tool) -> Self {
        Self {
            name: &tool.name,
            description: &tool.description,
            kind: match tool.kind {
                contract::ToolKind::Function => wit::ToolKind::Function,
                contract::ToolKind::Custom => wit::ToolKind::Custom,
            },
            parameters_json: &tool.parameters_json,
            strict: tool.strict,
            grammar: tool.grammar.as_ref().map(Into::into),
        }
    }
}

impl<'a> From<&'a contract::Grammar> for wit::Grammar<'a> {
    fn from(grammar: &'a contract::Grammar) -> Self {
        Self { syntax: &grammar.syntax, definition: &grammar.definition }
    }
}

impl<'a> From<&'a contract::ToolChoice> for wit::ToolChoice<'a> {
    fn from(choice: &'a contract::ToolChoice) -> Self {
        match choice {
            contract::ToolChoice::Auto => Self::Auto,
            contract::ToolChoice::None => Self::None,
            contract::ToolChoice::Required => Self::Required,
            contract::ToolChoice::Named(name) => Self::Named(name),
        }
    }
}

impl From<contract::FinishReason> for wit::FinishReason {
    fn from(reason: contract::FinishReason) -> Self {
        match reason {
            contract::FinishReason::Stop => Self::Stop,
            contract::FinishReason::Length => Self::Length,
            contract::FinishReason::Cancelled => Self::Cancelled,
        }
    }
}

impl From<wit::Descriptor> for contract::Descriptor {
    fn from(descriptor: wit::Descriptor) -> Self {
        Self {
            name: descriptor.name,
            version: descriptor.version,
            models: descriptor.models,
            markers: descriptor.markers,
            stops: descriptor.stops,
            trim: contract::Trim {
                reasoning: descriptor.trim.contains(wit::Trim::REASONING),
                content: descriptor.trim.contains(wit::Trim::CONTENT),
            },
            history_call_ids: descriptor.history_call_ids,
        }
    }
}

impl From<wit::Step> for contract::Step {
    fn from(step: wit::Step) -> Self {
        match step {
            wit::Step::Pass => Self::Pass,
            wit::Step::Hold => Self::Hold,
            wit::Step::Ops(ops) => Self::Ops(ops.into_iter().map(Into::into).collect()),
            wit::Step::Fault(words) => Self::Fault(words),
        }
    }
}

impl From<wit::Op> for contract::Op {
    fn from(op: wit::Op) -> Self {
        match op {
            wit::Op::Bytes(run) => Self::Bytes(contract::Run { route: run.route.into(), bytes: run.bytes }),
            wit::Op::UntilMarker(route) => Self::UntilMarker(route.into()),
            wit::Op::Message(phase) => Self::Message(match phase {
                wit::Phase::Unspecified => contract::Phase::Unspecified,
                wit::Phase::Commentary => contract::Phase::Commentary,
                wit::Phase::Final => contract::Phase::Final,
            }),
            wit::Op::ToolCall(call) => Self::ToolCall(contract::ToolCall {
                name: call.name,
                payload: match call.payload {
                    wit::Payload::Json => contract::Payload::Json,
                    wit::Payload::Text => contract::Payload::Text,
                },
            }),
            wit::Op::Close => Self::Close,
            wit::Op::DerivedArguments(text) => Self::DerivedArguments(text),
            wit::Op::UntilByte(until) => {
                Self::UntilByte(contract::Until { route: until.route.into(), bytes: until.bytes.into() })
            }
            wit::Op::BrokenCall => Self::BrokenCall,
            wit::Op::UntilJson(rest) => Self::UntilJson(contract::JsonRest {
                route: rest.route.into(),
                depth: rest.depth,
                in_string: match rest.in_string {
                    wit::InString::No => contract::InString::No,
                    wit::InString::Yes => contract::InString::Yes,
                    wit::InString::AfterBackslash => contract::InString::AfterBackslash,
                },
            }),
        }
    }
}

impl From<wit::Route> for contract::Route {
    fn from(route: wit::Route) -> Self {
        match route {
            wit::Route::Content => Self::Content,
            wit::Route::Reasoning => Self::Reasoning,
            wit::Route::Arguments => Self::Arguments,
            wit::Route::ArgumentsEscaped => Self::ArgumentsEscaped,
            wit::Route::ArgumentsUnescaped => Self::ArgumentsUnescaped,
            wit::Route::Drop => Self::Drop,
        }
    }
}
