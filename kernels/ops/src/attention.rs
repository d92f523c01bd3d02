//! Attention over grouped heads.

/// Layout of a row of the qkv projection: `heads` queries, `kv_heads` keys, `kv_heads` values, each
/// `head_dim` wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QkvShape {
    /// Query heads, a multiple of `kv_heads`; `heads / kv_heads` neighbours share a key head.
    pub heads: usize,
    /// Key heads, and value heads.
    pub kv_heads: usize,
    /// Width of a head, even.
    pub head_dim: usize,
}

impl QkvShape {
    /// Number of values in a row.
    pub const fn width(self) -> usize {
        (self.heads + 2 * self.kv_heads) * self.head_dim
    }

    /// Number of values in a row of queries, and of results.
    pub const fn out_width(self) -> usize {
        self.heads * self.head_dim
    }

    /// Number of query heads that share a key head.
    pub const fn group(self) -> usize {
        self.heads / self.kv_heads
    }
}

/// Parameters of a layer's attention.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionSpec<V> {
    /// Heads.
    pub shape: QkvShape,
    /// Factor of scores.
    pub scale: f32,
    /// Number of positions that a token sees, its own included (at least one); `None`: its own and
    /// all before.
    pub window: Option<usize>,
    /// `[heads]`: one more score for each query head, of a key without value.
    pub sinks: Option<V>,
}

impl<V> AttentionSpec<V> {
    /// The same parameters with vectors held in another way.
    pub fn map<U>(self, of: impl FnOnce(V) -> U) -> AttentionSpec<U> {
        let Self { shape, scale, window, sinks } = self;
        AttentionSpec { shape, scale, window, sinks: sinks.map(of) }
    }
}

/// Scaling of queries by their position (Ministral 3): `1 + beta · ln(1 + ⌊position / original⌋)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueryScaling {
    /// Weight of the logarithm.
    pub beta: f32,
    /// Context that the model was trained on, in tokens, at least one; below it the factor is 1.
    pub original: u32,
}

impl QueryScaling {
    /// Factor of the queries of a position.
    #[expect(clippy::cast_precision_loss, reason = "positions are below 2²⁴")]
    pub fn factor(self, position: u32) -> f32 {
        1.0 + self.beta * (1.0 + (position / self.original) as f32).ln()
    }
}
