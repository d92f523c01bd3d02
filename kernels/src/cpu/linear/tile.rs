//! The tile kernel: some rows of x with some rows of a weight.

use std::ops::Range;

use super::Store;
use crate::cpu::isa::Kernel;
use crate::cpu::lanes::{Element, LANES, Lanes};
use crate::cpu::matrix::{Elements, Matrix};
use crate::cpu::output::Output;
use crate::cpu::packed::PackedRows;

/// Rows of x that pass by a tile of weights before the next tile.
const BLOCK_ROWS: usize = 64;

/// Some rows of a weight, which are columns of the output.
pub(super) struct Columns<'a> {
    pub(super) tiles: Tiles<'a>,
    pub(super) weight: Matrix<'a>,
    pub(super) cols: Range<usize>,
}

/// Inputs and outputs of one task.
pub(super) struct Tiles<'a> {
    pub(super) x: &'a [f32],
    pub(super) k: usize,
    pub(super) rows: usize,
    /// Of these columns.
    pub(super) bias: Option<&'a [f32]>,
    pub(super) store: Store,
    pub(super) out: &'a Output<'a, f32>,
    /// From one row of the output to the next.
    pub(super) stride: usize,
    /// Where the first row's first column is in the output.
    pub(super) at: usize,
}

impl Kernel for Columns<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let elements = self.cols.start * self.weight.cols()..self.cols.end * self.weight.cols();
        match self.weight.elements() {
            Elements::F32(all) => self.tiles.all(lanes, &all[elements]),
            Elements::Bf16(all) => self.tiles.all(lanes, &all[elements]),
            Elements::F16(all) => self.tiles.all(lanes, &all[elements]),
            Elements::Fp8(all) => self.tiles.all_widened(lanes, &all, self.cols),
            Elements::Mxfp4(all) => self.tiles.all_widened(lanes, &all, self.cols),
        }
    }
}

impl Tiles<'_> {
    #[inline(always)]
    fn all<L: Lanes, W: Element>(&self, lanes: L, weight: &[W]) {
        if L::WIDE {
            self.blocks::<L, W, 4, 6>(lanes, weight);
        } else {
            self.blocks::<L, W, 2, 3>(lanes, weight);
        }
    }

    /// Rows of `weight` are widened a tile at a time, once for all rows of x.
    #[inline(always)]
    fn all_widened<L: Lanes, W: PackedRows>(&self, lanes: L, weight: &W, cols: Range<usize>) {
        if L::WIDE {
            self.widened::<L, W, 4, 6>(lanes, weight, cols);
        } else {
            self.widened::<L, W, 2, 3>(lanes, weight, cols);
        }
    }

    #[inline(always)]
    fn widened<L: Lanes, W: PackedRows, const M: usize, const N: usize>(
        &self,
        lanes: L,
        weight: &W,
        cols: Range<usize>,
    ) {
        let mut tile = vec![0.0; N * self.k];
        for col in (0..cols.len()).step_by(N) {
            let count = N.min(cols.len() - col);
            for (i, row) in tile.chunks_exact_mut(self.k).take(count).enumerate() {
                weight.widen(lanes, cols.start + col + i, row);
            }
            if count == N {
                self.row_tiles::<L, f32, M, N>(lanes, &tile, col, 0..self.rows);
                continue;
            }
            for (i, row) in tile.chunks_exact(self.k).take(count).enumerate() {
                self.row_tiles::<L, f32, M, 1>(lanes, row, col + i, 0..self.rows);
            }
        }
    }

    #[inline(always)]
    fn blocks<L: Lanes, W: Element, const M: usize, const N: usize>(&self, lanes: L, weight: &[W]) {
        for first in (0..self.rows).step_by(BLOCK_ROWS) {
            let rows = first..(first + BLOCK_ROWS).min(self.rows);
            let mut tiles = weight.chunks_exact(self.k * N);
            let mut col = 0;
            for tile in tiles.by_ref() {
                self.row_tiles::<L, W, M, N>(lanes, tile, col, rows.clone());
                col += N;
            }
            for tile in tiles.remainder().chunks_exact(self.k) {
                self.row_tiles::<L, W, M, 1>(lanes, tile, col, rows.clone());
                col += 1;
            }
        }
    }

    #[inline(always)]
    fn row_tiles<L: Lanes, W: Element, const M: usize, const N: usize>(
        &self,
        lanes: L,
        weight: &[W],
        col: usize,
        rows: Range<usize>,
    ) {
        let mut row = rows.start;
        while row + M <= rows.end {
            self.tile::<L, W, M, N>(lanes, weight, col, row);
            row += M;
        }
        match rows.end - row {
            3 => self.tile::<L, W, 3, N>(lanes, weight, col, row),
            2 => self.tile::<L, W, 2, N>(lanes, weight, col, row),
            1 => self.tile::<L, W, 1, N>(lanes, weight, col, row),
            _ => {}
        }
    }

    #[inline(always)]
    fn tile<L: Lanes, W: Element, const M: usize, const N: usize>(
        &self,
        lanes: L,
        weight: &[W],
        col: usize,
        row: usize,
    ) {
        let sums = dot_tile::<L, W, M, N>(lanes, &self.x[row * self.k..], weight, self.k);
        for (i, sums) in sums.iter().enumerate() {
            #[expect(unsafe_code, reason = "each task its columns")]
            // SAFETY: tasks have disjoint ranges of columns, and a task has one part alive at a time.
            let out = unsafe { self.out.part((row + i) * self.stride + self.at + col, N) };
            for (j, out) in out.iter_mut().enumerate() {
                let sum = self.bias.map_or(sums[j], |bias| sums[j] + bias[col + j]);
                *out = if self.store == Store::Accumulate { *out + sum } else { sum };
            }
        }
    }
}

/// The dot products of `M` rows of x with `N` rows of weight, all `k` long and one after the other.
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
) -> [[f32; N]; M] {
    assert!(x.len() >= M * k && weight.len() >= N * k, "rows of a tile");
    let mut sums = [[lanes.splat(0.0); N]; M];
    let whole = k - k % LANES;
    for at in (0..whole).step_by(LANES) {
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
    let mut out = [[0.0; N]; M];
    for m in 0..M {
        for n in 0..N {
            out[m][n] = lanes.sum(sums[m][n]);
        }
    }
    out
}

/// # Safety
/// `at + LANES` is not beyond the end.
#[inline(always)]
#[expect(unsafe_code, reason = "see `dot_tile`")]
unsafe fn chunk<T>(all: &[T], at: usize) -> &[T; LANES] {
    debug_assert!(at + LANES <= all.len());
    // SAFETY: in bounds by this function's contract; an array has the alignment of its elements.
    unsafe { &*all.as_ptr().add(at).cast() }
}
