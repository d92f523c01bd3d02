//! Readers of request fields that protocols share: sampling, stop strings, stream options, template arguments.

use super::error::ApiError;
use super::fields::sampling::EFFORTS;
use super::json::{List, Object, Path, Value};
use super::warnings::Warnings;
use model::SamplingRequest;
use model::limits::Limits;

/// Sampling parameters: the fields of [`super::fields::sampling::SAMPLING`], which are `OpenAI`'s and those that vLLM adds to them.
/// `most`: the answer's limit of tokens, if the request has one.
pub(crate) fn sampling(
    body: &Object<'_>,
    most: Option<u32>,
    limits: &Limits,
) -> Result<SamplingRequest, ApiError> {
    let top_k = body.integer("top_k", -1..=i64::from(u32::MAX))?;
    Ok(SamplingRequest {
        temperature: body.number("temperature", 0.0..=2.0)?.map(narrow),
        // 0 means "the likeliest token only"; the engine wants a nucleus that isn't empty.
        top_p: body.number("top_p", 0.0..=1.0)?.map(|p| narrow(p).max(f32::EPSILON)),
        top_k: top_k.map(|k| u32::try_from(k).unwrap_or(0)),
        min_p: body.number("min_p", 0.0..=1.0)?.map(narrow),
        seed: body.integer("seed", i64::MIN..=i64::MAX)?.map(i64::cast_unsigned),
        presence_penalty: body.number("presence_penalty", -2.0..=2.0)?.map_or(0.0, narrow),
        frequency_penalty: body.number("frequency_penalty", -2.0..=2.0)?.map_or(0.0, narrow),
        repetition_penalty: body.number("repetition_penalty", 0.01..=100.0)?.map(narrow),
        logit_bias: logit_bias(body, limits.biased_tokens)?,
        bad_words: bad_words(body, limits)?,
        stop_token_ids: token_ids(body, "stop_token_ids", limits.stop_tokens)?,
        ignore_eos: body.boolean("ignore_eos")?.unwrap_or(false),
        min_tokens: min_tokens(body, most)?,
        include_stop: body.boolean("include_stop_str_in_output")?.unwrap_or(false),
        n: None,
    })
}

#[expect(clippy::cast_possible_truncation, reason = "the engine samples in f32")]
fn narrow(number: f64) -> f32 {
    number as f32
}

/// `min_tokens`, which the answer's limit `most` allows.
fn min_tokens(body: &Object<'_>, most: Option<u32>) -> Result<u32, ApiError> {
    let least = body.count("min_tokens", 0)?.unwrap_or(0);
    match most.filter(|most| least > *most) {
        Some(most) => {
            let path = body.at("min_tokens");
            Err(path.invalid(format_args!("{least} tokens are more than the answer may have, {most}")))
        }
        None => Ok(least),
    }
}

/// `n`: number of choices for each of `prompts` prompts.
pub(crate) fn choices(body: &Object<'_>, prompts: usize, limits: &Limits) -> Result<u32, ApiError> {
    let n = body.integer("n", 1..=limits.choices.into())?.unwrap_or(1);
    let n = u32::try_from(n).expect("the range was checked");
    let (answers, most) = (prompts.saturating_mul(n as usize), limits.sequences);
    if answers > most {
        return Err(body.at("n").invalid(format_args!(
            "{n} choices for each of {prompts} prompts are {answers} answers, of which one request may ask for {most}: \
             send several requests"
        )));
    }
    Ok(n)
}

/// Number of alternatives to list with each token: the integer field `name`.
pub(crate) fn alternatives(body: &Object<'_>, name: &str, limits: &Limits) -> Result<Option<u8>, ApiError> {
    let count = body.integer(name, 0..=limits.top_logprobs.into())?;
    Ok(count.map(|count| u8::try_from(count).expect("the range was checked")))
}

