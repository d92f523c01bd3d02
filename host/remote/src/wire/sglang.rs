//! SGLang's `/generate` (`sglang/srt/managers/io_struct.py` and `sampling/sampling_params.py`,
//! 0.5.23).
//!
//! Closing the connection doesn't end a request in every case, so requests are also aborted by
//! their id. The server aborts every request whose id begins with the given one, and all requests
//! for an empty one. So ids are always 32 hexadecimal digits.

use std::collections::BTreeMap;

use engine::{Constraint, JsonBegins, Logprobs};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::vllm_params::{biases, check_banned, check_no_budget, check_priority};
use super::{Chunk, Unsupported, Wire, WireEnd, WireFault, WireReader};
use crate::facts::Facts;
use crate::request::RemoteRequest;

pub(super) struct Sglang;

/// Bias of a banned token. The engine adds it to the logit unchanged, so no probability is left.
const BAN: f32 = -1e9;
const MAX_SEED: u64 = i64::MAX as u64;

#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the format has them")]
struct SglangBody<'a> {
    rid: &'a str,
    input_ids: &'a [u32],
    stream: bool,
    sampling_params: SamplingParams<'a>,
    return_logprob: bool,
    logprob_start_len: i32,
    top_logprobs_num: u8,
    return_text_in_logprobs: bool,
    cache_salt: String,
    require_reasoning: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the format has them")]
struct SamplingParams<'a> {
    max_new_tokens: usize,
    min_new_tokens: usize,
    n: u32,
    temperature: f32,
    top_p: f32,
    top_k: i64,
    min_p: f32,
    presence_penalty: f32,
    frequency_penalty: f32,
    repetition_penalty: f32,
    logit_bias: BTreeMap<u32, f32>,
    stop_token_ids: &'a [u32],
    ignore_eos: bool,
    skip_special_tokens: bool,
    spaces_between_special_tokens: bool,
    no_stop_trim: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling_seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    json_schema: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ebnf: Option<&'a str>,
}

/// Form in which the engine follows a constraint.
enum Form<'a> {
    Grammar(&'a str),
    Json { schema: &'a str, after_reasoning: bool },
}

fn form<'a>(constraint: &'a Constraint, facts: &Facts) -> Option<Form<'a>> {
    if let Some(grammar) = constraint.grammar.as_deref().filter(|_| facts.follows_grammars) {
        return Some(Form::Grammar(grammar));
    }
    let json = constraint.json.as_ref()?;
    let after_reasoning = json.begins != JsonBegins::AtOnce;
    let can = facts.follows_schemas && (!after_reasoning || facts.follows_schemas_after_reasoning);
    can.then_some(Form::Json { schema: &json.schema, after_reasoning })
}

impl Wire for Sglang {
    fn path(&self) -> &'static str {
        "generate"
    }

    fn check(&self, request: &RemoteRequest, facts: &Facts) -> Result<(), Unsupported> {
        check_banned(request)?;
        check_no_budget(request)?;
        check_priority(request, facts)?;
        Unsupported::check_scores(request)?;
        let temperature = request.sampling.temperature;
        let is_raw = facts.has_raw_logprobs || temperature == 0.0 || (temperature - 1.0).abs() < f32::EPSILON;
        if request.top_logprobs.is_some() && !is_raw {
            return Unsupported::new(
                "logprobs",
                "tells log-probabilities after temperature only: ask for them at temperature 0 or 1",
            );
        }
        if request.demands_more(|constraint| form(constraint, facts).is_some()) {
            return Unsupported::constraint(
                "can't follow this: it takes no grammars of tokens, or no JSON behind reasoning (start SGLang with --grammar-backend llguidance, or --reasoning-parser, or switch reasoning off)",
            );
        }
        match request.constraint.as_deref().and_then(|constraint| form(constraint, facts)) {
            Some(Form::Json { .. }) => Unsupported::check_schema(request, facts),
            Some(Form::Grammar(_)) | None => Ok(()),
        }
    }

    fn body(&self, request: &RemoteRequest, facts: &Facts, id: &str) -> Vec<u8> {
        assert_eq!(id.len(), 32, "the server gives up all requests whose ids begin with the one it is told");
        let (sampling, processors) = (&request.sampling, &request.processors);
        let form = request.constraint.as_deref().and_then(|constraint| form(constraint, facts));
        let (ebnf, json_schema, require_reasoning) = match form {
            Some(Form::Grammar(grammar)) => (Some(grammar), None, false),
            Some(Form::Json { schema, after_reasoning }) => (None, Some(schema), after_reasoning),
            None => (None, None, false),
        };
        super::to_json(&SglangBody {
            rid: id,
            input_ids: &request.prompt,
            stream: true,
            sampling_params: SamplingParams {
                max_new_tokens: request.max_tokens,
                min_new_tokens: request.min_tokens(),
                n: 1,
                temperature: sampling.temperature,
                top_p: sampling.top_p,
                top_k: if sampling.top_k == 0 { -1 } else { sampling.top_k.into() },
                min_p: sampling.min_p,
                presence_penalty: processors.presence,
                frequency_penalty: processors.frequency,
                repetition_penalty: processors.repetition,
                logit_bias: biases(request, BAN),
                stop_token_ids: &request.stop_ids,
                ignore_eos: request.ignore_eos,
                skip_special_tokens: false,
                spaces_between_special_tokens: false,
                no_stop_trim: true,
                sampling_seed: facts.follows_seeds.then_some(sampling.seed & MAX_SEED),
                json_schema,
                ebnf,
            },
            return_logprob: request.top_logprobs.is_some(),
            logprob_start_len: -1,
            top_logprobs_num: request.top_logprobs.unwrap_or(0),
            return_text_in_logprobs: false,
            cache_salt: format!("{:016x}", request.cache_salt),
            require_reasoning,
            priority: (facts.priority_sign != 0)
                .then_some(request.priority.saturating_mul(facts.priority_sign)),
        })
    }

    fn reader(&self, _: &[u32]) -> Box<dyn WireReader> {
        Box::new(SglangReader { seen: 0 })
    }

    fn abort(&self, id: &str) -> Option<(&'static str, Vec<u8>)> {
        assert_eq!(id.len(), 32, "the server gives up all requests whose ids begin with the one it is told");
        Some(("abort_request", super::to_json(&json!({ "rid": id }))))
    }
}

