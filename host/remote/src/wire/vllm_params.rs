//! Parts shared by vLLM's two endpoints: `SamplingParams` (`vllm/sampling_params.py`, 0.32), and
//! the fields of chunks.

use std::collections::BTreeMap;

use engine::{Constraint, JsonBegins};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Chunk, Unsupported, WireEnd, WireFault};
use crate::facts::Facts;
use crate::request::RemoteRequest;

/// Largest seed that vLLM takes, and the bias of banned tokens, which is the lowest that vLLM
/// applies.
const MAX_SEED: u64 = i64::MAX as u64;
pub(super) const BAN: f32 = -100.0;

/// All parameters that decide which tokens come.
#[derive(Debug, Serialize)]
pub(super) struct SamplingFields<'a> {
    max_tokens: usize,
    min_tokens: usize,
    temperature: f32,
    top_p: f32,
    top_k: u32,
    min_p: f32,
    seed: u64,
    presence_penalty: f32,
    frequency_penalty: f32,
    repetition_penalty: f32,
    logit_bias: BTreeMap<u32, f32>,
    stop: [&'static str; 0],
    stop_token_ids: &'a [u32],
    ignore_eos: bool,
    skip_special_tokens: bool,
    spaces_between_special_tokens: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_outputs: Option<StructuredOutputs<'a>>,
    /// Needs `--reasoning-config` of vLLM, which refuses it otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_token_budget: Option<u32>,
}

/// vLLM's `StructuredOutputsParams`, of which exactly one field is set.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StructuredOutputs<'a> {
    /// JSON Schema, as text.
    Json(&'a str),
    /// A Lark grammar.
    Grammar(&'a str),
}

impl<'a> SamplingFields<'a> {
    pub(super) fn new(request: &'a RemoteRequest, facts: &Facts) -> Self {
        let (sampling, processors) = (&request.sampling, &request.processors);
        Self {
            max_tokens: request.max_tokens,
            min_tokens: request.min_tokens(),
            temperature: sampling.temperature,
            top_p: sampling.top_p,
            top_k: sampling.top_k,
            min_p: sampling.min_p,
            seed: sampling.seed & MAX_SEED,
            presence_penalty: processors.presence,
            frequency_penalty: processors.frequency,
            repetition_penalty: processors.repetition,
            logit_bias: biases(request, BAN),
            stop: [],
            stop_token_ids: &request.stop_ids,
            ignore_eos: request.ignore_eos,
            skip_special_tokens: false,
            spaces_between_special_tokens: false,
            logprobs: request.top_logprobs,
            structured_outputs: request
                .constraint
                .as_deref()
                .and_then(|constraint| structured_outputs(constraint, facts)),
            thinking_token_budget: request.reasoning_budget,
        }
    }
}

/// Biases by token id, with the bias `ban` for banned tokens.
pub(super) fn biases(request: &RemoteRequest, ban: f32) -> BTreeMap<u32, f32> {
    let mut biases = BTreeMap::new();
    for (id, bias) in &request.processors.bias {
        *biases.entry(*id).or_default() += bias;
    }
    biases.extend(request.banned_ids().unwrap_or_default().into_iter().map(|id| (id, ban)));
    biases
}

/// Form in which the engine follows a constraint; none if it can't.
fn structured_outputs<'a>(constraint: &'a Constraint, facts: &Facts) -> Option<StructuredOutputs<'a>> {
    if let Some(grammar) = constraint.grammar.as_deref().filter(|_| facts.follows_grammars) {
        return Some(StructuredOutputs::Grammar(grammar));
    }
    let json = constraint.json.as_ref()?;
    (facts.follows_schemas && json.begins == JsonBegins::AtOnce)
        .then_some(StructuredOutputs::Json(&json.schema))
}

