//! Bounds of prompts, with their default values, and the rows of those that the operator can change.

use std::time::Duration;

use super::budget::TokenBudget;

bounds::limits! {
    /// Bounds of prompts.
    PromptLimits, "Limits":

    bytes_per_token: usize = 8, "prompt-bytes-per-token", Count("BYTES"), 1..=1024, "Length of a prompt's text per token of context up to which a prompt that is too long is counted to its end; a longer one is counted until it has more tokens than the context";
    template_time: Duration = Duration::from_secs(5), "template-time", Milliseconds, 1..=600_000, "CPU time that a chat template may take for one prompt, once more for each MiB of the request";
    template_output: usize = 64 << 20, "template-output", Mib, 1..=1024, "Text that a chat template may write in addition to the request's own";
}

impl PromptLimits {
    /// Budget of prompts for a context of `context` tokens.
    pub fn budget(&self, context: usize) -> TokenBudget {
        TokenBudget { context, counted_bytes: context.saturating_mul(self.bytes_per_token) }
    }
}