/// Reader of the events. Depending on how the server was started, an event holds the ids and
/// log-probabilities of the whole answer so far or of the new tokens only; the count of tokens
/// tells which.
struct SglangReader {
    seen: usize,
}

#[derive(Deserialize)]
struct SglangEvent {
    #[serde(default)]
    output_ids: Vec<u32>,
    meta_info: MetaInfo,
}

#[derive(Deserialize)]
struct MetaInfo {
    finish_reason: Option<FinishReason>,
    completion_tokens: usize,
    cached_tokens: Option<usize>,
    #[serde(default)]
    output_token_logprobs: Vec<Logprob>,
    #[serde(default)]
    output_top_logprobs: Vec<Option<Vec<Logprob>>>,
}

/// Log-probability, token id, and the token's text, which isn't requested.
#[derive(Deserialize)]
struct Logprob(f32, u32, #[expect(dead_code, reason = "a place of the format")] Option<String>);

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum FinishReason {
    Stop {
        matched: Option<serde_json::Value>,
    },
    Length {},
    Abort {
        #[serde(default)]
        message: String,
        status_code: Option<u16>,
    },
    #[serde(other)]
    Other,
}

impl WireReader for SglangReader {
    fn read(&mut self, data: &[u8], chunk: &mut Chunk) -> Result<(), WireFault> {
        if super::vllm_params::is_done(data, chunk) {
            return Ok(());
        }
        let SglangEvent { output_ids, meta_info } = super::json(data)?;
        chunk.cached = meta_info.cached_tokens.or(chunk.cached);
        let new = meta_info.completion_tokens.saturating_sub(self.seen);
        let from = output_ids.len().checked_sub(new).ok_or_else(|| {
            let (ids, count) = (output_ids.len(), meta_info.completion_tokens);
            WireFault::Unreadable(format!(
                "{ids} ids where {count} tokens are counted, {} of them told before",
                self.seen
            ))
        })?;
        self.seen += new;
        let told = meta_info.output_token_logprobs;
        let mut tops = meta_info.output_top_logprobs;
        tops.drain(..tops.len().saturating_sub(new));
        let skipped = told.len().saturating_sub(new);
        let tops = tops.into_iter().chain(std::iter::repeat_with(|| None));
        let logprobs = told.into_iter().skip(skipped).zip(tops).map(|(Logprob(chosen, ..), top)| {
            let top = top.into_iter().flatten().map(|Logprob(logprob, id, _)| (id, logprob)).collect();
            Some(Box::new(Logprobs { chosen, top }))
        });
        chunk.push_tokens(&output_ids[from..], logprobs);
        match meta_info.finish_reason {
            None => {}
            Some(FinishReason::Abort { message, status_code }) => {
                return Err(WireFault::Engine(status_code, crate::words::plain(&message)));
            }
            // The last event has the counts, too.
            Some(reason) => {
                chunk.end_as(Some(reason.into()));
                chunk.is_over = true;
            }
        }
        Ok(())
    }
}

impl From<FinishReason> for WireEnd {
    fn from(reason: FinishReason) -> Self {
        match reason {
            FinishReason::Stop { matched } => {
                let id = matched.and_then(|matched| matched.as_u64());
                Self::Stop(id.and_then(|id| u32::try_from(id).ok()))
            }
            FinishReason::Length {} => Self::Length,
            FinishReason::Abort { .. } | FinishReason::Other => {
                Self::Aborted("it ended the answer for a reason of its own")
            }
        }
    }
}
