//! Sizes of a runner: what the scheduler plans with and batches are checked against.

/// Sizes of a runner.
#[derive(Debug, Clone)]
pub struct RunnerShape {
    /// Name for people, such as `cpu, 2 threads, avx512, bf16`.
    pub name: String,
    /// Size of the vocabulary: token ids are below it.
    pub vocab: usize,
    /// Context length: positions are below it.
    pub context: usize,
    /// Maximum number of tokens in a step, for which the activations are allocated.
    pub batch_tokens: usize,
    /// Maximum number of rows of logits in a step that score tokens of prompts, beside those that
    /// are sampled; 0: prompts can't be scored.
    pub score_rows: usize,
    /// Number of tokens in a KV block.
    pub block_size: usize,
    /// Number of blocks in the KV cache.
    pub blocks: usize,
    /// Maximum number of sequences that hold KV blocks at the same time.
    pub lanes: usize,
    /// Number of steps that may begin before the step in front of them is collected: 0 or 1.
    pub ahead: usize,
}
