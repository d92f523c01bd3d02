//! Tile kernel of MXFP4 weights with few rows of x in bf16: weights are widened in registers, since
//! hardly another tile of rows would read them again. Rows of codes are too short for the processor
//! to prefetch the next tile's by itself, so the kernel does. The sums are those of
//! [`Pairs`](super::pairs::Pairs) with widened weights, bit for bit.

use half::bf16;
use ops::MXFP4_BLOCK;

use super::chunk::chunk;
use super::tile::DotRows;
use crate::cpu::lanes::dots::Dots;
use crate::cpu::lanes::{Pass, Prefetch, sums_of_tile};
use crate::cpu::packed::Mxfp4;

/// Rows of x with their stride, and the rows of a weight from `first` on, `k` elements long.
pub(super) struct FewMxfp4<'a, L> {
    pub(super) lanes: L,
    pub(super) x: (&'a [bf16], usize),
    pub(super) weight: Mxfp4<'a>,
    pub(super) first: usize,
    pub(super) k: usize,
}

impl<L: Dots> DotRows<L> for FewMxfp4<'_, L> {
    const ONE_BY_ONE: bool = false;

    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "m and n index several arrays of registers")]
    #[expect(
        unsafe_code,
        reason = "the innermost loop: no bounds checks on loads that the assertion has checked"
    )]
    fn sums<const M: usize, const N: usize>(&self, row: usize, col: usize, pass: Pass) -> [[f32; N]; M] {
        let (lanes, stride) = (self.lanes, self.x.1);
        let x = &self.x.0[row * stride..];
        assert!(self.k <= stride && x.len() >= M * stride, "rows of a tile");
        let blocks = self.k / MXFP4_BLOCK;
        let mut weights = [(&[[0; MXFP4_BLOCK / 2]][..0], &[][..]); N];
        for n in 0..N {
            let (codes, scales) = self.weight.row(self.first + col + n);
            weights[n] = (&codes.as_chunks().0[..blocks], &scales[..blocks]);
        }
        let last = weights[N - 1].0;
        let mut next = Prefetch::behind(last, N * size_of_val(last), pass, blocks);
        let mut sums = [[lanes.splat(0.0); N]; M];
        for block in 0..blocks {
            next.step();
            let mut xs = [lanes.no_pairs(); M];
            for m in 0..M {
                // SAFETY: row m < M of x ends at or before M * stride, and a block is within the
                // row.
                xs[m] = lanes.load_pairs(unsafe { chunk(x, m * stride + block * MXFP4_BLOCK) });
            }
            for n in 0..N {
                let (codes, scales) = weights[n];
                let weight = Mxfp4::pairs_of_block(lanes, &codes[block], scales[block]);
                for m in 0..M {
                    sums[m][n] = lanes.dot_pairs(xs[m], weight, sums[m][n]);
                }
            }
        }
        sums_of_tile(lanes, &sums)
    }
}
