//! Reader of a chat request: checks the body and makes the job. What of it is refused or ignored,
//! the tables of fields say.

use super::fields;
use super::machine::ChatMachine;
use super::messages;
use super::stream::OutputOptions;
use super::tools::{Unknown, client_tools};
use crate::error::ApiError;
use crate::format::{self, Naming};
use crate::ids::{Clock, Ids};
use crate::json::{JsonObject, Value};
use crate::limits::RequestLimits;
use crate::options;
use crate::request::{ApiRequest, Defaults};
use crate::structured_outputs::{self, StructuredOutput};
use crate::tools::{self, TOOL_CHOICE, ToolBounds};
use crate::warnings::Warnings;
use grammar::Demand;
use model::{Beginning, Job, SamplingRequest};
use prompt::Conversation;

/// A request whose body was read and checked.
#[derive(Debug)]
pub struct ChatRequest {
    /// The model asked for.
    pub model: String,
    /// Whether the answer is a stream.
    pub stream: bool,
    /// What to generate: prompt, tools and sampling.
    pub job: Job,
    /// A line for each field or value that was ignored.
    pub warnings: Vec<String>,
    asked: OutputOptions,
}

impl ChatRequest {
    /// The machine that answers this request.
    pub fn machine(&self, ids: Ids, now: &Clock) -> ChatMachine {
        ChatMachine::new(ids, now.now(), self.model.clone(), self.asked)
    }
}

/// Reads and checks a request's body.
pub(crate) fn parse(body: &JsonObject<'_>, defaults: &Defaults) -> Result<ChatRequest, ApiError> {
    let mut warnings = Warnings::of_fields(body, fields::TABLES)?;
    // The transport reads more of it, before this.
    body.get(fields::STORE)?;
    let job = job(body, defaults, &mut warnings)?;
    let n = job.sampling.n.unwrap_or(1);
    let stream_options = options::StreamOptions::read(body)?;
    let asked = OutputOptions {
        n,
        logprobs: job.logprobs.is_some(),
        token_ids: job.raw,
        include_usage: stream_options.include_usage,
        obfuscate: stream_options.include_obfuscation,
    };
    Ok(ChatRequest {
        model: body.require(fields::MODEL)?.to_owned(),
        stream: body.get(fields::STREAM)?.unwrap_or(false),
        job,
        warnings: warnings.into_lines(),
        asked,
    })
}

/// Reads the job that `body` asks for.
pub(crate) fn job(
    body: &JsonObject<'_>,
    defaults: &Defaults,
    warnings: &mut Warnings,
) -> Result<Job, ApiError> {
    check_modalities(body)?;
    let format = format::read(body, fields::RESPONSE_FORMAT, Naming::Named, &defaults.limits)?;
    let structured = structured_outputs::read(body, &defaults.limits)?;
    if structured.is_some() && format.schema().is_some() {
        let path = body.at(fields::RESPONSE_FORMAT);
        return Err(path.invalid("the answer has a form by `structured_outputs` already"));
    }
    let (schema, response_grammar) = StructuredOutput::forms(structured);
    let mut bounds = ToolBounds::new(defaults);
    let mut client_tools = client_tools(body, &mut bounds, Unknown::LeftOut, warnings)?;
    bounds.tools = bounds.tools.saturating_sub(client_tools.tools.len());
    let (messages, later) = messages::messages(body, defaults, bounds, warnings)?;
    for tool in later {
        if client_tools.has(&tool.name) {
            let what = "a message declares a tool whose name another one has: rename it";
            return Err(body.at(fields::MESSAGES).invalid(what));
        }
        client_tools.tools.push(tool);
    }
    let tool_choice = client_tools.choose(&tools::choice(body)?, false, body.at(TOOL_CHOICE))?;
    let max_tokens = body.get(fields::MAX_TOKENS)?;
    let max_output_tokens = body.get(fields::MAX_COMPLETION_TOKENS)?.or(max_tokens);
    let n = Some(options::choices(body, 1, &defaults.limits)?);
    Ok(Job {
        conversation: Conversation { messages, tools: client_tools.declarations },
        beginning: beginning(body)?,
        demand: Demand {
            tools: client_tools.tools,
            tool_choice,
            parallel_tool_calls: body.get(fields::PARALLEL_TOOL_CALLS)?.unwrap_or(true),
            response_schema: format.schema().or(schema),
            response_grammar,
            ..Demand::default()
        },
        template_arguments: template_arguments(body, defaults)?,
        reasoning_budget: budget(body)?,
        sampling: SamplingRequest { n, ..options::sampling(body, max_output_tokens, &defaults.limits)? },
        logprobs: logprobs(body, &defaults.limits)?,
        raw: body.get(fields::RETURN_TOKEN_IDS)?.unwrap_or(false),
        max_output_tokens,
        stop: options::stop(body, &defaults.limits)?,
        cache_key: body.get(fields::CACHE_KEY)?.map(str::to_owned),
        cache_salt: options::cache_salt(body, &defaults.limits)?,
        priority: body.get(fields::PRIORITY)?.unwrap_or(0),
        ..Job::default()
    })
}

