//! Attention over a compressed cache (MLA), in its absorbed form.
//!
//! The launches of a layer are [`MlaWrite`], [`MlaProject`] of the queries into the latent space,
//! attention there, and [`MlaProject`] of the results to values. Attention is [`MlaDecode`] for
//! rows that decode and [`MlaPrefill`] for rows of prompts, or [`MlaAttention`] for shapes that
//! these don't support. The cache of a layer is `[blocks, 64, rank + rope]` bf16.

mod attention;
mod decode;
mod prefill;
mod project;
mod write;

pub use attention::MlaAttention;
pub use decode::MlaDecode;
pub use prefill::MlaPrefill;
pub use project::{MlaProject, MlaSide, mla_keys_reference, mla_values_reference};
pub use write::MlaWrite;

use ops::MlaShape;

use crate::{Variant, size};

/// Heads, rank, and the widths of the part that isn't rotated, of the rotated one and of values, as
/// kernels take them.
///
/// # Panics
/// Where a width is zero, or isn't a multiple of its number: 8, or 2 for values.
fn widths(shape: MlaShape, operation: &str) -> [u32; 5] {
    let MlaShape { heads, rank, nope, rope, value } = shape;
    let fits = |width: usize| width > 0 && width.is_multiple_of(8);
    let values_fit = value > 0 && value.is_multiple_of(2);
    assert!(heads > 0 && values_fit && [rank, nope, rope].into_iter().all(fits), "{operation}: {shape:?}");
    [heads, rank, nope, rope, value].map(size)
}

/// Whether [`MlaDecode`] and [`MlaPrefill`] have kernels for these widths: `rank` is a multiple of
/// 64 up to 512, `rope` a multiple of 16 up to 128, and there are at most 65,535 heads.
pub fn supports_mla_tiles(shape: MlaShape) -> bool {
    let MlaShape { heads, rank, rope, .. } = shape;
    rank.is_multiple_of(64) && rank <= 512 && rope.is_multiple_of(16) && rope <= 128 && heads <= 65_535
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
