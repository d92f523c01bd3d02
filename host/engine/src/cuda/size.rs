//! Sizes of models as kernels take them.

use cuda_kernels::MlaShape;

use crate::models::ops::MlaSpec;

/// Converts a size to the type that kernels take.
pub(super) fn size(size: usize) -> u32 {
    u32::try_from(size).expect("sizes of models are below 2³²")
}

/// Sizes of attention over a compressed cache.
pub(super) fn mla_shape(spec: MlaSpec) -> MlaShape {
    let MlaSpec { heads, rank, nope, rope, value, .. } = spec;
    MlaShape { heads: size(heads), rank: size(rank), nope: size(nope), rope: size(rope), value: size(value) }
}
