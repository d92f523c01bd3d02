//! Weights of less than sixteen bits, as checkpoints store them: codes, and factors that several codes share. An operation widens
//! them a row at a time; nothing is kept widened.

mod fp8;
mod mxfp4;

pub use fp8::Fp8Blocks;
pub use mxfp4::Mxfp4;
pub(super) use mxfp4::power_of_two;

use super::lanes::Lanes;

/// A matrix whose rows are widened before they are used.
pub(super) trait PackedRows {
    /// Row `row`, as f32. `#[inline(always)]` in every implementation.
    fn widen<L: Lanes>(&self, lanes: L, row: usize, to: &mut [f32]);
}
