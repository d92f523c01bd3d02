//! Sizes of a runner: what the scheduler plans with and batches are checked against.

/// Sizes of a runner.
#[derive(Debug, Clone)]
pub struct RunnerShape {
    /// What it is, for people: `cpu, 2 threads, bf16`.
    pub name: String,
    /// Ids are below this.
    pub vocab: usize,
    /// Positions are below this.
    pub context: usize,
    /// Tokens that a step may have: what the activations are sized for.
    pub batch_tokens: usize,
    /// Tokens of a KV block.
    pub block_size: usize,
    /// Blocks of the KV cache.
    pub blocks: usize,
    /// Sequences that may hold blocks at a time.
    pub lanes: usize,
    /// Steps that may be begun before the one before them is collected: 0 or 1.
    pub ahead: usize,
}
