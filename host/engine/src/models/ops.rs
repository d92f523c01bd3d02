//! Parameters of operations, in types that models and all devices share.

pub use super::rope::{Llama3Scaling, RopeScaling, RopeSpec, YarnScaling};

/// How a layer attends. A row of its qkv projection has `heads` queries, `kv_heads` keys and `kv_heads` values of `head_dim` each.
#[derive(Debug)]
pub struct AttentionSpec<'a, V> {
    /// Query heads, a multiple of `kv_heads`; `heads / kv_heads` neighbours share a key head.
    pub heads: usize,
    /// Key and value heads.
    pub kv_heads: usize,
    /// Width of a head, even.
    pub head_dim: usize,
    /// Factor of scores.
    pub scale: f32,
    /// Number of positions that a token sees, its own included; `None`: its own and all before.
    pub window: Option<usize>,
    /// `[heads]`: one more score for each query head, of a key without value.
    pub sinks: Option<&'a V>,
}

impl<V> AttentionSpec<'_, V> {
    /// Number of values in a row of qkv.
    pub fn qkv_width(&self) -> usize {
        (self.heads + 2 * self.kv_heads) * self.head_dim
    }

    /// Number of values in a row of the result.
    pub fn out_width(&self) -> usize {
        self.heads * self.head_dim
    }
}

impl<V> Clone for AttentionSpec<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for AttentionSpec<'_, V> {}

/// RMS norm: divides by the root of the mean square.
#[derive(Debug)]
pub struct Norm<'a, V> {
    /// Factor of each value.
    pub weight: &'a V,
    /// Added to the mean square.
    pub eps: f32,
}

impl<V> Clone for Norm<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Norm<'_, V> {}

/// Input of a linear layer.
#[derive(Debug)]
pub enum LayerInput<'a, T, V> {
    /// A tensor as it is.
    Plain(&'a T),
    /// The norm of a tensor. Devices that don't compute it within the layer keep it in `normed`, which is undefined afterwards.
    Normed {
        /// Tensor to normalise.
        x: &'a T,
        /// The norm.
        norm: Norm<'a, V>,
        /// Buffer for the norm, as wide as `x`.
        normed: &'a mut T,
    },
}

/// Norms of query and key heads.
#[derive(Debug)]
pub struct HeadNorms<'a, V> {
    /// `[head_dim]`, for queries.
    pub q: &'a V,
    /// `[head_dim]`, for keys.
    pub k: &'a V,
    /// Added to the mean square.
    pub eps: f32,
}

/// Role of activations: devices may keep different roles in different number types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorRole {
    /// Sums that norms, routers or further sums read, such as the residual stream: f32 everywhere.
    Sums,
    /// Inputs of linear layers and attention, and results that only these read: perhaps in fewer bits.
    Inputs,
}

/// Where an operation's results go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// Results replace the output.
    Overwrite,
    /// Results are added to the output (a residual connection).
    Accumulate,
}

/// Attention over a compressed cache (MLA). A row of queries has for each head `nope` values that aren't rotated, then `rope` rotated ones.
/// A row of the cache has `rank` values for all heads, then a rotated key of `rope` values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MlaSpec {
    /// Query heads.
    pub heads: usize,
    /// Width of the compressed row.
    pub rank: usize,
    /// Width of a head's part that isn't rotated.
    pub nope: usize,
    /// Width of a head's part that is rotated, even; neighbouring values are rotated as pairs.
    pub rope: usize,
    /// Width of a head's value.
    pub value: usize,
    /// Factor of scores.
    pub scale: f32,
}

impl MlaSpec {
    /// Number of values in a row of queries.
    pub fn query_width(&self) -> usize {
        self.heads * (self.nope + self.rope)
    }

    /// Number of values in a row of the cache.
    pub fn cached_width(&self) -> usize {
        self.rank + self.rope
    }

    /// Number of values in a row of the result.
    pub fn out_width(&self) -> usize {
        self.heads * self.value
    }
}

/// Parameters of a router's choice.
#[derive(Debug)]
pub struct Routing<'a, V> {
    /// Number of experts.
    pub experts: usize,
    /// Number of experts chosen for each token.
    pub per_token: usize,
    /// How scores become a choice and weights.
    pub scoring: Scoring,
    /// `[experts]`: added to the scores for the choice, and not for the weights.
    pub correction: Option<&'a V>,
}

/// How scores of all experts become a choice and weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scoring {
    /// Softmax over all scores; the greatest are chosen (Qwen3).
    Softmax {
        /// Whether weights are divided by their sum.
        normalize: bool,
    },
    /// The greatest scores are chosen; softmax over those (gpt-oss).
    SoftmaxOfChosen,
    /// Sigmoid of each score. Groups of neighbouring experts with the greatest sums of their best two scores are kept, and the greatest
    /// scores in these groups are chosen (DeepSeek-V3).
    Sigmoid {
        /// Number of groups; divides the number of experts.
        groups: usize,
        /// Number of groups that are kept.
        top_groups: usize,
        /// Whether weights are divided by their sum.
        normalize: bool,
        /// Factor of weights.
        scale: f32,
    },
}

/// Activation between an expert's two linear layers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExpertActivation {
    /// `silu(gate) * up`; the weight has all rows of gate, then all rows of up.
    SwiGlu,
    /// `(up + 1) * gate * sigmoid(alpha * gate)` with `gate ≤ limit` and `-limit ≤ up ≤ limit`; the weight's rows of gate and up alternate.
    ClampedSwiGlu {
        /// Factor within the sigmoid.
        alpha: f32,
        /// Bound of gate and up.
        limit: f32,
    },
}
