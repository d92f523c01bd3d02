//! Attention over a compressed cache (MLA of DeepSeek-V2, arXiv:2405.04434, section 2.1): a token has one latent row and one rotated
//! key in the cache, for all heads. The projection that would make keys and values of the latent row is applied to queries and results
//! instead (the absorbed form), so that a cached row is read once for all heads.

mod attention;
mod write;

pub use attention::{MlaScratch, MlaWeights, mla_attention};
pub use write::mla_write;

/// Sizes of an MLA layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MlaShape {
    /// Number of query heads.
    pub heads: usize,
    /// Width of the latent row.
    pub rank: usize,
    /// Width of the part of a query and key that isn't rotated.
    pub nope: usize,
    /// Width of the part that is rotated; even.
    pub rope: usize,
    /// Width of a value.
    pub value: usize,
}

impl MlaShape {
    /// Width of a token's queries: of each head, the part that isn't rotated, then the one that is.
    pub fn query_width(&self) -> usize {
        self.heads * (self.nope + self.rope)
    }

    /// Width of a cached row: the latent row, then the rotated key.
    pub fn cached_width(&self) -> usize {
        self.rank + self.rope
    }
}