/// Checks that vLLM can do what the request asks for.
pub(super) fn check(request: &RemoteRequest, facts: &Facts) -> Result<(), Unsupported> {
    check_banned(request)?;
    check_priority(request, facts)?;
    if request.demands_more(|constraint| structured_outputs(constraint, facts).is_some()) {
        return Unsupported::constraint(
            "can't follow this: it takes no grammars of tokens, or no JSON behind reasoning (start vLLM with --structured-outputs-config.backend guidance, or switch reasoning off)",
        );
    }
    match request.constraint.as_deref().and_then(|constraint| structured_outputs(constraint, facts)) {
        Some(StructuredOutputs::Json(_)) => Unsupported::check_schema(request, facts),
        Some(StructuredOutputs::Grammar(_)) | None => Ok(()),
    }
}

/// Checks that each banned text is a single token: no engine takes a ban of several tokens by ids.
pub(super) fn check_banned(request: &RemoteRequest) -> Result<(), Unsupported> {
    match request.banned_ids() {
        Some(_) => Ok(()),
        None => Unsupported::new("bad_words", "bans single tokens only, and one of these texts has several"),
    }
}

/// Refuses a bound on reasoning, of which only vLLM has a field.
pub(super) fn check_no_budget(request: &RemoteRequest) -> Result<(), Unsupported> {
    if request.reasoning_budget.is_none() {
        return Ok(());
    }
    Unsupported::new(
        "thinking_token_budget",
        "keeps no budget of reasoning: the server was told that it does (--engine-reasoning-budget)",
    )
}

pub(super) fn check_priority(request: &RemoteRequest, facts: &Facts) -> Result<(), Unsupported> {
    if request.priority == 0 || facts.priority_sign != 0 {
        return Ok(());
    }
    Unsupported::new("priority", "knows no priorities")
}

/// Fields of an event that are read.
#[derive(Deserialize)]
struct ChoicesEvent<C> {
    #[serde(default = "Vec::new")]
    choices: Vec<C>,
    usage: Option<UsageInfo>,
}

/// vLLM's `UsageInfo`.
#[derive(Deserialize)]
struct UsageInfo {
    completion_tokens: Option<usize>,
    prompt_tokens_details: Option<PromptTokensDetails>,
}

#[derive(Deserialize)]
struct PromptTokensDetails {
    cached_tokens: Option<usize>,
}

/// Reads an event: `add` adds its choices to `chunk`, and the other fields are added here. Nothing
/// is read after the end and the usage.
pub(super) fn choices<C: DeserializeOwned>(
    data: &[u8],
    chunk: &mut Chunk,
    mut add: impl FnMut(C, &mut Chunk) -> Result<(), WireFault>,
) -> Result<(), WireFault> {
    if is_done(data, chunk) {
        return Ok(());
    }
    let ChoicesEvent { choices, usage } = super::json(data)?;
    for choice in choices {
        add(choice, chunk)?;
    }
    if let Some(UsageInfo { completion_tokens, prompt_tokens_details }) = usage {
        chunk.generated = completion_tokens;
        chunk.cached = prompt_tokens_details.and_then(|details| details.cached_tokens).or(chunk.cached);
        chunk.is_over |= chunk.end.is_some();
    }
    Ok(())
}

/// Why a choice ended: `finish_reason` and `stop_reason`, which is an id, a text or nothing.
pub(super) fn end(finish_reason: Option<&str>, stop_reason: Option<&serde_json::Value>) -> Option<WireEnd> {
    let id = || stop_reason.and_then(serde_json::Value::as_u64).and_then(|id| u32::try_from(id).ok());
    Some(match finish_reason? {
        "stop" => WireEnd::Stop(id()),
        "length" => WireEnd::Length,
        _ => WireEnd::Aborted("it ended the answer for a reason of its own"),
    })
}

/// Whether the stream is over, as the last event `[DONE]` of both endpoints says.
pub(super) fn is_done(data: &[u8], chunk: &mut Chunk) -> bool {
    chunk.is_over |= data == b"[DONE]";
    chunk.is_over
}
