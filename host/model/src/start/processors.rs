//! The logits processors of a job, as the engine takes them.

use engine::{LogitsProcessors, SubmitError};

use crate::error::StartError;
use crate::job::{Job, SamplingRequest};
use crate::served::Served;
use prompt::TokenizeError;

impl Served {
    pub(super) fn processors(&self, job: &Job, stop_ids: &[u32]) -> Result<LogitsProcessors, StartError> {
        let asked = &job.sampling;
        let ids: Vec<u32> = asked.logit_bias.iter().map(|(id, _)| *id).collect();
        self.check_ids(&ids)?;
        let banned =
            asked.bad_words.iter().map(|word| self.token_sequences(word)).collect::<Result<Vec<_>, _>>();
        Ok(LogitsProcessors {
            presence: asked.presence_penalty,
            frequency: asked.frequency_penalty,
            repetition: asked.repetition_penalty.or(self.defaults.repetition_penalty).unwrap_or(1.0),
            bias: asked.logit_bias.clone(),
            banned: banned.map_err(StartError::tokenize)?.concat(),
            min_tokens: asked.min_tokens as usize,
            ends: if asked.min_tokens > 0 { stop_ids.to_vec() } else { Vec::new() },
        })
    }

    /// Token sequences of `word`: at the beginning of a text, and behind a space. (vLLM's
    /// `bad_words` takes the second one only if it has as many tokens as the first, and so misses
    /// words that are one token only behind a space.)
    fn token_sequences(&self, word: &str) -> Result<Vec<Vec<u32>>, TokenizeError> {
        let first = self.tokenizer.encode_text(word.trim_start())?;
        let second = self.tokenizer.encode_text(&format!(" {}", word.trim_start()))?;
        // A sequence that ends with the first one is banned with it.
        let differs = !second.ends_with(&first);
        Ok([Some(first), differs.then_some(second)]
            .into_iter()
            .flatten()
            .filter(|ids| !ids.is_empty())
            .collect())
    }
}

/// Refuses fields that keep the answer from ending: a grammar says itself where it ends.
pub(super) fn check_grammar_ends(asked: &SamplingRequest) -> Result<(), SubmitError> {
    let field = match asked {
        SamplingRequest { ignore_eos: true, .. } => "ignore_eos",
        SamplingRequest { min_tokens: 1.., .. } => "min_tokens",
        _ => return Ok(()),
    };
    let reason = "a grammar restricts this answer and says where it ends: leave this out, or what restricts the answer";
    Err(SubmitError::Unsupported { field, reason: reason.to_owned() })
}
