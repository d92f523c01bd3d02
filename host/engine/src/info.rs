//! Facts and figures of an engine.

/// Figures of an engine: the first seven as they are now, the rest since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngineStats {
    /// Sequences that hold KV blocks and aren't paused.
    pub running: usize,
    /// Sequences without KV blocks: new ones and preempted ones.
    pub waiting: usize,
    /// Sequences (running or waiting) whose client doesn't read.
    pub paused: usize,
    /// Blocks of the KV cache that no sequence holds (the prefix cache may still find them).
    pub free_blocks: usize,
    /// Blocks of the KV cache; 0 where this process has none.
    pub total_blocks: usize,
    /// Tokens in a block of the KV cache; 0 where this process has none.
    pub block_size: usize,
    /// Blocks, free or held, that the prefix cache can find.
    pub cached_blocks: usize,
    /// Steps run.
    pub steps: u64,
    /// Prompt tokens of the sequences that began.
    pub prompt_tokens: u64,
    /// Prompt tokens that were found in the prefix cache.
    pub prefix_hit_tokens: u64,
    /// Tokens generated, stop tokens included.
    pub generated_tokens: u64,
    /// Draft tokens that were run.
    pub drafted_tokens: u64,
    /// Draft tokens that were accepted: generated without a step of their own.
    pub accepted_tokens: u64,
    /// Times that a sequence left out steps because its mask was late.
    pub late_masks: u64,
    /// Sequences that went on without their mask, which had failed and gave way.
    pub lost_masks: u64,
    /// Times that a sequence lost its blocks and had to be computed again.
    pub preemptions: u64,
    /// Sequences that ended because their client left.
    pub cancelled: u64,
    /// Sequences that were refused since they had waited too long to begin.
    pub refused: u64,
    /// Sequences that ended with an error.
    pub failed: u64,
}

/// Facts about an engine.
#[derive(Debug, Clone)]
pub struct EngineInfo {
    /// Name for people, such as `cpu, 2 threads, avx512, bf16`.
    pub name: String,
    /// Maximum number of tokens in a sequence, prompt and answer together.
    pub context: usize,
    /// Size of the vocabulary: token ids are below it.
    pub vocab: usize,
    /// Constraints that the engine supports.
    pub constraints: ConstraintSupport,
}

/// Constraints that an engine supports: forms of a [`crate::Constraint`], or masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConstraintSupport {
    /// Constraints with a [`crate::Constraint::grammar`].
    pub grammar: bool,
    /// Constraints with a [`crate::Constraint::json`].
    pub json: bool,
    /// Masks that the caller makes ([`crate::GenerationRequest::mask`]), and so any constraint.
    pub masks: bool,
}

impl ConstraintSupport {
    /// Whether the engine supports any constraint.
    pub fn any(self) -> bool {
        self.grammar || self.json || self.masks
    }
}
