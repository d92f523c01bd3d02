//! Tile kernel of repacked bf16 weights with x in bf16: pairs of products are added to f32, in each
//! lane those of one weight row.

use std::ops::Range;

use half::bf16;

use super::chunk::chunk;
use super::panels::{PanelRows, multiply_panels};
use super::tile::Tiles;
use crate::cpu::lanes::dots::Dots;
use crate::cpu::lanes::{Pass, Prefetch};
use crate::cpu::repacked::{PairLine, RepackedMatrix};

/// Multiplies the rows `cols` of a weight with all rows of x.
#[inline(always)]
pub(super) fn repacked<L: Dots>(lanes: L, tiles: &Tiles<'_>, weight: &RepackedMatrix, cols: &Range<usize>) {
    let rows = PairPanels { lanes, x: tiles.x.pairs, stride: tiles.x.pairs_stride, weight };
    if L::ADDS_PAIRS {
        multiply_panels::<L, _, 8, 2>(lanes, tiles, cols, &rows);
    } else {
        multiply_panels::<L, _, 2, 1>(lanes, tiles, cols, &rows);
    }
}

/// Rows of x, `stride` elements apart, and a weight.
struct PairPanels<'a, L> {
    lanes: L,
    x: &'a [bf16],
    stride: usize,
    weight: &'a RepackedMatrix,
}

impl<L: Dots> PanelRows<L> for PairPanels<'_, L> {
    #[inline(always)]
    fn sums<const M: usize, const N: usize>(&self, row: usize, panel: usize, pass: Pass) -> [[L::V; N]; M] {
        let (lines, pairs) = (self.weight.panel_lines(panel..panel + N), self.weight.pairs());
        let next = match N {
            1 if pass.count == 1 => Prefetch::none(),
            _ => Prefetch::behind(lines, size_of_val(lines), pass, pairs),
        };
        let x = (&self.x[row * self.stride..], self.stride);
        dot_panels(self.lanes, x, lines, pairs, next)
    }
}

/// Returns the dot products of `M` rows of x, `stride` elements apart, with the rows of `N` panels,
/// each `pairs` lines long.
#[inline(always)]
#[expect(
    unsafe_code,
    reason = "the innermost loop: no bounds checks on loads that the assertion has checked"
)]
#[expect(clippy::needless_range_loop, reason = "m and n index several arrays of registers")]
fn dot_panels<L: Dots, const M: usize, const N: usize>(
    lanes: L,
    (x, stride): (&[bf16], usize),
    weight: &[PairLine],
    pairs: usize,
    mut next: Prefetch,
) -> [[L::V; N]; M] {
    assert!(2 * pairs <= stride && x.len() >= M * stride && weight.len() == N * pairs, "rows of a tile");
    let mut sums = [[lanes.splat(0.0); N]; M];
    for at in 0..pairs {
        next.step();
        let mut weights = [lanes.no_pairs(); N];
        for n in 0..N {
            // SAFETY: panel n < N has lines n * pairs to (n + 1) * pairs, and at < pairs.
            weights[n] = lanes.load_pairs(unsafe { &weight.get_unchecked(n * pairs + at).0 });
        }
        for m in 0..M {
            // SAFETY: row m < M has `stride` elements of x from m * stride on, and 2 * at + 2 <= 2 *
            // pairs <= stride.
            let pair = lanes.splat_pair(*unsafe { chunk(x, m * stride + 2 * at) });
            for n in 0..N {
                sums[m][n] = lanes.dot_pairs(weights[n], pair, sums[m][n]);
            }
        }
    }
    sums
}
