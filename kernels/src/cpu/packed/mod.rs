//! Weights of less than sixteen bits, as checkpoints store them: codes, and factors that several
//! codes share. An operation widens them a row at a time; nothing is kept widened.

mod blocks;
mod fp8;
mod mxfp4;

pub use blocks::FileBlocks;
pub use fp8::Fp8Blocks;
pub use mxfp4::Mxfp4;
pub(super) use mxfp4::power_of_two;

use super::lanes::dots::Dots;

/// Matrix whose rows are widened to `W` before they are used.
pub(super) trait PackedRows<W> {
    /// Widens row `row`. `#[inline(always)]` in every implementation.
    fn widen<L: Dots>(&self, lanes: L, row: usize, to: &mut [W]);
}
