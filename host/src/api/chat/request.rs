//! A chat request: the body checked, and the turn to generate. What is ignored and what is refused follows the Responses protocol.

use serde_json::Value;

use super::super::error::ApiError;
use super::super::ids::{Clock, Ids};
use super::super::json::{Object, Path, parse_object};
use super::super::options;
use super::super::request::{Call, Defaults};
use super::super::tools::{self, Functions};
use super::super::warnings::{Warnings, printable};
use super::machine::ChatMachine;
use super::messages;
use crate::model::Job;
use crate::parser::contract::ToolChoice;
use crate::prompt::Conversation;

/// Fields that only steer what isn't there; a value other than the neutral one gets a warning.
const IGNORED_SAMPLING: [&str; 3] = ["frequency_penalty", "presence_penalty", "logit_bias"];

/// Fields of the protocol, those that make no difference here among them.
const KNOWN_FIELDS: [&str; 31] = [
    "chat_template_kwargs",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_k",
    "top_logprobs",
    "top_p",
    "user",
];

/// A request that was understood.
#[derive(Debug)]
pub struct ChatRequest {
    /// The model asked for.
    pub model: String,
    /// Whether the answer is a stream.
    pub stream: bool,
    /// The turn to generate.
    pub job: Job,
    /// What was left aside.
    pub warnings: Vec<String>,
    include_usage: bool,
}

impl ChatRequest {
    /// The machine that answers this request.
    pub fn machine(&self, mut ids: Ids, now: Clock) -> ChatMachine {
        ChatMachine::new(ids.next("chatcmpl-"), now(), self.model.clone(), self.include_usage)
    }
}

/// Reads a body.
pub fn parse(body: &[u8], defaults: &Defaults) -> Result<ChatRequest, ApiError> {
    let map = parse_object(body, defaults.limits.json_depth)?;
    let body = Object::body(&map);
    let mut warnings = Warnings::of_unknown_fields(map.keys(), &KNOWN_FIELDS);
    refuse_what_is_not_there(&body)?;
    warn_of_what_makes_no_difference(&body, &mut warnings);

    let functions = functions(&body, defaults.limits.tools, &mut warnings)?;
    let tool_choice = tools::choice(&body)?;
    let declarations = if tool_choice == ToolChoice::None { Vec::new() } else { functions.declarations };
    let conversation =
        Conversation { messages: messages::messages(&body, &mut warnings)?, tools: declarations };
    let effort = options::effort(&body, "reasoning_effort")?;
    let max_tokens = body.count("max_tokens", 1)?;
    let job = Job {
        conversation,
        tools: functions.tools,
        tool_choice,
        parallel_tool_calls: body.boolean("parallel_tool_calls")?.unwrap_or(true),
        template_arguments: options::template_arguments(&body, effort, defaults)?,
        sampling: options::sampling(&body)?,
        max_output_tokens: body.count("max_completion_tokens", 1)?.or(max_tokens),
        stop: stop(&body, defaults.limits.stop_strings)?,
    };
    Ok(ChatRequest {
        model: body.required_string("model")?.to_owned(),
        stream: body.boolean("stream")?.unwrap_or(false),
        job,
        warnings: warnings.into_lines(),
        include_usage: include_usage(&body)?,
    })
}

/// Reads a body into what the transport needs.
pub fn call(body: &[u8], defaults: &Defaults, ids: Ids, now: Clock) -> Result<Call, ApiError> {
    let request = parse(body, defaults)?;
    let machine = Box::new(request.machine(ids, now));
    let ChatRequest { model, stream, job, warnings, .. } = request;
    Ok(Call { model, stream, job, warnings, machine })
}

fn refuse_what_is_not_there(body: &Object<'_>) -> Result<(), ApiError> {
    if body.integer("n", 1..=128)?.unwrap_or(1) > 1 {
        return Err(body.at("n").unsupported("more than one choice is not there yet: send several requests"));
    }
    for (name, asked) in [
        ("logprobs", body.boolean("logprobs")? == Some(true)),
        ("top_logprobs", body.integer("top_logprobs", 0..=20)?.unwrap_or(0) > 0),
    ] {
        if asked {
            return Err(body.at(name).unsupported("log probabilities are not there yet"));
        }
    }
    for name in ["functions", "function_call"] {
        if body.get(name).is_some() {
            return Err(body.at(name).unsupported("superseded in the protocol: use tools and tool_choice"));
        }
    }
    tools::check_format(body.get("response_format"), body.at("response_format"))
}

fn warn_of_what_makes_no_difference(body: &Object<'_>, warnings: &mut Warnings) {
    for name in IGNORED_SAMPLING {
        let neutral = |value: &Value| {
            value.as_f64() == Some(0.0) || value.as_object().is_some_and(serde_json::Map::is_empty)
        };
        if body.get(name).is_some_and(|value| !neutral(value)) {
            warnings.add(format!("{name} ignored: it is not there yet"));
        }
    }
}

fn functions(body: &Object<'_>, max: usize, warnings: &mut Warnings) -> Result<Functions, ApiError> {
    let mut functions = Functions::default();
    let path = body.at("tools");
    for (index, value) in tools::list(body, max)?.iter().enumerate() {
        let tool = Object::new(value, path.element(index))?;
        match tool.required_string("type")? {
            "function" => {
                let function =
                    tool.object("function")?.ok_or_else(|| tool.at("function").missing("an object"))?;
                functions.add(function, value.clone())?;
            }
            other => warnings.add(format!("tool of type {} ignored", printable(other))),
        }
    }
    Ok(functions)
}

/// One text or a list of at most `max`.
fn stop(body: &Object<'_>, max: usize) -> Result<Vec<String>, ApiError> {
    let path = body.at("stop");
    let given = match body.get("stop") {
        None => return Ok(Vec::new()),
        Some(one @ Value::String(_)) => std::slice::from_ref(one),
        Some(Value::Array(list)) => list.as_slice(),
        Some(other) => return Err(path.expected("a string or a list of strings", other)),
    };
    if given.len() > max {
        return Err(path.invalid(format_args!("at most {max} stop texts, got {}", given.len())));
    }
    let texts = given.iter().enumerate().map(|(index, value)| stop_text(value, path.element(index)));
    texts.collect()
}

fn stop_text(value: &Value, path: Path<'_>) -> Result<String, ApiError> {
    match value {
        Value::String(text) if text.is_empty() => Err(path.invalid("a stop text must not be empty")),
        Value::String(text) => Ok(text.clone()),
        other => Err(path.expected("a string", other)),
    }
}

fn include_usage(body: &Object<'_>) -> Result<bool, ApiError> {
    let Some(options) = body.object("stream_options")? else { return Ok(false) };
    Ok(options.boolean("include_usage")?.unwrap_or(false))
}
