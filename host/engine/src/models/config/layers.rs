//! What layers are made of, in all families.

use super::LayerCache;
use crate::models::ops::{ExpertActivation, MlaSpec, Scoring};

/// Attention of a model's layers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AttentionConfig {
    /// Query heads in groups that share a key and a value head.
    Grouped(GroupedConfig),
    /// All heads share a compressed row (MLA).
    Latent(LatentConfig),
}

/// Sizes of grouped attention, and what it has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupedConfig {
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; divides `heads`.
    pub kv_heads: usize,
    /// Width of a head; even.
    pub head_dim: usize,
    /// q, k, v and o have biases.
    pub bias: bool,
    /// Query and key heads have norms.
    pub head_norms: bool,
    /// Each head has one more score, of a key without value.
    pub sinks: bool,
}

/// Sizes of attention over a compressed cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatentConfig {
    /// Query heads.
    pub heads: usize,
    /// Width that queries are made of, where not of the residual stream.
    pub query_rank: Option<usize>,
    /// Width of the compressed row.
    pub rank: usize,
    /// Width of a head's part that isn't rotated.
    pub nope: usize,
    /// Width of a head's part that is rotated; even.
    pub rope: usize,
    /// Width of a head's value.
    pub value: usize,
    /// Factor of scores.
    pub scale: f32,
}

impl LatentConfig {
    /// What operations are told of it.
    pub fn spec(&self) -> MlaSpec {
        let Self { heads, rank, nope, rope, value, scale, .. } = *self;
        MlaSpec { heads, rank, nope, rope, value, scale }
    }
}

/// What one layer has that others may not have.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerConfig {
    /// Positions that a token sees, its own among them; none: all before it.
    pub window: Option<usize>,
    /// Its feed-forward part.
    pub mlp: MlpConfig,
}

/// The feed-forward part of a layer.
#[derive(Debug, Clone, PartialEq)]
pub enum MlpConfig {
    /// `SwiGLU`.
    Gated {
        /// Its width.
        intermediate: usize,
    },
    /// A mixture of experts.
    Experts(ExpertsConfig),
}

/// A mixture of experts.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpertsConfig {
    /// Experts.
    pub experts: usize,
    /// Experts of a token; at most `experts`.
    pub per_token: usize,
    /// Width of an expert.
    pub intermediate: usize,
    /// How the router's scores become a choice and weights.
    pub scoring: Scoring,
    /// Between an expert's linear layers.
    pub activation: ExpertActivation,
    /// How tensors are named and laid out.
    pub layout: ExpertLayout,
    /// Width of the expert that every token goes to beside the chosen ones.
    pub shared: Option<usize>,
}

/// How a checkpoint has its experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpertLayout {
    /// Three tensors for each expert, no biases; the router is `gate`.
    Separate {
        /// The router has a correction of its choice.
        correction: bool,
    },
    /// One tensor for gates and ups of all experts, which are interleaved, and one back, with biases; the router is `router`.
    Packed,
}

impl AttentionConfig {
    /// What a layer with this window keeps of a token.
    pub(super) fn cache(&self, window: Option<usize>) -> LayerCache {
        match (*self, window) {
            (Self::Latent(LatentConfig { rank, rope, .. }), _) => LayerCache::Latent { width: rank + rope },
            (Self::Grouped(GroupedConfig { kv_heads, head_dim, .. }), None) => {
                LayerCache::Full { kv_heads, head_dim }
            }
            (Self::Grouped(GroupedConfig { kv_heads, head_dim, .. }), Some(window)) => {
                LayerCache::Window { kv_heads, head_dim, window }
            }
        }
    }
}
