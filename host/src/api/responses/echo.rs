//! What the response object repeats of its request, checked.

use serde_json::{Map, Value};

use super::super::error::ApiError;
use super::super::json::{Object, Path};
use super::super::request::{Defaults, ReasoningEvents};
use super::super::{options, tools};
use super::resource::{Echo, ReasoningEcho, TextEcho};

/// Longest metadata key and value, in characters.
const METADATA_KEY: usize = 64;
const METADATA_VALUE: usize = 512;

/// Reads everything of `body` that is repeated; `tools` are the tools as they are shown.
pub(super) fn read(body: &Object<'_>, tools: Vec<Value>, defaults: &Defaults) -> Result<Echo, ApiError> {
    let tool_choice = match tools::choice(body)? {
        crate::parser::contract::ToolChoice::None => "none",
        _ => "auto",
    };
    let text = |name| -> Result<Option<String>, ApiError> { Ok(body.string(name)?.map(str::to_owned)) };
    Ok(Echo {
        model: body.required_string("model")?.to_owned(),
        instructions: text("instructions")?,
        tools,
        tool_choice,
        parallel_tool_calls: body.boolean("parallel_tool_calls")?.unwrap_or(true),
        text: text_options(body)?,
        top_p: body.number("top_p", 0.0..=1.0)?.unwrap_or(defaults.top_p),
        temperature: body.number("temperature", 0.0..=2.0)?.unwrap_or(defaults.temperature),
        reasoning: reasoning(body)?,
        max_output_tokens: body.count("max_output_tokens", 1)?,
        max_tool_calls: body.count("max_tool_calls", 1)?,
        metadata: metadata(body, defaults.limits.metadata)?,
        safety_identifier: text("safety_identifier")?,
        prompt_cache_key: text("prompt_cache_key")?,
    })
}

/// The dialect of reasoning: the request's `summary` decides, else the server's default.
pub(super) fn dialect(reasoning: &ReasoningEcho, defaults: &Defaults) -> ReasoningEvents {
    if reasoning.summary.is_some() { ReasoningEvents::Summary } else { defaults.reasoning_events }
}

fn text_options(body: &Object<'_>) -> Result<TextEcho, ApiError> {
    let Some(text) = body.object("text")? else { return Ok(TextEcho::default()) };
    tools::check_format(text.get("format"), text.at("format"))?;
    Ok(TextEcho { verbosity: text.string("verbosity")?.map(str::to_owned), ..TextEcho::default() })
}

fn reasoning(body: &Object<'_>) -> Result<ReasoningEcho, ApiError> {
    let Some(reasoning) = body.object("reasoning")? else { return Ok(ReasoningEcho::default()) };
    let effort = options::effort(&reasoning, "effort")?.map(str::to_owned);
    for name in ["summary", "generate_summary"] {
        match reasoning.string(name)? {
            None | Some("none") => {}
            Some(summary @ ("auto" | "concise" | "detailed")) => {
                return Ok(ReasoningEcho { effort, summary: Some(summary.to_owned()) });
            }
            Some(_) => return Err(reasoning.at(name).invalid("expected auto, concise or detailed")),
        }
    }
    Ok(ReasoningEcho { effort, summary: None })
}

fn metadata(body: &Object<'_>, max: usize) -> Result<Map<String, Value>, ApiError> {
    let Some(metadata) = body.object("metadata")? else { return Ok(Map::new()) };
    if metadata.map.len() > max {
        let count = metadata.map.len();
        return Err(metadata.path.invalid(format_args!("at most {max} keys, got {count}")));
    }
    for (key, value) in metadata.map {
        check_metadata(key, value, metadata.at(key))?;
    }
    Ok(metadata.map.clone())
}

fn check_metadata(key: &str, value: &Value, path: Path<'_>) -> Result<(), ApiError> {
    let Value::String(text) = value else { return Err(path.expected("a string", value)) };
    if key.chars().count() > METADATA_KEY {
        return Err(path.invalid(format_args!("a key has at most {METADATA_KEY} characters")));
    }
    if text.chars().count() > METADATA_VALUE {
        return Err(path.invalid(format_args!("a value has at most {METADATA_VALUE} characters")));
    }
    Ok(())
}
