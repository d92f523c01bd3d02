//! Tile kernel of packed weights with many rows of x: a tile of weight rows is widened into memory,
//! once for all rows of x.

use std::ops::Range;

use half::bf16;

use super::fp8::{Fp8Pairs, WidenedTile};
use super::pairs::Pairs;
use super::plain::Plain;
use super::tile::{DotRows, Tiles};
use crate::cpu::lanes::dots::Dots;
use crate::cpu::packed::{Fp8Blocks, PackedRows};

/// Packed weight, with the type that its rows are widened to and the kernel that multiplies them
/// then. All functions are `#[inline(always)]` in every implementation.
pub(super) trait Widened<L: Dots> {
    type W: Copy;
    const ZERO: Self::W;
    fn widen(&self, lanes: L, row: usize, to: &mut [Self::W]);
    /// Returns the kernel for a widened tile, which begins at the weight's row `first`.
    fn rows<'a>(
        &'a self,
        lanes: L,
        tiles: &'a Tiles<'_>,
        tile: &'a [Self::W],
        first: usize,
    ) -> impl DotRows<L>;
    /// [`DotRows::TWO_SUMS`] of the kernel.
    const TWO_SUMS: bool = false;
}

pub(super) struct WidenedToF32<'a, P>(pub(super) &'a P);
pub(super) struct WidenedToBf16<'a, P>(pub(super) &'a P);
/// FP8 weight whose codes are widened without their factors.
pub(super) struct WidenedCodes<'a>(pub(super) Fp8Blocks<'a>);

impl<L: Dots, P: PackedRows<f32>> Widened<L> for WidenedToF32<'_, P> {
    type W = f32;
    const ZERO: f32 = 0.0;

    #[inline(always)]
    fn widen(&self, lanes: L, row: usize, to: &mut [f32]) {
        self.0.widen(lanes, row, to);
    }

    #[inline(always)]
    fn rows<'a>(&'a self, lanes: L, tiles: &'a Tiles<'_>, tile: &'a [f32], _: usize) -> impl DotRows<L> {
        Plain { lanes, x: tiles.x.x, weight: tile, k: tiles.k }
    }
}

impl<L: Dots, P: PackedRows<bf16>> Widened<L> for WidenedToBf16<'_, P> {
    type W = bf16;
    const ZERO: bf16 = bf16::ZERO;

    #[inline(always)]
    fn widen(&self, lanes: L, row: usize, to: &mut [bf16]) {
        self.0.widen(lanes, row, to);
    }

    #[inline(always)]
    fn rows<'a>(&'a self, lanes: L, tiles: &'a Tiles<'_>, tile: &'a [bf16], _: usize) -> impl DotRows<L> {
        Pairs::new(lanes, tiles, tile)
    }
}

impl<L: Dots> Widened<L> for WidenedCodes<'_> {
    type W = bf16;
    const ZERO: bf16 = bf16::ZERO;
    const TWO_SUMS: bool = true;

    #[inline(always)]
    fn widen(&self, lanes: L, row: usize, to: &mut [bf16]) {
        self.0.widen(lanes, row, to);
    }

    #[inline(always)]
    fn rows<'a>(&'a self, lanes: L, tiles: &'a Tiles<'_>, tile: &'a [bf16], first: usize) -> impl DotRows<L> {
        let x = (tiles.x.pairs, tiles.x.pairs_stride);
        Fp8Pairs { lanes, x, weight: self.0, first, k: tiles.k, codes: WidenedTile { tile, k: tiles.k } }
    }
}

impl Tiles<'_> {
    /// Multiplies the rows `cols` of `weight` with all rows of x. They are widened a tile at a
    /// time, once for all rows of x.
    #[inline(always)]
    pub(super) fn all_widened<L: Dots, W: Widened<L>>(&self, lanes: L, weight: &W, cols: Range<usize>) {
        match (L::WIDE, W::TWO_SUMS) {
            (true, false) => self.widened::<L, W, 4, 6>(lanes, weight, cols),
            // The tile is in a near cache, rows of x aren't.
            (true, true) => self.widened::<L, W, 2, 6>(lanes, weight, cols),
            (false, false) => self.widened::<L, W, 2, 3>(lanes, weight, cols),
            (false, true) => self.widened::<L, W, 2, 1>(lanes, weight, cols),
        }
    }

    #[inline(always)]
    fn widened<L: Dots, W: Widened<L>, const M: usize, const N: usize>(
        &self,
        lanes: L,
        weight: &W,
        cols: Range<usize>,
    ) {
        let mut tile = vec![W::ZERO; N * self.k];
        for col in (0..cols.len()).step_by(N) {
            let count = N.min(cols.len() - col);
            for (i, row) in tile.chunks_exact_mut(self.k).take(count).enumerate() {
                weight.widen(lanes, cols.start + col + i, row);
            }
            let rows = weight.rows(lanes, self, &tile, cols.start + col);
            if count == N {
                self.columns::<L, _, M, N>(&rows, (0, col), 0..self.rows);
                continue;
            }
            for i in 0..count {
                self.columns::<L, _, 1, 1>(&rows, (i, col + i), 0..self.rows);
            }
        }
    }
}
