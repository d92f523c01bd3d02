//! The component's side, on wasm32 only: bindings from the WIT file, and the translation between them and [`crate::types`].
//!
//! Invariant: one stream per instance, kept in a thread-local slot of the parser's own crate (`export_parser!` declares it).
//! A call before `start` is a fault, not a trap.

use std::cell::RefCell;

use crate::types as plain;
use crate::{Parser, Stream};
use bindings::exports::sluice::parser::parser as wit;

/// Generated from `wit/parser-0.1`; `generate!` looks for it from this crate's own folder, whoever depends on it.
#[allow(missing_docs, unsafe_code, unreachable_pub, clippy::pedantic, reason = "generated")]
pub mod bindings {
    wit_bindgen::generate!({
        path: "../../wit/parser-0.1",
        world: "plugin",
        pub_export_macro: true,
    });
}

/// Where the instance's stream lives.
pub type Slot<P> = RefCell<Option<Stream<P>>>;

/// What `export_parser!` declares: a parser and the slot of its stream.
pub trait Export {
    /// The parser.
    type Parser: Parser + 'static;

    /// Acts on the slot.
    fn slot<R>(act: impl FnOnce(&Slot<Self::Parser>) -> R) -> R;
}

impl<E: Export> wit::Guest for E {
    fn describe(options: Vec<(String, String)>) -> Result<wit::Descriptor, String> {
        E::Parser::describe(&options).map(descriptor)
    }

    fn start(request: wit::Request) -> Result<(), String> {
        let stream = Stream::start(&plain_request(request))?;
        E::slot(|slot| slot.replace(Some(stream)));
        Ok(())
    }

    fn text(chunk: String) -> wit::Step {
        stepped::<E>(|stream| stream.text(&chunk))
    }

    fn marker(index: u32) -> wit::Step {
        stepped::<E>(|stream| stream.marker(index))
    }

    fn finish(reason: wit::FinishReason) -> wit::Step {
        let reason = match reason {
            wit::FinishReason::Stop => plain::FinishReason::Stop,
            wit::FinishReason::Length => plain::FinishReason::Length,
            wit::FinishReason::Cancelled => plain::FinishReason::Cancelled,
        };
        stepped::<E>(|stream| stream.finish(reason))
    }

    fn constrain(request: wit::Request) -> Result<Option<String>, String> {
        E::Parser::constrain(&plain_request(request))
    }
}

fn stepped<E: Export>(call: impl FnOnce(&mut Stream<E::Parser>) -> plain::Step) -> wit::Step {
    let answer = E::slot(|slot| slot.borrow_mut().as_mut().map(call));
    match answer {
        Some(plain::Step::Pass) => wit::Step::Pass,
        Some(plain::Step::Hold) => wit::Step::Hold,
        Some(plain::Step::Ops(ops)) => wit::Step::Ops(ops.into_iter().map(op).collect()),
        Some(plain::Step::Fault(reason)) => wit::Step::Fault(reason),
        None => wit::Step::Fault("called before start".into()),
    }
}

fn op(op: plain::Op) -> wit::Op {
    match op {
        plain::Op::Bytes(run) => wit::Op::Bytes(wit::Run { route: route(run.route), bytes: run.bytes }),
        plain::Op::UntilMarker(to) => wit::Op::UntilMarker(route(to)),
        plain::Op::Message(phase) => wit::Op::Message(match phase {
            plain::Phase::Unspecified => wit::Phase::Unspecified,
            plain::Phase::Commentary => wit::Phase::Commentary,
            plain::Phase::Final => wit::Phase::Final,
        }),
        plain::Op::ToolCall(call) => wit::Op::ToolCall(wit::ToolCall {
            name: call.name,
            payload: match call.payload {
                plain::Payload::Json => wit::Payload::Json,
                plain::Payload::Text => wit::Payload::Text,
            },
        }),
        plain::Op::Close => wit::Op::Close,
        plain::Op::DerivedArguments(text) => wit::Op::DerivedArguments(text),
    }
}

fn route(route: plain::Route) -> wit::Route {
    match route {
        plain::Route::Content => wit::Route::Content,
        plain::Route::Reasoning => wit::Route::Reasoning,
        plain::Route::Arguments => wit::Route::Arguments,
        plain::Route::ArgumentsEscaped => wit::Route::ArgumentsEscaped,
        plain::Route::ArgumentsUnescaped => wit::Route::ArgumentsUnescaped,
        plain::Route::Drop => wit::Route::Drop,
    }
}

fn descriptor(plain: plain::Descriptor) -> wit::Descriptor {
    let mut trim = wit::Trim::empty();
    trim.set(wit::Trim::REASONING, plain.trim.reasoning);
    trim.set(wit::Trim::CONTENT, plain.trim.content);
    wit::Descriptor {
        name: plain.name,
        version: plain.version,
        models: plain.models,
        markers: plain.markers,
        stops: plain.stops,
        trim,
        history_call_ids: plain.history_call_ids,
    }
}

fn plain_request(request: wit::Request) -> plain::Request {
    plain::Request {
        tools: request.tools.into_iter().map(plain_tool).collect(),
        tool_choice: match request.tool_choice {
            wit::ToolChoice::Auto => plain::ToolChoice::Auto,
            wit::ToolChoice::None => plain::ToolChoice::None,
            wit::ToolChoice::Required => plain::ToolChoice::Required,
            wit::ToolChoice::Named(name) => plain::ToolChoice::Named(name),
        },
        parallel_tool_calls: request.parallel_tool_calls,
        response_schema: request.response_schema,
        options: request.options,
    }
}

fn plain_tool(tool: wit::Tool) -> plain::Tool {
    plain::Tool {
        name: tool.name,
        description: tool.description,
        kind: match tool.kind {
            wit::ToolKind::Function => plain::ToolKind::Function,
            wit::ToolKind::Custom => plain::ToolKind::Custom,
        },
        parameters_json: tool.parameters_json,
        strict: tool.strict,
        grammar: tool
            .grammar
            .map(|grammar| plain::Grammar { syntax: grammar.syntax, definition: grammar.definition }),
    }
}
