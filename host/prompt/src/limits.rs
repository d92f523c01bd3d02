//! Bounds of prompts, with their default values, and the rows of those that the operator can change.

use std::time::Duration;

use bounds::Field::{Time, Usize};
use bounds::Unit::{Count, Mib, Milliseconds};
use bounds::{Bound, Bounded, bound};

/// Maximum size of a conversation's text relative to the longest prompt: templates leave out
/// reasoning of earlier turns.
const UNSEEN_TEXT: usize = 4;

/// Bounds of prompts.
#[derive(Debug, Clone)]
pub struct PromptLimits {
    /// Maximum bytes of prompt text per token of context; a longer text is refused before it is
    /// tokenised.
    pub bytes_per_token: usize,
    /// CPU time that a chat template may take for a prompt, once more for each MiB of the request.
    pub template_time: Duration,
    /// Bytes that a chat template may write in addition to the request's own text.
    pub template_output: usize,
}

impl PromptLimits {
    /// Maximum size of a prompt that is tokenised, in bytes, for a context of `context` tokens.
    pub fn prompt_bytes(&self, context: usize) -> usize {
        context.saturating_mul(self.bytes_per_token)
    }

    /// Maximum size of a conversation's text before it is rendered, in bytes; its tools may have as
    /// many bytes again.
    pub fn conversation_bytes(&self, context: usize) -> usize {
        self.prompt_bytes(context).saturating_mul(UNSEEN_TEXT)
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
        bound("prompt-bytes-per-token", Count("BYTES"), 1..=1024, "Length of a prompt's text per token of context; a longer prompt is refused before it is tokenised", |l| Usize(&mut l.bytes_per_token)),
        bound("template-time", Milliseconds, 1..=600_000, "CPU time that a chat template may take for one prompt, once more for each MiB of the request", |l| Time(&mut l.template_time)),
        bound("template-output", Mib, 1..=1024, "Text that a chat template may write in addition to the request's own", |l| Usize(&mut l.template_output)),
    ];
}
