//! Configuration of layers, for all families.

use super::LayerCache;
use crate::models::ops::{
    DeltaShape, ExpertActivation, GateActivation, MlaShape, QkvShape, RopeSpec, Scoring, ShortConvShape,
};

/// The part of a layer that mixes tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AttentionConfig {
    /// Query heads in groups that share a key and a value head.
    Grouped(GroupedConfig),
    /// All heads share a compressed row (MLA).
    Latent(LatentConfig),
    /// Each head keeps a state of fixed size instead of keys and values (gated delta rule).
    Delta(DeltaShape),
    /// Each channel keeps its last inputs instead (short gated convolution).
    ShortConv(ShortConvConfig),
}

/// A short gated convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortConvConfig {
    /// Channels, and tokens that the convolution sees.
    pub shape: ShortConvShape,
    /// Whether the convolution and both projections have biases.
    pub bias: bool,
}

/// State of fixed size that a layer keeps of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateShape {
    /// Of the gated delta rule.
    Delta(DeltaShape),
    /// Of a short gated convolution.
    ShortConv(ShortConvShape),
}

/// Sizes and optional parts of grouped-query attention.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "optional parts, each by itself")]
pub struct GroupedConfig {
    /// Heads.
    pub shape: QkvShape,
    /// Factor of scores.
    pub scale: f32,
    /// Which projections have biases.
    pub bias: AttentionBias,
    /// How the projections of queries, keys and values are stored.
    pub layout: ProjectionLayout,
    /// Whether query and key heads have norms.
    pub head_norms: bool,
    /// Whether value heads have norms, without weights.
    pub value_norms: bool,
    /// Whether each head has a sink: one more score, of a key without value.
    pub sinks: bool,
    /// Whether the result has a norm before it is added to the residual stream.
    pub post_norm: bool,
}

/// Which projections of attention have biases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttentionBias {
    /// None.
    None,
    /// Those of queries, keys and values.
    Qkv,
    /// Those, and the output projection.
    All,
}

/// How projections of one input are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectionLayout {
    /// A tensor for each.
    Separate,
    /// One tensor, in which they follow each other.
    Fused,
    /// A tensor for each; that of the queries has for each head its query, then its output gate,
    /// by whose sigmoid the head's result is multiplied.
    WithGates,
    /// One for the queries and one for the keys, which is that of the values, too.
    KeysAsValues,
    /// One for the queries.
    Queries {
        /// Layer before this one whose keys and values are read.
        keys_of: usize,
    },
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

/// Configuration of one layer.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerConfig {
    /// Attention.
    pub attention: AttentionConfig,
    /// Rotary embedding of queries and keys.
    pub rope: RopeSpec,
    /// Number of positions that a token sees, its own included; `None`: its own and all before.
    pub window: Option<usize>,
    /// Feed-forward part.
    pub mlp: MlpConfig,
}

/// The feed-forward part of a layer.
#[derive(Debug, Clone, PartialEq)]
pub enum MlpConfig {
    /// Dense.
    Gated(GatedConfig),
    /// A mixture of experts.
    Experts(ExpertsConfig),
    /// Both beside each other, each with norms of its own.
    Both(GatedConfig, ExpertsConfig),
}

/// A dense feed-forward part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatedConfig {
    /// Width between the projections.
    pub intermediate: usize,
    /// Activation of the gate.
    pub activation: GateActivation,
    /// How the projections are stored.
    pub layout: GatedLayout,
    /// Whether the result has a norm before it is added to the residual stream.
    pub post_norm: bool,
}

/// How projections of a dense feed-forward part are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatedLayout {
    /// A tensor for each.
    Separate,
    /// One tensor for gate and up, which follow each other (Phi).
    Fused,
    /// The same as the expert that all tokens go to, in models that may have others (Granite).
    SharedExpert,
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
    /// The shared expert, which every token goes to beside the chosen ones; `None`: there is none.
    pub shared: Option<SharedExpert>,
}

/// An expert that every token goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedExpert {
    /// Its width.
    pub intermediate: usize,
    /// Whether its result is multiplied by the sigmoid of a gate.
    pub gated: bool,
}

/// Layout of experts in a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpertLayout {
    /// Three tensors for each expert, or one for gate and up of all experts, which follow each
    /// other, and one for down of all; no biases. The router is `gate`.
    Separate {
        /// Whether the router has a correction, which is added to the scores for the choice.
        correction: bool,
    },
    /// One tensor for gate and up of all experts, whose rows alternate, and one for down of all,
    /// with biases; the router is `router`.
    Packed,
}

impl LayerConfig {
    /// Whether a part's result has a norm before it is added to the residual stream.
    pub(in crate::models) fn has_post_norm(&self) -> bool {
        self.attention.has_post_norm() || self.mlp.gated().is_some_and(|mlp| mlp.post_norm)
    }
}

impl MlpConfig {
    /// The dense part.
    pub(in crate::models) fn gated(&self) -> Option<&GatedConfig> {
        match self {
            Self::Gated(config) | Self::Both(config, _) => Some(config),
            Self::Experts(_) => None,
        }
    }

    /// The mixture of experts.
    pub(in crate::models) fn experts(&self) -> Option<&ExpertsConfig> {
        match self {
            Self::Experts(config) | Self::Both(_, config) => Some(config),
            Self::Gated(_) => None,
        }
    }

    /// `SwiGLU` of this width, as most families have it.
    pub fn swiglu(intermediate: usize) -> Self {
        Self::Gated(GatedConfig::swiglu(intermediate))
    }
}

impl GatedConfig {
    /// `SwiGLU` of this width, with a tensor for each projection.
    pub fn swiglu(intermediate: usize) -> Self {
        let (activation, layout) = (GateActivation::Silu, GatedLayout::Separate);
        Self { intermediate, activation, layout, post_norm: false }
    }
}

impl AttentionConfig {
    /// Whether the result has a norm before it is added to the residual stream.
    pub(in crate::models) fn has_post_norm(&self) -> bool {
        matches!(self, Self::Grouped(attention) if attention.post_norm)
    }

    /// What a layer with this window keeps in the KV cache; `None` for one that keeps a state
    /// instead, or reads what another layer keeps.
    pub(super) fn cache(&self, window: Option<usize>) -> Option<LayerCache> {
        match (*self, window) {
            (
                Self::Delta(_)
                | Self::ShortConv(_)
                | Self::Grouped(GroupedConfig { layout: ProjectionLayout::Queries { .. }, .. }),
                _,
            ) => None,
            (Self::Latent(LatentConfig { shape, .. }), _) => {
                Some(LayerCache::Latent { width: shape.cached_width() })
            }
            (Self::Grouped(GroupedConfig { shape: QkvShape { kv_heads, head_dim, .. }, .. }), window) => {
                Some(match window {
                    None => LayerCache::Full { kv_heads, head_dim },
                    Some(window) => LayerCache::Window { kv_heads, head_dim, window },
                })
            }
        }
    }

    /// The state that a layer keeps instead; `None` for one that has a KV cache.
    pub(in crate::models) fn state(&self) -> Option<StateShape> {
        match *self {
            Self::Delta(shape) => Some(StateShape::Delta(shape)),
            Self::ShortConv(config) => Some(StateShape::ShortConv(config.shape)),
            Self::Grouped(_) | Self::Latent(_) => None,
        }
    }
}