/// `{"TOKEN ID": BIAS}`.
fn logit_bias(body: &Object<'_>, max: usize) -> Result<Vec<(u32, f32)>, ApiError> {
    let Some(biases) = body.object("logit_bias")? else { return Ok(Vec::new()) };
    if biases.len() > max {
        let count = biases.len();
        return Err(biases.path.invalid(format_args!("at most {max} tokens, got {count}")));
    }
    let bias = |name: &str| {
        let id = name.parse().map_err(|_| biases.at(name).invalid("expected a token id as the name"))?;
        Ok((id, narrow(biases.number(name, -100.0..=100.0)?.unwrap_or(0.0))))
    };
    biases.fields().map(|(name, _)| bias(name)).collect()
}

/// The stop texts of a body: `stop`, one or a list.
pub(crate) fn stop(body: &Object<'_>, limits: &Limits) -> Result<Vec<String>, ApiError> {
    match body.get("stop") {
        Some(one @ Value::String(_)) => Ok(vec![text(one, limits.stop_string_bytes, body.at("stop"))?]),
        Some(Value::List(_)) | None => stop_list(body, "stop", limits),
        Some(other) => Err(body.at("stop").expected("a string or a list of strings", other)),
    }
}

/// The stop texts of a body: the list `name`.
pub(crate) fn stop_list(body: &Object<'_>, name: &str, limits: &Limits) -> Result<Vec<String>, ApiError> {
    texts(body, name, limits.stop_strings, limits.stop_string_bytes)
}

fn bad_words(body: &Object<'_>, limits: &Limits) -> Result<Vec<String>, ApiError> {
    texts(body, "bad_words", limits.bad_words, limits.bad_word_bytes)
}

/// The list `name` of at most `count` texts of at most `bytes` bytes each.
fn texts(body: &Object<'_>, name: &str, count: usize, bytes: usize) -> Result<Vec<String>, ApiError> {
    let (path, given) = (body.at(name), body.list_or_empty(name)?);
    if given.is_longer_than(count) {
        return Err(path.invalid(format_args!("at most {count} texts, got {}", given.len())));
    }
    given.iter().enumerate().map(|(index, value)| text(value, bytes, path.element(index))).collect()
}

fn text(value: Value<'_>, bytes: usize, path: Path<'_>) -> Result<String, ApiError> {
    match value.as_str() {
        Some("") => Err(path.invalid("the text must not be empty")),
        Some(text) if text.len() > bytes => {
            Err(path.invalid(format_args!("it is longer than {bytes} bytes")))
        }
        Some(text) => Ok(text.to_owned()),
        None => Err(path.expected("a string", value)),
    }
}

fn token_ids(body: &Object<'_>, name: &str, max: usize) -> Result<Vec<u32>, ApiError> {
    let (path, given) = (body.at(name), body.list_or_empty(name)?);
    if given.is_longer_than(max) {
        return Err(path.invalid(format_args!("at most {max} token ids, got {}", given.len())));
    }
    tokens(given, path)
}

/// A list of token ids.
pub(crate) fn tokens(given: List<'_>, path: Path<'_>) -> Result<Vec<u32>, ApiError> {
    // The capacity is exact: a vector that grows is copied, and both copies are in memory for a moment.
    let mut ids = Vec::with_capacity(given.len());
    for (index, value) in given.iter().enumerate() {
        ids.push(token_id(value, path.element(index))?);
    }
    Ok(ids)
}

/// `priority`, as vLLM has it: of waiting requests the one with the lowest number begins first.
pub(crate) fn priority(body: &Object<'_>) -> Result<i32, ApiError> {
    let priority = body.integer("priority", i32::MIN.into()..=i32::MAX.into())?.unwrap_or(0);
    Ok(i32::try_from(priority).expect("the range was checked"))
}

/// `prompt_cache_key`.
pub(crate) fn cache_key(body: &Object<'_>) -> Result<Option<String>, ApiError> {
    Ok(body.string("prompt_cache_key")?.map(str::to_owned))
}

/// `cache_salt`.
pub(crate) fn cache_salt(body: &Object<'_>, limits: &Limits) -> Result<Option<String>, ApiError> {
    let Some(value) = body.get("cache_salt") else { return Ok(None) };
    text(value, limits.cache_salt_bytes, body.at("cache_salt")).map(Some)
}

