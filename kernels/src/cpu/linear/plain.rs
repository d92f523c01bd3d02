//! Tile kernel of weights with x in f32: weights are widened as they are read, or were widened
//! before.

use super::chunk::chunk;
use super::tile::DotRows;
use crate::cpu::lanes::dots::Dots;
use crate::cpu::lanes::{Element, LANES, Lanes, Pass, Prefetch, sums_of_tile};

/// Rows of x and of a weight, `k` elements long.
pub(super) struct Plain<'a, L, W> {
    pub(super) lanes: L,
    pub(super) x: &'a [f32],
    pub(super) weight: &'a [W],
    pub(super) k: usize,
}

impl<L: Dots, W: Element> DotRows<L> for Plain<'_, L, W> {
    const ONE_BY_ONE: bool = true;

    #[inline(always)]
    fn sums<const M: usize, const N: usize>(&self, row: usize, col: usize, pass: Pass) -> [[f32; N]; M] {
        let weight = &self.weight[col * self.k..(col + N) * self.k];
        let next = Prefetch::behind_tile::<N, _>(weight, pass, self.k / LANES);
        dot_tile(self.lanes, &self.x[row * self.k..], weight, self.k, next)
    }
}

/// Returns the dot products of `M` rows of x with `N` rows of weight, all `k` elements long and one
/// after the other.
#[inline(always)]
#[expect(
    unsafe_code,
    reason = "the innermost loop: no bounds checks on loads that the assertion has checked"
)]
#[expect(clippy::needless_range_loop, reason = "m and n index several arrays of registers")]
pub(in crate::cpu) fn dot_tile<L: Lanes, W: Element, const M: usize, const N: usize>(
    lanes: L,
    x: &[f32],
    weight: &[W],
    k: usize,
    mut next: Prefetch,
) -> [[f32; N]; M] {
    assert!(x.len() >= M * k && weight.len() >= N * k, "rows of a tile");
    let mut sums = [[lanes.splat(0.0); N]; M];
    let whole = k - k % LANES;
    for at in (0..whole).step_by(LANES) {
        next.step();
        let mut xs = [lanes.splat(0.0); M];
        for m in 0..M {
            // SAFETY: row m < M of x ends at or before M * k, and at + LANES <= whole <= k.
            xs[m] = lanes.load(unsafe { chunk(x, m * k + at) });
        }
        for n in 0..N {
            // SAFETY: as above, with N rows of weight.
            let w = W::load(lanes, unsafe { chunk(weight, n * k + at) });
            for m in 0..M {
                sums[m][n] = lanes.fma(xs[m], w, sums[m][n]);
            }
        }
    }
    if whole < k {
        for n in 0..N {
            let w = lanes.load_part(&weight[n * k + whole..(n + 1) * k]);
            for m in 0..M {
                let x = lanes.load_part(&x[m * k + whole..(m + 1) * k]);
                sums[m][n] = lanes.fma(x, w, sums[m][n]);
            }
        }
    }
    sums_of_tile(lanes, &sums)
}
