//! vLLM's `/inference/v1/generate`, with token ids in and out
//! (`vllm/entrypoints/scale_out/token_in_token_out/protocol.py`, 0.32). It exists only under
//! `vllm serve --enable-scale-out`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::logprobs::Position;
use super::openai::{StreamOptions, is_usual, salt};
use super::vllm_params::{self, SamplingFields};
use super::{Chunk, Unsupported, Wire, WireFault, WireReader};
use crate::facts::Facts;
use crate::request::RemoteRequest;

pub(super) struct Vllm;

#[derive(Debug, Serialize)]
struct VllmBody<'a> {
    request_id: &'a str,
    model: &'a str,
    token_ids: &'a [u32],
    sampling_params: SamplingParams<'a>,
    /// Always true, so that constraints apply from the first token; the grammar itself says where
    /// reasoning is free.
    reasoning_ended: bool,
    stream: bool,
    stream_options: StreamOptions,
    cache_salt: String,
    #[serde(skip_serializing_if = "is_usual")]
    priority: i32,
}

#[derive(Debug, Serialize)]
struct SamplingParams<'a> {
    n: u32,
    detokenize: bool,
    #[serde(flatten)]
    fields: SamplingFields<'a>,
}

impl Wire for Vllm {
    fn path(&self) -> &'static str {
        "inference/v1/generate"
    }

    fn check(&self, request: &RemoteRequest, facts: &Facts) -> Result<(), Unsupported> {
        Unsupported::check_scores(request)?;
        vllm_params::check(request, facts)
    }

    fn body(&self, request: &RemoteRequest, facts: &Facts, id: &str) -> Vec<u8> {
        super::to_json(&VllmBody {
            request_id: id,
            model: &facts.model,
            token_ids: &request.prompt,
            sampling_params: SamplingParams {
                n: 1,
                detokenize: false,
                fields: SamplingFields::new(request, facts),
            },
            reasoning_ended: true,
            stream: true,
            stream_options: StreamOptions { include_usage: true },
            cache_salt: salt(request),
            priority: request.priority,
        })
    }

    fn reader(&self, _: &[u32]) -> Box<dyn WireReader> {
        Box::new(VllmReader)
    }
}

struct VllmReader;

#[derive(Deserialize)]
struct VllmChoice {
    #[serde(default)]
    token_ids: Option<Vec<u32>>,
    logprobs: Option<GenerateLogProbs>,
    finish_reason: Option<String>,
    stop_reason: Option<Value>,
}

#[derive(Deserialize)]
struct GenerateLogProbs {
    content: Option<Vec<Position>>,
}

impl WireReader for VllmReader {
    fn read(&mut self, data: &[u8], chunk: &mut Chunk) -> Result<(), WireFault> {
        vllm_params::choices(data, chunk, |choice: VllmChoice, chunk| {
            let positions = choice.logprobs.and_then(|logprobs| logprobs.content).unwrap_or_default();
            let logprobs = positions.into_iter().map(|position| Some(Box::new(position.into())));
            chunk.push_tokens(&choice.token_ids.unwrap_or_default(), logprobs);
            chunk.end_as(vllm_params::end(choice.finish_reason.as_deref(), choice.stop_reason.as_ref()));
            Ok(())
        })?;
        // All ids are told, so nothing else counts.
        chunk.generated = None;
        Ok(())
    }
}
