//! Readers of request fields that protocols share: sampling, stop strings, stream options, template
//! arguments.

use super::error::ApiError;
use super::fields;
use super::json::{Field, JsonObject, List, Path, UpTo, Value};
use crate::limits::RequestLimits;
use model::SamplingRequest;

/// Sampling parameters: the fields of [`super::fields::sampling::SAMPLING`], which are `OpenAI`'s
/// and those that vLLM adds to them. `most`: the answer's limit of tokens, if the request has one.
pub(crate) fn sampling(
    body: &JsonObject<'_>,
    most: Option<u32>,
    limits: &RequestLimits,
) -> Result<SamplingRequest, ApiError> {
    let top_k = body.get(fields::TOP_K)?;
    Ok(SamplingRequest {
        temperature: body.get(fields::TEMPERATURE)?.map(narrow),
        // 0 means "the likeliest token only"; the engine wants a nucleus that isn't empty.
        top_p: body.get(fields::TOP_P)?.map(|p| narrow(p).max(f32::EPSILON)),
        top_k: top_k.map(|k| u32::try_from(k).unwrap_or(0)),
        min_p: body.get(fields::MIN_P)?.map(narrow),
        seed: body.get(fields::SEED)?.map(i64::cast_unsigned),
        presence_penalty: body.get(fields::PRESENCE_PENALTY)?.map_or(0.0, narrow),
        frequency_penalty: body.get(fields::FREQUENCY_PENALTY)?.map_or(0.0, narrow),
        repetition_penalty: body.get(fields::REPETITION_PENALTY)?.map(narrow),
        logit_bias: logit_bias(body, limits.biased_tokens)?,
        bad_words: texts(body.list(fields::BAD_WORDS)?, limits.bad_words, limits.bad_word_bytes)?,
        stop_token_ids: stop_token_ids(body.list(fields::STOP_TOKENS)?, limits.stop_tokens)?,
        ignore_eos: body.get(fields::IGNORE_EOS)?.unwrap_or(false),
        min_tokens: min_tokens(body, most)?,
        include_stop: body.get(fields::INCLUDE_STOP)?.unwrap_or(false),
        n: None,
    })
}

#[expect(clippy::cast_possible_truncation, reason = "the engine samples in f32")]
fn narrow(number: f64) -> f32 {
    number as f32
}

/// `min_tokens`, which the answer's limit `most` allows.
fn min_tokens(body: &JsonObject<'_>, most: Option<u32>) -> Result<u32, ApiError> {
    let least = body.get(fields::MIN_TOKENS)?.unwrap_or(0);
    match most.filter(|most| least > *most) {
        Some(most) => {
            let path = body.at(fields::MIN_TOKENS);
            Err(path.invalid(format_args!("{least} tokens are more than the answer may have, {most}")))
        }
        None => Ok(least),
    }
}

/// `n`: number of choices for each of `prompts` prompts.
pub(crate) fn choices(
    body: &JsonObject<'_>,
    prompts: usize,
    limits: &RequestLimits,
) -> Result<u32, ApiError> {
    let n = body.up_to(fields::CHOICES, limits.choices)?.unwrap_or(1);
    let (answers, most) = (prompts.saturating_mul(n as usize), limits.sequences);
    if answers > most {
        return Err(body.at(fields::CHOICES).invalid(format_args!(
            "{n} choices for each of {prompts} prompts are {answers} answers, of which one request may ask for {most}: \
             send several requests"
        )));
    }
    Ok(n)
}

/// Number of alternatives to list with each token.
pub(crate) fn alternatives(
    body: &JsonObject<'_>,
    field: Field<UpTo>,
    limits: &RequestLimits,
) -> Result<Option<u8>, ApiError> {
    let count = body.up_to(field, limits.top_logprobs.into())?;
    Ok(count.map(|count| u8::try_from(count).expect("the range was checked")))
}

/// `{"TOKEN ID": BIAS}`.
fn logit_bias(body: &JsonObject<'_>, max: usize) -> Result<Vec<(u32, f32)>, ApiError> {
    let Some(biases) = body.get(fields::LOGIT_BIAS)? else { return Ok(Vec::new()) };
    if biases.len() > max {
        let count = biases.len();
        return Err(biases.path.invalid(format_args!("at most {max} tokens, got {count}")));
    }
    let bias = |name: &str| {
        let wrong = |_| biases.path.field(name).invalid("expected a token id as the name");
        Ok((name.parse().map_err(wrong)?, biases.entry::<f64>(name, &fields::BIAS)?.map_or(0.0, narrow)))
    };
    biases.fields().map(|(name, _)| bias(name)).collect()
}

