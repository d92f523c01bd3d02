//! Bounds of prompts, with their default values, and the rows of those that the operator can change.

use std::time::Duration;

use bounds::Field::{Time, Usize};
use bounds::Unit::{Count, Mib, Milliseconds};
use bounds::{Bound, Bounded, bound};

use super::budget::TokenBudget;

/// Bounds of prompts.
#[derive(Debug, Clone)]
pub struct PromptLimits {
    /// Bytes of prompt text per token of context that are tokenised to the end, so that a refusal
    /// knows their tokens; of a longer text, no more than the context holds.
    pub bytes_per_token: usize,
    /// CPU time that a chat template may take for a prompt, once more for each MiB of the request.
    pub template_time: Duration,
    /// Bytes that a chat template may write in addition to the request's own text.
    pub template_output: usize,
}

impl PromptLimits {
    /// Budget of prompts for a context of `context` tokens.
    pub fn budget(&self, context: usize) -> TokenBudget {
        TokenBudget { context, counted_bytes: context.saturating_mul(self.bytes_per_token) }
    }
}

impl Default for PromptLimits {
    fn default() -> Self {
        Self { bytes_per_token: 8, template_time: Duration::from_secs(5), template_output: 64 << 20 }
    }
}

impl Bounded for PromptLimits {
    const HEADING: &'static str = "Limits";
    #[rustfmt::skip] // A row per bound.
    const BOUNDS: &'static [Bound<Self>] = &[
        bound("prompt-bytes-per-token", Count("BYTES"), 1..=1024, "Length of a prompt's text per token of context up to which a prompt that is too long is counted to its end; a longer one is counted until it has more tokens than the context", |l| Usize(&mut l.bytes_per_token)),
        bound("template-time", Milliseconds, 1..=600_000, "CPU time that a chat template may take for one prompt, once more for each MiB of the request", |l| Time(&mut l.template_time)),
        bound("template-output", Mib, 1..=1024, "Text that a chat template may write in addition to the request's own", |l| Usize(&mut l.template_output)),
    ];
}