/// `stream_options`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StreamOptions {
    /// Whether a last chunk carries the usage.
    pub(crate) include_usage: bool,
    /// Whether chunks are padded.
    pub(crate) include_obfuscation: bool,
}

impl StreamOptions {
    /// Reads `stream_options` of a body.
    pub(crate) fn read(body: &Object<'_>, warnings: &mut Warnings) -> Result<Self, ApiError> {
        let Some(options) = body.object("stream_options")? else { return Ok(Self::default()) };
        if options.boolean("continuous_usage_stats")? == Some(true) {
            warnings.add("stream_options.continuous_usage_stats ignored: usage comes last");
        }
        Ok(Self {
            include_usage: options.boolean("include_usage")?.unwrap_or(false),
            include_obfuscation: options.boolean("include_obfuscation")?.unwrap_or(false),
        })
    }
}

/// A token id.
fn token_id(value: Value<'_>, path: Path<'_>) -> Result<u32, ApiError> {
    let id = value.as_integer().and_then(|id| u32::try_from(id).ok());
    id.ok_or_else(|| path.expected("a token id", value))
}

/// `thinking`: whether the model is asked to think, in Messages and with the clients that send it to Chat Completions, too.
pub(crate) fn thinking(thinking: &Object<'_>) -> Result<bool, ApiError> {
    match thinking.required_string("type")? {
        "enabled" | "adaptive" | "between_tools" => Ok(true),
        "disabled" => Ok(false),
        _ => Err(thinking.at("type").invalid("expected enabled, adaptive or disabled")),
    }
}

/// `chat_template_kwargs` and the effort, as arguments for the template. Arguments that the request sets win over those of the effort.
pub(crate) fn template_arguments(
    body: &Object<'_>,
    effort: Option<&str>,
    allowed: &[String],
) -> Result<Vec<(String, serde_json::Value)>, ApiError> {
    let mut arguments = Vec::new();
    if let Some(given) = body.object("chat_template_kwargs")? {
        for (name, value) in given.fields() {
            if let Some(argument) = template_argument(&given, name, value, allowed)? {
                arguments.push((name.to_owned(), argument));
            }
        }
    }
    let is_set =
        |arguments: &[(String, serde_json::Value)], name: &str| arguments.iter().any(|(set, _)| set == name);
    if let Some(effort) = effort {
        if effort == "none" && !is_set(&arguments, "enable_thinking") {
            arguments.push(("enable_thinking".to_owned(), false.into()));
        }
        if !is_set(&arguments, "reasoning_effort") {
            arguments.push(("reasoning_effort".to_owned(), effort.into()));
        }
    }
    Ok(arguments)
}

fn template_argument(
    given: &Object<'_>,
    name: &str,
    value: Value<'_>,
    allowed: &[String],
) -> Result<Option<serde_json::Value>, ApiError> {
    let path = given.at(name);
    if !allowed.iter().any(|allowed| allowed == name) {
        let names = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
        return Err(
            path.unsupported(format_args!("requests may not set this template argument (allowed: {names})"))
        );
    }
    match value {
        Value::Null => Ok(None),
        Value::Bool(flag) => Ok(Some(flag.into())),
        Value::String(text) => Ok(Some(text.get().into())),
        Value::Number(number) => match serde_json::from_str(number) {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(path.invalid("expected a number that 64 bits hold")),
        },
        Value::List(_) | Value::Object(_) => Err(path.expected("a string, number or boolean", value)),
    }
}

/// The reasoning effort in the field `name`; one of `EFFORTS`.
pub(crate) fn effort<'a>(object: &Object<'a>, name: &str) -> Result<Option<&'a str>, ApiError> {
    match object.string(name)? {
        Some(effort) if !EFFORTS.contains(&effort) => {
            Err(object.at(name).invalid(format_args!("expected one of {}", EFFORTS.join(", "))))
        }
        effort => Ok(effort),
    }
}
