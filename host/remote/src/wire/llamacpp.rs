//! llama.cpp's `/completion` (`tools/server/server-schema.cpp` and `server-task.cpp`, b11434).
//!
//! An event has one token id. Of several tokens that are parts of one character only the last is
//! sent, with the character's text: the count of tokens then grows by more than one, and the text
//! stands for all of them.

use engine::{JsonBegins, JsonConstraint};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::logprobs::Position;
use super::vllm_params::{check_banned, check_no_budget, check_priority};
use super::{Chunk, Unsupported, Wire, WireEnd, WireFault, WireReader};
use crate::facts::Facts;
use crate::request::RemoteRequest;

pub(super) struct LlamaCpp;

/// Sampling steps in this server's order (`engine::LogitsProcessors`, `SamplingParams`).
const SAMPLERS: [&str; 5] = ["penalties", "temperature", "min_p", "top_k", "top_p"];
/// Mask for seeds: a seed of 32 ones would mean a random seed.
const MAX_SEED: u64 = 0x7fff_ffff;
/// Fields to send in the last event, which would hold the whole prompt as text otherwise.
const FIELDS: [&str; 7] =
    ["content", "tokens", "stop", "stop_type", "tokens_predicted", "timings", "prompt_progress"];

#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the format has them")]
struct LlamaCppBody<'a> {
    prompt: &'a [u32],
    stream: bool,
    return_tokens: bool,
    return_progress: bool,
    cache_prompt: bool,
    n_predict: usize,
    seed: u64,
    samplers: [&'static str; 5],
    temperature: f32,
    dynatemp_range: f32,
    top_k: u32,
    top_p: f32,
    min_p: f32,
    typical_p: f32,
    repeat_last_n: usize,
    repeat_penalty: f32,
    presence_penalty: f32,
    frequency_penalty: f32,
    dry_multiplier: f32,
    xtc_probability: f32,
    mirostat: u32,
    logit_bias: Vec<(u32, Value)>,
    n_probs: u32,
    post_sampling_probs: bool,
    stop: [&'static str; 0],
    ignore_eos: bool,
    response_fields: [&'static str; 7],
    #[serde(flatten)]
    constraint: Option<ConstraintFields<'a>>,
}

#[derive(Debug, Serialize)]
struct ConstraintFields<'a> {
    /// JSON schema, sent without a field `grammar`: beside it, even if it is empty, the server
    /// ignores the schema.
    json_schema: &'a RawValue,
}

impl Wire for LlamaCpp {
    fn path(&self) -> &'static str {
        "completion"
    }

    fn check(&self, request: &RemoteRequest, facts: &Facts) -> Result<(), Unsupported> {
        check_banned(request)?;
        check_no_budget(request)?;
        check_priority(request, facts)?;
        Unsupported::check_scores(request)?;
        let processors = &request.processors;
        let counts_the_prompt = "would count the prompt's tokens, too";
        if processors.presence != 0.0 {
            return Unsupported::new("presence_penalty", counts_the_prompt);
        }
        if processors.frequency != 0.0 {
            return Unsupported::new("frequency_penalty", counts_the_prompt);
        }
        if processors.min_tokens > 0 {
            return Unsupported::new("min_tokens", "knows no least number of tokens: leave it out");
        }
        if request
            .demands_more(|constraint| constraint.json.as_ref().and_then(ConstraintFields::new).is_some())
        {
            return Unsupported::constraint("follows JSON schemas of whole answers only");
        }
        Unsupported::check_schema(request, facts)
    }

    fn body(&self, request: &RemoteRequest, facts: &Facts, _: &str) -> Vec<u8> {
        let (sampling, processors) = (&request.sampling, &request.processors);
        let biases = processors.bias.iter().map(|(id, bias)| (*id, json!(bias)));
        let json = request.constraint.as_deref().and_then(|constraint| constraint.json.as_ref());
        // The server takes the bias `false` for a token that must never come.
        let banned = request.banned_ids().unwrap_or_default().into_iter().map(|id| (id, json!(false)));
        super::to_json(&LlamaCppBody {
            prompt: &request.prompt,
            stream: true,
            return_tokens: true,
            // Progress events report the number of cached tokens before the first token.
            return_progress: true,
            cache_prompt: true,
            n_predict: request.max_tokens,
            seed: sampling.seed & MAX_SEED,
            samplers: SAMPLERS,
            temperature: sampling.temperature,
            dynatemp_range: 0.0,
            top_k: sampling.top_k,
            top_p: sampling.top_p,
            min_p: sampling.min_p,
            typical_p: 1.0,
            // Window of the whole context, as a number: the server accepts no value here that means
            // all tokens.
            repeat_last_n: facts.context.unwrap_or(request.prompt.len() + request.max_tokens),
            repeat_penalty: processors.repetition,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            dry_multiplier: 0.0,
            xtc_probability: 0.0,
            mirostat: 0,
            logit_bias: biases.chain(banned).collect(),
            // At least 1: the server reports the chosen token's log-probability only beside
            // alternatives.
            n_probs: request.top_logprobs.map_or(0, |count| u32::from(count.max(1))),
            post_sampling_probs: false,
            stop: [],
            ignore_eos: request.ignore_eos,
            response_fields: FIELDS,
            constraint: json.and_then(ConstraintFields::new),
        })
    }

    fn reader(&self, _: &[u32]) -> Box<dyn WireReader> {
        Box::new(LlamaCppReader { seen: 0 })
    }
}

