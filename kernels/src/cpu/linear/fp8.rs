//! Tile kernel of FP8 weights with x in bf16: codes, which bf16 represents exactly, are multiplied
//! without their factors, and a block's sum is scaled.
//!
//! With few rows of x codes are widened in registers, since hardly another tile of rows would read
//! them again; with many, a tile is widened into memory. The sums are the same, bit for bit.

use half::bf16;

use super::chunk::chunk;
use super::tile::DotRows;
use crate::cpu::lanes::dots::{Dots, PAIRS};
use crate::cpu::lanes::{Pass, Prefetch, sums_of_tile};
use crate::cpu::packed::Fp8Blocks;

/// Rows of x with their stride, and the rows of a weight from `first` on, `k` elements long.
pub(super) struct Fp8Pairs<'a, L, C> {
    pub(super) lanes: L,
    pub(super) x: (&'a [bf16], usize),
    pub(super) weight: Fp8Blocks<'a>,
    pub(super) first: usize,
    pub(super) k: usize,
    pub(super) codes: C,
}

/// Source of codes, 32 neighbours at a time. `#[inline(always)]` in every implementation.
pub(super) trait CodeRows<L: Dots> {
    /// 32 neighbours of a row, as the source holds them.
    type Line;
    /// Whether the codes come from memory that wasn't read before, so that they are prefetched.
    const FETCHED: bool;
    /// Returns row `row` of the weight, which is column `col` of the tile.
    fn row(&self, row: usize, col: usize) -> &[Self::Line];
    fn pairs(lanes: L, line: &Self::Line) -> L::Pairs;
}

/// Codes as the weight stores them.
pub(super) struct StoredCodes<'a>(pub(super) Fp8Blocks<'a>);

impl<L: Dots> CodeRows<L> for StoredCodes<'_> {
    type Line = [u8; PAIRS];
    const FETCHED: bool = true;

    #[inline(always)]
    fn row(&self, row: usize, _: usize) -> &[Self::Line] {
        self.0.row(row).0.as_chunks().0
    }

    #[inline(always)]
    fn pairs(lanes: L, line: &Self::Line) -> L::Pairs {
        lanes.pairs_of_e4m3(line)
    }
}

/// Codes of a tile that were widened to bf16, row after row.
pub(super) struct WidenedTile<'a> {
    pub(super) tile: &'a [bf16],
    pub(super) k: usize,
}

impl<L: Dots> CodeRows<L> for WidenedTile<'_> {
    type Line = [bf16; PAIRS];
    const FETCHED: bool = false;

    #[inline(always)]
    fn row(&self, _: usize, col: usize) -> &[Self::Line] {
        self.tile[col * self.k..][..self.k].as_chunks().0
    }

    #[inline(always)]
    fn pairs(lanes: L, line: &Self::Line) -> L::Pairs {
        lanes.load_pairs(line)
    }
}

impl<L: Dots, C: CodeRows<L>> DotRows<L> for Fp8Pairs<'_, L, C> {
    const ONE_BY_ONE: bool = false;
    const TWO_SUMS: bool = true;

    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "m and n index several arrays of registers")]
    #[expect(
        unsafe_code,
        reason = "the innermost loop: no bounds checks on loads that the assertion has checked"
    )]
    fn sums<const M: usize, const N: usize>(&self, row: usize, col: usize, pass: Pass) -> [[f32; N]; M] {
        let (lanes, stride) = (self.lanes, self.x.1);
        let x = &self.x.0[row * stride..];
        let whole = self.k / PAIRS;
        assert!(self.k <= stride && x.len() >= M * stride, "rows of a tile");
        let mut codes = [&[][..]; N];
        let mut scales = [&[][..]; N];
        for n in 0..N {
            codes[n] = &self.codes.row(self.first + col + n, col + n)[..whole];
            scales[n] = self.weight.row(self.first + col + n).1;
        }
        let last = codes[N - 1];
        let mut next = Prefetch::none();
        if C::FETCHED {
            next = Prefetch::behind(last, N * size_of_val(last), pass, whole);
        }
        let per_block = self.weight.block_cols() / PAIRS;
        let mut sums = [[lanes.splat(0.0); N]; M];
        for block in 0..whole.div_ceil(per_block) {
            let mut unscaled = [[lanes.splat(0.0); N]; M];
            for line in block * per_block..((block + 1) * per_block).min(whole) {
                next.step();
                let mut xs = [lanes.no_pairs(); M];
                for m in 0..M {
                    // SAFETY: row m < M of x ends at or before M * stride, and a line is within the
                    // row's k elements.
                    xs[m] = lanes.load_pairs(unsafe { chunk(x, m * stride + line * PAIRS) });
                }
                for n in 0..N {
                    let weight = C::pairs(lanes, &codes[n][line]);
                    for m in 0..M {
                        unscaled[m][n] = lanes.dot_pairs(xs[m], weight, unscaled[m][n]);
                    }
                }
            }
            for n in 0..N {
                let scale = lanes.splat(scales[n][block]);
                for m in 0..M {
                    sums[m][n] = lanes.fma(unscaled[m][n], scale, sums[m][n]);
                }
            }
        }
        sums_of_tile(lanes, &sums)
    }
}
