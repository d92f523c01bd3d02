//! What models and devices say to each other: the parameters of operations, in no device's types.

pub use super::rope::{RopeSpec, YarnScaling};

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

/// What becomes of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// They replace the output.
    Overwrite,
    /// They are added to it (a residual connection).
    Accumulate,
}