/// The stop texts of a body: `stop`, one or a list.
pub(crate) fn stop(body: &JsonObject<'_>, limits: &RequestLimits) -> Result<Vec<String>, ApiError> {
    let path = body.at(fields::STOP);
    match body.value(fields::STOP) {
        None => Ok(Vec::new()),
        Some(one @ Value::String(_)) => Ok(vec![text(one, limits.stop_string_bytes, path)?]),
        Some(Value::List(list)) => stop_list(List::new(list, path), limits),
        Some(other) => Err(path.expected("a string or a list of strings", other)),
    }
}

/// A list of stop texts.
pub(crate) fn stop_list(list: List<'_>, limits: &RequestLimits) -> Result<Vec<String>, ApiError> {
    texts(list, limits.stop_strings, limits.stop_string_bytes)
}

/// A list of at most `count` texts of at most `bytes` bytes each.
fn texts(list: List<'_>, count: usize, bytes: usize) -> Result<Vec<String>, ApiError> {
    list.check_len(count, "texts")?;
    list.iter().map(|(path, value)| text(value, bytes, path)).collect()
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

fn stop_token_ids(list: List<'_>, max: usize) -> Result<Vec<u32>, ApiError> {
    list.check_len(max, "token ids")?;
    tokens(list)
}

/// A list of token ids.
pub(crate) fn tokens(list: List<'_>) -> Result<Vec<u32>, ApiError> {
    // The capacity is exact: a vector that grows is copied, and both copies are in memory for a
    // moment.
    let mut ids = Vec::with_capacity(list.elements.len());
    for (path, value) in list.iter() {
        let id = value.as_integer().and_then(|id| u32::try_from(id).ok());
        ids.push(id.ok_or_else(|| path.expected("a token id", value))?);
    }
    Ok(ids)
}

/// `cache_salt`.
pub(crate) fn cache_salt(body: &JsonObject<'_>, limits: &RequestLimits) -> Result<Option<String>, ApiError> {
    let Some(value) = body.value(fields::CACHE_SALT) else { return Ok(None) };
    text(value, limits.cache_salt_bytes, body.at(fields::CACHE_SALT)).map(Some)
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
    pub(crate) fn read(body: &JsonObject<'_>) -> Result<Self, ApiError> {
        let Some(options) = body.get(fields::STREAM_OPTIONS)? else { return Ok(Self::default()) };
        Ok(Self {
            include_usage: options.get(fields::INCLUDE_USAGE)?.unwrap_or(false),
            include_obfuscation: options.get(fields::PAD_CHUNKS)?.unwrap_or(false),
        })
    }
}

/// `thinking.type`: whether the model is asked to think, in Messages and with the clients that send
/// it to Chat Completions, too.
pub(crate) fn thinks(kind: &str, thinking: &JsonObject<'_>) -> Result<bool, ApiError> {
    match kind {
        "enabled" | "adaptive" | "between_tools" => Ok(true),
        "disabled" => Ok(false),
        _ => Err(thinking.at(fields::TYPE).invalid("expected enabled, adaptive or disabled")),
    }
}

/// `chat_template_kwargs` and the effort, as arguments for the template. Arguments that the request
/// sets win over those of the effort.
pub(crate) fn template_arguments(
    body: &JsonObject<'_>,
    effort: Option<&str>,
    allowed: &[String],
) -> Result<Vec<(String, serde_json::Value)>, ApiError> {
    let mut arguments = Vec::new();
    if let Some(given) = body.get(fields::TEMPLATE_ARGUMENTS)? {
        for (name, value) in given.fields() {
            if let Some(argument) = template_argument(&given, name, value, allowed)? {
                arguments.push((name.to_owned(), argument));
            }
        }
    }
    let is_set =
        |arguments: &[(String, serde_json::Value)], name: &str| arguments.iter().any(|(set, _)| set == name);
    if let Some(effort) = effort {
        let of_effort = prompt::effort_arguments(effort).into_iter();
        let unset: Vec<_> = of_effort.filter(|(name, _)| !is_set(&arguments, name)).collect();
        arguments.extend(unset);
    }
    Ok(arguments)
}

/// Adds that the model is asked not to think, if it may have no tokens of reasoning, unless the request
/// has set that argument itself.
pub(crate) fn add_budget(arguments: &mut Vec<(String, serde_json::Value)>, budget: Option<u32>) {
    if budget == Some(0) && arguments.iter().all(|(name, _)| name != "enable_thinking") {
        arguments.push(("enable_thinking".to_owned(), false.into()));
    }
}

/// Adds `verbosity`, unless the request has set that argument itself.
pub(crate) fn add_verbosity(arguments: &mut Vec<(String, serde_json::Value)>, verbosity: Option<&str>) {
    if let Some(verbosity) = verbosity
        && arguments.iter().all(|(name, _)| name != "verbosity")
    {
        arguments.push(("verbosity".to_owned(), verbosity.into()));
    }
}

fn template_argument(
    given: &JsonObject<'_>,
    name: &str,
    value: Value<'_>,
    allowed: &[String],
) -> Result<Option<serde_json::Value>, ApiError> {
    let path = given.path.field(name);
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
