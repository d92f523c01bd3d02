//! Facts and figures of an engine.

/// Figures of an engine: the first six as they are now, the rest since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngineStats {
    /// Sequences that take part in steps.
    pub running: usize,
    /// Sequences without blocks of the KV cache: new ones and preempted ones.
    pub waiting: usize,
    /// Sequences (running or waiting) whose client doesn't read.
    pub paused: usize,
    /// Blocks of the KV cache that no sequence holds (the prefix cache may still find them).
    pub free_blocks: usize,
    /// Blocks of the KV cache.
    pub total_blocks: usize,
    /// Blocks, free or held, that the prefix cache can find.
    pub cached_blocks: usize,
    /// Steps run.
    pub steps: u64,
    /// Prompt tokens of the sequences that began.
    pub prompt_tokens: u64,
    /// Those of them that the prefix cache had.
    pub prefix_hit_tokens: u64,
    /// Tokens generated, stop tokens included.
    pub generated_tokens: u64,
    /// Tokens that were run as drafts.
    pub drafted_tokens: u64,
    /// Those of them that were accepted: generated without a step of their own.
    pub accepted_tokens: u64,
    /// Times that a sequence's mask wasn't there in time, so that it left steps out.
    pub late_masks: u64,
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
    /// What it is, for people: `cpu, 2 threads, f32`.
    pub name: String,
    /// Tokens of prompt and answer together that a sequence may have.
    pub context: usize,
    /// Ids are below this.
    pub vocab: usize,
    /// Which constraints it follows.
    pub constraints: ConstraintSupport,
}

/// Which constraints an engine follows: forms of a [`crate::Constraint`], or masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConstraintSupport {
    /// `grammar`.
    pub grammar: bool,
    /// `json`.
    pub json: bool,
    /// Masks, made by whoever asks ([`crate::GenerationRequest::mask`]): so anything.
    pub masks: bool,
}

impl ConstraintSupport {
    /// Whether it follows any.
    pub fn any(self) -> bool {
        self.grammar || self.json || self.masks
    }
}
