//! A Responses request: the body checked, the turn to generate, and what the answer repeats.
//! Unknown fields, tools and items are ignored with a warning; what would change the answer in a way that isn't possible is refused.

use super::super::error::ApiError;
use super::super::ids::{Clock, Ids};
use super::super::json::{Object, parse_object};
use super::super::options;
use super::super::request::{Call, Defaults, ReasoningEvents};
use super::super::warnings::Warnings;
use super::machine::ResponsesMachine;
use super::resource::{Echo, Resource};
use super::{echo, input, tools};
use crate::model::Job;
use crate::parser::contract::ToolChoice;
use crate::prompt::Conversation;

/// Fields of the protocol, those that make no difference here among them.
const KNOWN_FIELDS: [&str; 33] = [
    "background",
    "chat_template_kwargs",
    "client_metadata",
    "conversation",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "seed",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_k",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

/// A request that was understood.
#[derive(Debug)]
pub struct ResponsesRequest {
    /// The model asked for.
    pub model: String,
    /// Whether the answer is a stream.
    pub stream: bool,
    /// The turn to generate.
    pub job: Job,
    /// What was left aside.
    pub warnings: Vec<String>,
    echo: Echo,
    reasoning_events: ReasoningEvents,
}

impl ResponsesRequest {
    /// The machine that answers this request. `now` is read here and when the answer is complete.
    pub fn machine(&self, ids: Ids, now: Clock) -> ResponsesMachine {
        ResponsesMachine::new(Resource::new(self.echo.clone()), self.reasoning_events, ids, now)
    }
}

/// Reads a body.
pub fn parse(body: &[u8], defaults: &Defaults) -> Result<ResponsesRequest, ApiError> {
    let map = parse_object(body, defaults.limits.json_depth)?;
    let body = Object::body(&map);
    let mut warnings = Warnings::of_unknown_fields(map.keys(), &KNOWN_FIELDS);
    refuse_what_is_not_there(&body)?;
    check_what_makes_no_difference(&body, &mut warnings)?;

    let (functions, shown) = tools::functions(&body, defaults.limits.tools, &mut warnings)?;
    let echo = echo::read(&body, shown, defaults)?;
    let tool_choice = if echo.tool_choice == "none" { ToolChoice::None } else { ToolChoice::Auto };
    let declarations = if tool_choice == ToolChoice::None { Vec::new() } else { functions.declarations };
    let job = Job {
        conversation: Conversation { messages: input::messages(&body, &mut warnings)?, tools: declarations },
        tools: functions.tools,
        tool_choice,
        parallel_tool_calls: echo.parallel_tool_calls,
        template_arguments: options::template_arguments(&body, echo.reasoning.effort.as_deref(), defaults)?,
        sampling: options::sampling(&body)?,
        max_output_tokens: echo.max_output_tokens,
        stop: Vec::new(),
    };
    Ok(ResponsesRequest {
        model: echo.model.clone(),
        stream: body.boolean("stream")?.unwrap_or(false),
        job,
        warnings: warnings.into_lines(),
        reasoning_events: echo::dialect(&echo.reasoning, defaults),
        echo,
    })
}

/// Reads a body into what the transport needs.
pub fn call(body: &[u8], defaults: &Defaults, ids: Ids, now: Clock) -> Result<Call, ApiError> {
    let request = parse(body, defaults)?;
    let machine = Box::new(request.machine(ids, now));
    let ResponsesRequest { model, stream, job, warnings, .. } = request;
    Ok(Call { model, stream, job, warnings, machine })
}

/// What can't be left aside without giving another answer than the one asked for.
fn refuse_what_is_not_there(body: &Object<'_>) -> Result<(), ApiError> {
    for name in ["previous_response_id", "conversation", "prompt"] {
        if body.get(name).is_some() {
            return Err(body
                .at(name)
                .unsupported("this server stores nothing between requests yet: send the whole input"));
        }
    }
    if body.boolean("background")? == Some(true) {
        return Err(body.at("background").unsupported("background responses are not there yet: use stream"));
    }
    let logprobs = body.integer("top_logprobs", 0..=20)?.unwrap_or(0) > 0;
    if logprobs {
        return Err(body.at("top_logprobs").unsupported("log probabilities are not there yet"));
    }
    Ok(())
}

/// What is accepted although nothing follows from it.
fn check_what_makes_no_difference(body: &Object<'_>, warnings: &mut Warnings) -> Result<(), ApiError> {
    body.boolean("store")?;
    match body.string("truncation")? {
        None | Some("disabled") => {}
        Some("auto") => warnings.add("truncation auto is not there: a prompt that is too long is refused"),
        Some(_) => return Err(body.at("truncation").invalid("expected auto or disabled")),
    }
    let asks_logprobs = |value: &serde_json::Value| value.as_str() == Some("message.output_text.logprobs");
    if body.list("include")?.unwrap_or_default().iter().any(asks_logprobs) {
        warnings.add("include message.output_text.logprobs ignored: log probabilities are not there yet");
    }
    Ok(())
}
