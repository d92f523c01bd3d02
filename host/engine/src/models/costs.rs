//! Costs of a step's operations, by kind: times, and bytes that were read.

use std::time::Duration;

/// Kinds of operations, in the order of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpKind {
    /// Rows of the embedding.
    Embedding,
    /// Norms, rotation, and writing the cache.
    NormRope,
    /// Projections by one matrix.
    Linear,
    /// Attention over the cache, and what layers with states have in its place.
    Attention,
    /// The activation between projections.
    Activation,
    /// The choice of experts, and the experts.
    Experts,
    /// The last norm and the logits.
    Head,
}

impl OpKind {
    /// All kinds, in the order of a step.
    pub const ALL: [Self; 7] = [
        Self::Embedding,
        Self::NormRope,
        Self::Linear,
        Self::Attention,
        Self::Activation,
        Self::Experts,
        Self::Head,
    ];

    /// Name for people, and for columns of tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Embedding => "embedding",
            Self::NormRope => "norm_rope",
            Self::Linear => "linear",
            Self::Attention => "attention",
            Self::Activation => "activation",
            Self::Experts => "experts",
            Self::Head => "head",
        }
    }
}

/// Costs of the operations of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpCost {
    /// Time of all calls.
    pub time: Duration,
    /// Number of calls.
    pub calls: u64,
    /// Bytes of weights that were read; those of the embedding aren't counted.
    pub weight_bytes: u64,
    /// Bytes of the KV cache and of states that were read, once for each sequence.
    pub cache_bytes: u64,
}

/// Costs of the operations of some steps, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpCosts([OpCost; OpKind::ALL.len()]);

impl OpCosts {
    /// Costs of one kind.
    pub fn of(&self, op: OpKind) -> OpCost {
        self.0[op as usize]
    }

    /// Costs of one kind, to add to.
    pub fn of_mut(&mut self, op: OpKind) -> &mut OpCost {
        &mut self.0[op as usize]
    }

    /// Costs of all kinds together.
    pub fn total(&self) -> OpCost {
        self.0.iter().fold(OpCost::default(), |all, one| OpCost {
            time: all.time + one.time,
            calls: all.calls + one.calls,
            weight_bytes: all.weight_bytes + one.weight_bytes,
            cache_bytes: all.cache_bytes + one.cache_bytes,
        })
    }
}