/// Refuses any form of the answer but text.
fn check_modalities(body: &JsonObject<'_>) -> Result<(), ApiError> {
    let other = |(_, value): &(_, Value<'_>)| value.as_str() != Some("text");
    match body.list(fields::MODALITIES)?.iter().find(other) {
        Some((path, _)) => Err(path.unsupported("answers are text: leave the others out")),
        None => Ok(()),
    }
}

/// Most tokens of reasoning, by the field of vLLM, that of `thinking` or that of `reasoning`.
fn budget(body: &JsonObject<'_>) -> Result<Option<u32>, ApiError> {
    let of_thinking = |thinking: JsonObject<'_>| thinking.get(fields::BUDGET_TOKENS);
    let of_reasoning = |reasoning: JsonObject<'_>| reasoning.get(fields::REASONING_BUDGET);
    let thinking = body.get(fields::THINKING)?.map_or(Ok(None), of_thinking)?;
    let reasoning = body.get(fields::REASONING_OPTIONS)?.map_or(Ok(None), of_reasoning)?;
    Ok(body.get(fields::THINKING_BUDGET)?.or(thinking).or(reasoning))
}

/// The effort, by its field, that of `reasoning` or that of `thinking`.
fn effort<'a>(body: &'a JsonObject<'a>, thinks: Option<bool>) -> Result<Option<&'a str>, ApiError> {
    let of_other = |other: JsonObject<'a>| other.get(fields::REASONING_EFFORT_OPTION);
    let reasoning = body.get(fields::REASONING_OPTIONS)?.map_or(Ok(None), of_other)?;
    let thinking = body.get(fields::THINKING)?.map_or(Ok(None), of_other)?;
    Ok(body.get(fields::REASONING_EFFORT)?.or(reasoning).or(thinking.filter(|_| thinks == Some(true))))
}

/// What `thinking` says of whether the model is asked to think.
fn thinks(body: &JsonObject<'_>) -> Result<Option<bool>, ApiError> {
    let Some(thinking) = body.get(fields::THINKING)? else { return Ok(None) };
    let kind = thinking.get(fields::THINKING_TYPE)?.unwrap_or("enabled");
    options::thinks(kind, &thinking).map(Some)
}

/// `chat_template_kwargs`, the effort and `thinking`, each of which wins over the next.
fn template_arguments(
    body: &JsonObject<'_>,
    defaults: &Defaults,
) -> Result<Vec<(String, serde_json::Value)>, ApiError> {
    let thinks = thinks(body)?;
    let effort = effort(body, thinks)?;
    let mut arguments = options::template_arguments(body, effort, &defaults.template_arguments)?;
    options::add_verbosity(&mut arguments, body.get(fields::VERBOSITY)?);
    options::add_budget(&mut arguments, budget(body)?);
    if let Some(thinks) = thinks {
        let is_set = arguments.iter().any(|(name, _)| name == "enable_thinking");
        if !is_set && effort.is_none() {
            arguments.push(("enable_thinking".to_owned(), thinks.into()));
        }
    }
    Ok(arguments)
}

/// Reads a request's body and makes the machine that answers it, as the transport needs them.
pub(crate) fn read(
    body: &JsonObject<'_>,
    defaults: &Defaults,
    ids: Ids,
    now: &Clock,
) -> Result<ApiRequest, ApiError> {
    let request = parse(body, defaults)?;
    let machine = Box::new(request.machine(ids, now));
    let ChatRequest { stream, job, warnings, .. } = request;
    Ok(ApiRequest { stream, job, hosted: None, clearing: Vec::new(), compaction: None, warnings, machine })
}

/// Number of alternatives to list with each token of the content; `None` if no log-probabilities
/// are asked for.
fn logprobs(body: &JsonObject<'_>, limits: &RequestLimits) -> Result<Option<u8>, ApiError> {
    let top = options::alternatives(body, fields::TOP_LOGPROBS, limits)?.unwrap_or(0);
    if body.get(fields::LOGPROBS)? == Some(true) {
        return Ok(Some(top));
    }
    if top > 0 {
        return Err(body.at(fields::TOP_LOGPROBS).invalid("logprobs must be true for it"));
    }
    Ok(None)
}

/// Whether the answer continues the last message: vLLM's `continue_final_message`, or `prefix` of
/// that message.
fn beginning(body: &JsonObject<'_>) -> Result<Beginning, ApiError> {
    let goes_on = body.get(fields::CONTINUE_LAST)?;
    let new_turn = body.get(fields::NEW_TURN)?;
    match (goes_on, new_turn) {
        (Some(true), Some(true)) => {
            Err(body.at(fields::CONTINUE_LAST).invalid("it and add_generation_prompt can't both be true"))
        }
        (Some(true), _) => Ok(Beginning::ContinueLast),
        (_, Some(false)) => Err(body
            .at(fields::NEW_TURN)
            .unsupported("false is supported with continue_final_message: true only")),
        _ if messages::last_is_prefix(body)? => Ok(Beginning::ContinueLast),
        _ => Ok(Beginning::Answer),
    }
}
