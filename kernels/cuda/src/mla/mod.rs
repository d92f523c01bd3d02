//! Attention over a compressed cache (MLA), in its absorbed form.
//!
//! The launches of a layer are [`MlaWrite`], [`MlaProject`] of the queries into the latent space, attention there, and [`MlaProject`] of the
//! results to values. Attention is [`MlaDecode`] for rows that decode and [`MlaPrefill`] for rows of prompts, or [`MlaAttention`] for shapes that
//! these don't support. The cache of a layer is `[blocks, 64, rank + rope]` bf16.

mod attention;
mod decode;
mod prefill;
mod project;
mod write;

pub use attention::{MlaAttention, mla_attention_reference};
pub use decode::MlaDecode;
pub use prefill::MlaPrefill;
pub use project::{MlaProject, MlaSide, mla_keys_reference, mla_values_reference};
pub use write::{MlaWrite, interleaved_rope_reference};

use crate::Variant;

/// Widths of an MLA layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MlaShape {
    /// Query heads.
    pub heads: u32,
    /// Width of the latent row, a multiple of 8.
    pub rank: u32,
    /// Width of the part of a query and key that isn't rotated, a multiple of 8.
    pub nope: u32,
    /// Width of the part that is rotated, a multiple of 8.
    pub rope: u32,
    /// Width of a value, even.
    pub value: u32,
}

impl MlaShape {
    /// Whether [`MlaDecode`] and [`MlaPrefill`] have kernels for these widths: `rank` is a multiple of 64 up to 512, `rope` a multiple of 16 up
    /// to 128, and there are at most 65,535 heads.
    pub fn supports_tiles(self) -> bool {
        let Self { heads, rank, rope, .. } = self;
        rank.is_multiple_of(64) && rank <= 512 && rope.is_multiple_of(16) && rope <= 128 && heads <= 65_535
    }

    /// # Panics
    /// Where a width is zero or isn't a multiple of its number.
    fn check(self, operation: &str) {
        let Self { heads, rank, nope, rope, value } = self;
        let fits = |width: u32| width > 0 && width.is_multiple_of(8);
        let values_fit = value > 0 && value.is_multiple_of(2);
        assert!(heads > 0 && values_fit && [rank, nope, rope].into_iter().all(fits), "{operation}: {self:?}");
    }
}

pub(crate) fn variants() -> Vec<Variant> {
    let all = [
        MlaWrite::variants(),
        MlaProject::variants(),
        MlaAttention::variants(),
        MlaDecode::variants(),
        MlaPrefill::variants(),
    ];
    all.into_iter().flatten().collect()
}
