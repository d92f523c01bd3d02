//! What models and devices say to each other: the parameters of operations, in no device's types.

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
    /// Positions that a token sees, its own among them; none: all before it.
    pub window: Option<usize>,
    /// `[heads]`: one more score for each query head, of a key without value.
    pub sinks: Option<&'a V>,
}

impl<V> AttentionSpec<'_, V> {
    /// Values of a row of qkv.
    pub fn qkv_width(&self) -> usize {
        (self.heads + 2 * self.kv_heads) * self.head_dim
    }

    /// Values of a row of the result.
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

/// A norm by the root of the mean square.
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

/// What a linear layer reads.
#[derive(Debug)]
pub enum LayerInput<'a, T, V> {
    /// These.
    Plain(&'a T),
    /// The norm of these. Devices that don't take it on the way keep it in `normed`, which nobody may read behind that.
    Normed {
        /// What the norm is of.
        x: &'a T,
        /// The norm.
        norm: Norm<'a, V>,
        /// Room for it, as wide as `x`.
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

/// What activations are for: devices may keep those of different roles in different numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorRole {
    /// Sums that norms, routers or further sums read, such as the residual stream: f32 everywhere.
    Sums,
    /// What linear layers and attention read, and what they make for each other: perhaps in fewer bits.
    Inputs,
}

/// What becomes of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// They replace the output.
    Overwrite,
    /// They are added to it (a residual connection).
    Accumulate,
}

/// Attention over a compressed cache (MLA). A row of its queries has of each head `nope` values that aren't rotated, then `rope` that are;
/// a row of the cache has `rank` values for all heads, then a key of `rope` that is rotated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MlaSpec {
    /// Query heads.
    pub heads: usize,
    /// Width of the compressed row.
    pub rank: usize,
    /// Width of a head's part that isn't rotated.
    pub nope: usize,
    /// Width of a head's part that is rotated, even; neighbours are rotated together.
    pub rope: usize,
    /// Width of a head's value.
    pub value: usize,
    /// Factor of scores.
    pub scale: f32,
}

impl MlaSpec {
    /// Values of a row of queries.
    pub fn query_width(&self) -> usize {
        self.heads * (self.nope + self.rope)
    }

    /// Values of a row of the cache.
    pub fn cached_width(&self) -> usize {
        self.rank + self.rope
    }

    /// Values of a row of the result.
    pub fn out_width(&self) -> usize {
        self.heads * self.value
    }
}

/// What a router chooses from.
#[derive(Debug)]
pub struct Routing<'a, V> {
    /// Experts.
    pub experts: usize,
    /// Experts of a token.
    pub per_token: usize,
    /// How scores become a choice and weights.
    pub scoring: Scoring,
    /// `[experts]`: added to what the choice is made by, and not to weights.
    pub correction: Option<&'a V>,
}

/// How scores of all experts become a choice and weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scoring {
    /// Softmax over all; the greatest are chosen (Qwen3).
    Softmax {
        /// Weights are divided by their sum.
        normalize: bool,
    },
    /// The greatest are chosen; softmax over those (gpt-oss).
    SoftmaxOfChosen,
    /// Sigmoid of each; groups of neighbours with the greatest sums of two are left, and the greatest of those are chosen
    /// (DeepSeek-V3).
    Sigmoid {
        /// Groups of experts; divides their number.
        groups: usize,
        /// Groups that are left.
        top_groups: usize,
        /// Weights are divided by their sum.
        normalize: bool,
        /// Factor of weights.
        scale: f32,
    },
}

/// What comes between an expert's two linear layers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExpertActivation {
    /// `silu(gate) * up`; all rows of gate, then all of up.
    SwiGlu,
    /// `(up + 1) * gate * sigmoid(alpha * gate)` with `gate ≤ limit` and `-limit ≤ up ≤ limit`; rows of gate and up are interleaved.
    ClampedSwiGlu {
        /// Factor within the sigmoid.
        alpha: f32,
        /// Bound of gate and up.
        limit: f32,
    },
}
