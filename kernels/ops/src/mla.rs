//! Attention over a compressed cache.

/// Widths of attention over a compressed cache (MLA of DeepSeek-V2, arXiv:2405.04434, section 2.1).
/// A row of queries has for each head `nope` values that aren't rotated, then `rope` rotated ones.
/// A row of the cache has `rank` values for all heads, then a rotated key of `rope` values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MlaShape {
    /// Query heads.
    pub heads: usize,
    /// Width of the compressed (latent) row.
    pub rank: usize,
    /// Width of the part of a query and key that isn't rotated.
    pub nope: usize,
    /// Width of the part that is rotated, even; neighbouring values are rotated as pairs.
    pub rope: usize,
    /// Width of a value.
    pub value: usize,
}

impl MlaShape {
    /// Number of values in a row of queries.
    pub const fn query_width(self) -> usize {
        self.heads * (self.nope + self.rope)
    }

    /// Number of values in a row of the cache.
    pub const fn cached_width(self) -> usize {
        self.rank + self.rope
    }

    /// Number of values in a row of the result.
    pub const fn out_width(self) -> usize {
        self.heads * self.value
    }
}
