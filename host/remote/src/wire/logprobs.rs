//! Log-probabilities of a position in the format of vLLM's `/inference/v1/generate` and llama.cpp.

use engine::Logprobs;
use serde::Deserialize;

/// Log-probability of one generated token, and the alternatives.
#[derive(Deserialize)]
pub(super) struct Position {
    logprob: f32,
    #[serde(default)]
    top_logprobs: Vec<Alternative>,
}

#[derive(Deserialize)]
struct Alternative {
    #[serde(alias = "token_id")]
    id: u32,
    logprob: f32,
}

impl From<Position> for Logprobs {
    fn from(Position { logprob, top_logprobs }: Position) -> Self {
        let top = top_logprobs.into_iter().map(|Alternative { id, logprob }| (id, logprob));
        Self { chosen: logprob, top: top.collect() }
    }
}
