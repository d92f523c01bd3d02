//! Options that both protocols share: sampling and template arguments.

use serde_json::Value;

use super::error::ApiError;
use super::json::Object;
use super::request::Defaults;
use crate::model::SamplingRequest;

/// Efforts that `OpenAI`'s clients know.
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// `temperature`, `top_p`, `top_k` and `seed` of a body.
pub(crate) fn sampling(body: &Object<'_>) -> Result<SamplingRequest, ApiError> {
    #[expect(clippy::cast_possible_truncation, reason = "the engine samples in f32")]
    let narrow = |number: f64| number as f32;
    let top_k = body.integer("top_k", -1..=i64::from(u32::MAX))?;
    Ok(SamplingRequest {
        temperature: body.number("temperature", 0.0..=2.0)?.map(narrow),
        // 0 means "the likeliest only"; the engine's nucleus is never empty.
        top_p: body.number("top_p", 0.0..=1.0)?.map(|p| narrow(p).max(f32::EPSILON)),
        top_k: top_k.map(|k| u32::try_from(k).unwrap_or(0)),
        seed: body.integer("seed", i64::MIN..=i64::MAX)?.map(i64::cast_unsigned),
    })
}

/// `chat_template_kwargs` and the effort, as arguments for the template. What the request sets itself wins over what follows from the effort.
pub(crate) fn template_arguments(
    body: &Object<'_>,
    effort: Option<&str>,
    defaults: &Defaults,
) -> Result<Vec<(String, Value)>, ApiError> {
    let mut arguments = Vec::new();
    if let Some(given) = body.object("chat_template_kwargs")? {
        for (name, value) in given.map {
            if let Some(argument) = template_argument(&given, name, value, &defaults.template_arguments)? {
                arguments.push((name.clone(), argument));
            }
        }
    }
    let is_set = |arguments: &[(String, Value)], name: &str| arguments.iter().any(|(set, _)| set == name);
    if let Some(effort) = effort {
        if effort == "none" && !is_set(&arguments, "enable_thinking") {
            arguments.push(("enable_thinking".to_owned(), Value::Bool(false)));
        }
        if !is_set(&arguments, "reasoning_effort") {
            arguments.push(("reasoning_effort".to_owned(), Value::String(effort.to_owned())));
        }
    }
    Ok(arguments)
}

fn template_argument(
    given: &Object<'_>,
    name: &str,
    value: &Value,
    allowed: &[String],
) -> Result<Option<Value>, ApiError> {
    let path = given.at(name);
    if !allowed.iter().any(|allowed| allowed == name) {
        let names = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
        return Err(
            path.unsupported(format_args!("requests may not set this template argument (allowed: {names})"))
        );
    }
    match value {
        Value::Null => Ok(None),
        Value::Array(_) | Value::Object(_) => Err(path.expected("a string, number or boolean", value)),
        scalar => Ok(Some(scalar.clone())),
    }
}

/// An effort among those known.
pub(crate) fn effort<'a>(object: &Object<'a>, name: &str) -> Result<Option<&'a str>, ApiError> {
    match object.string(name)? {
        Some(effort) if !EFFORTS.contains(&effort) => {
            Err(object.at(name).invalid(format_args!("expected one of {}", EFFORTS.join(", "))))
        }
        effort => Ok(effort),
    }
}
