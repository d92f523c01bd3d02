//! Configuration of layers, for all families.

use super::LayerCache;
use crate::models::ops::{ExpertActivation, MlaShape, QkvShape, Scoring};

/// Attention of a model's layers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AttentionConfig {
    /// Query heads in groups that share a key and a value head.
    Grouped(GroupedConfig),
    /// All heads share a compressed row (MLA).
    Latent(LatentConfig),
}

/// Sizes and optional parts of grouped-query attention.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupedConfig {
    /// Heads.
    pub shape: QkvShape,
    /// Whether q, k, v and o have biases.
    pub bias: bool,
    /// Whether query and key heads have norms.
    pub head_norms: bool,
    /// Whether each head has a sink: one more score, of a key without value.
    pub sinks: bool,
}

/// Sizes of attention over a compressed cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatentConfig {
    /// Heads and widths.
    pub shape: MlaShape,
    /// Width of the narrow row that queries are projected from; `None`: they are projected from the
    /// residual stream.
    pub query_rank: Option<usize>,
    /// Factor of scores.
    pub scale: f32,
}

/// Configuration of one layer, for what differs between layers.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerConfig {
    /// Number of positions that a token sees, its own included; `None`: its own and all before.
    pub window: Option<usize>,
    /// Feed-forward part.
    pub mlp: MlpConfig,
}

/// The feed-forward part of a layer.
#[derive(Debug, Clone, PartialEq)]
pub enum MlpConfig {
    /// `SwiGLU`.
    Gated {
        /// Width between the projections.
        intermediate: usize,
    },
    /// A mixture of experts.
    Experts(ExpertsConfig),
}

/// A mixture of experts.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpertsConfig {
    /// Number of experts.
    pub experts: usize,
    /// Number of experts chosen for each token; at most `experts`.
    pub per_token: usize,
    /// Width of an expert.
    pub intermediate: usize,
    /// How the router's scores become a choice and weights.
    pub scoring: Scoring,
    /// Activation between an expert's linear layers.
    pub activation: ExpertActivation,
    /// How tensors are named and laid out.
    pub layout: ExpertLayout,
    /// Width of the shared expert, which every token goes to beside the chosen ones; `None`: there
    /// is none.
    pub shared: Option<usize>,
}

/// Layout of experts in a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpertLayout {
    /// Three tensors for each expert, no biases; the router is `gate`.
    Separate {
        /// Whether the router has a correction, which is added to the scores for the choice.
        correction: bool,
    },
    /// One tensor for gate and up of all experts, whose rows alternate, and one for down of all,
    /// with biases; the router is `router`.
    Packed,
}

impl AttentionConfig {
    /// What a layer with this window keeps in the KV cache.
    pub(super) fn cache(&self, window: Option<usize>) -> LayerCache {
        match (*self, window) {
            (Self::Latent(LatentConfig { shape, .. }), _) => {
                LayerCache::Latent { width: shape.cached_width() }
            }
            (Self::Grouped(GroupedConfig { shape: QkvShape { kv_heads, head_dim, .. }, .. }), window) => {
                match window {
                    None => LayerCache::Full { kv_heads, head_dim },
                    Some(window) => LayerCache::Window { kv_heads, head_dim, window },
                }
            }
        }
    }
}
