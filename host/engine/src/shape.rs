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
    /// States that layers keep of each lane's sequence; `None`: the model's layers keep keys and
    /// values only.
    pub states: Option<StatesShape>,
    /// Number of steps that may begin before the step in front of them is collected: 0 or 1.
    pub ahead: usize,
}

/// States of a runner whose layers keep states of sequences, which the prefix cache can't cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatesShape {
    /// Number of snapshots, at least one.
    pub snapshots: usize,
    /// Maximum number of a sequence's rows in a step that may be taken back, at least one.
    pub tentative: usize,
}
