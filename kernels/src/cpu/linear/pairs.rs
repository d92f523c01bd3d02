//! Tile kernel of bf16 weights with x in bf16: pairs of products are added to f32.

use half::bf16;

use super::chunk::chunk;
use super::tile::{DotRows, Tiles};
use crate::cpu::lanes::dots::{Dots, PAIRS};
use crate::cpu::lanes::{Pass, Prefetch, sums_of_tile};

/// Rows of x, `stride` elements apart, and rows of a weight, `k` elements long.
pub(super) struct Pairs<'a, L> {
    lanes: L,
    x: &'a [bf16],
    stride: usize,
    weight: &'a [bf16],
    k: usize,
}

impl<'a, L: Dots> Pairs<'a, L> {
    /// Rows of x of a task, and rows of a weight.
    #[inline(always)]
    pub(super) fn new(lanes: L, tiles: &'a Tiles<'_>, weight: &'a [bf16]) -> Self {
        Self { lanes, x: tiles.x.pairs, stride: tiles.x.pairs_stride, weight, k: tiles.k }
    }
}

impl<L: Dots> DotRows<L> for Pairs<'_, L> {
    const ONE_BY_ONE: bool = true;

    #[inline(always)]
    fn sums<const M: usize, const N: usize>(&self, row: usize, col: usize, pass: Pass) -> [[f32; N]; M] {
        let weight = &self.weight[col * self.k..(col + N) * self.k];
        let next = Prefetch::behind_tile::<N, _>(weight, pass, self.k / PAIRS);
        let x = (&self.x[row * self.stride..], self.stride);
        dot_tile_of_pairs(self.lanes, x, weight, self.k, next)
    }
}

/// Returns the dot products of `M` rows of x with `N` rows of weight, all `k` elements long; those
/// of x are `stride` elements apart.
#[inline(always)]
#[expect(
    unsafe_code,
    reason = "the innermost loop: no bounds checks on loads that the assertion has checked"
)]
#[expect(clippy::needless_range_loop, reason = "m and n index several arrays of registers")]
fn dot_tile_of_pairs<L: Dots, const M: usize, const N: usize>(
    lanes: L,
    (x, stride): (&[bf16], usize),
    weight: &[bf16],
    k: usize,
    mut next: Prefetch,
) -> [[f32; N]; M] {
    assert!(k <= stride && x.len() >= M * stride && weight.len() >= N * k, "rows of a tile");
    let mut sums = [[lanes.splat(0.0); N]; M];
    let whole = k - k % PAIRS;
    for at in (0..whole).step_by(PAIRS) {
        next.step();
        let mut xs = [lanes.no_pairs(); M];
        for m in 0..M {
            // SAFETY: row m < M of x ends at or before M * stride, and at + PAIRS <= whole <= k.
            xs[m] = lanes.load_pairs(unsafe { chunk(x, m * stride + at) });
        }
        for n in 0..N {
            // SAFETY: as above, with N rows of weight.
            let w = lanes.load_pairs(unsafe { chunk(weight, n * k + at) });
            for m in 0..M {
                sums[m][n] = lanes.dot_pairs(xs[m], w, sums[m][n]);
            }
        }
    }
    if whole < k {
        for n in 0..N {
            let w = lanes.load_some_pairs(&weight[n * k + whole..(n + 1) * k]);
            for m in 0..M {
                let x = lanes.load_some_pairs(&x[m * stride + whole..m * stride + k]);
                sums[m][n] = lanes.dot_pairs(x, w, sums[m][n]);
            }
        }
    }
    sums_of_tile(lanes, &sums)
}