impl<'a> ConstraintFields<'a> {
    /// None if the schema is not JSON, or does not apply from the first token: lazy grammars of the
    /// server begin with the text that triggers them.
    fn new(json: &'a JsonConstraint) -> Option<Self> {
        let at_once = json.begins == JsonBegins::AtOnce;
        Some(Self { json_schema: serde_json::from_str(&json.schema).ok().filter(|_| at_once)? })
    }
}

struct LlamaCppReader {
    /// Number of tokens that earlier events have counted.
    seen: usize,
}

#[derive(Deserialize)]
struct LlamaCppEvent {
    #[serde(default)]
    content: String,
    #[serde(default)]
    tokens: Vec<i64>,
    #[serde(default)]
    tokens_predicted: usize,
    #[serde(default)]
    stop: bool,
    #[serde(default)]
    stop_type: String,
    timings: Option<Timings>,
    prompt_progress: Option<Progress>,
    #[serde(default)]
    completion_probabilities: Vec<Position>,
}

#[derive(Deserialize)]
struct Timings {
    cache_n: Option<usize>,
}

#[derive(Deserialize)]
struct Progress {
    cache: usize,
}

impl WireReader for LlamaCppReader {
    fn read(&mut self, data: &[u8], chunk: &mut Chunk) -> Result<(), WireFault> {
        let event: LlamaCppEvent = super::json(data)?;
        chunk.cached = event.timings.as_ref().and_then(|timings| timings.cache_n).or(chunk.cached);
        if let Some(Progress { cache }) = event.prompt_progress {
            // A progress event holds no generated token.
            chunk.cached = Some(cache);
            return Ok(());
        }
        if event.stop {
            chunk.is_over = true;
            // Tokens of a character that was never completed are counted in this event only.
            chunk.generated = Some(event.tokens_predicted);
            chunk.end_as(Some(match &*event.stop_type {
                "eos" | "word" => WireEnd::Stop(None),
                "limit" => WireEnd::Length,
                _ => WireEnd::Aborted("it ended the answer for a reason of its own"),
            }));
            return Ok(());
        }
        let new = event.tokens_predicted.saturating_sub(self.seen);
        self.seen += new;
        if new > event.tokens.len() {
            chunk.push_text(&event.content);
            return Ok(());
        }
        let logprobs =
            event.completion_probabilities.into_iter().map(|position| Some(Box::new(position.into())));
        let ids = event.tokens.iter().map(|id| u32::try_from(*id));
        let ids: Vec<u32> = ids
            .collect::<Result<_, _>>()
            .map_err(|_| WireFault::Unreadable("a token id that is none".to_owned()))?;
        chunk.push_tokens(&ids, logprobs);
        Ok(())
    }
}
