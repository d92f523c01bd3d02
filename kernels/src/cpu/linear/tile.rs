//! The tile kernel: some rows of x with some rows of a weight.

use std::marker::PhantomData;
use std::ops::Range;

use half::bf16;

use super::Store;
use super::inputs::InputRows;
use super::pairs::dot_tile_of_pairs;
use super::panels::all_panels;
use crate::cpu::isa::Kernel;
use crate::cpu::lanes::dots::{Dots, PAIRS};
use crate::cpu::lanes::{Element, LANES, Lanes, Prefetch, sums_of_tile};
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
    pub(super) x: InputRows<'a>,
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

/// What some rows of x are multiplied with, a few at a time.
pub(super) trait RowTile {
    /// Rows `row..row + M`, as pass `pass.0` of `pass.1` over the same weights. `#[inline(always)]` in every implementation.
    fn run<const M: usize>(&self, row: usize, pass: (usize, usize));
}

/// All rows, `M` at a time and then the rest.
#[inline(always)]
pub(super) fn by_rows<const M: usize, T: RowTile>(rows: Range<usize>, tile: &T) {
    let passes = rows.len().div_ceil(M);
    let (mut row, mut pass) = (rows.start, 0);
    while row + M <= rows.end {
        tile.run::<M>(row, (pass, passes));
        (row, pass) = (row + M, pass + 1);
    }
    match rows.end - row {
        3 => tile.run::<3>(row, (pass, passes)),
        2 => tile.run::<2>(row, (pass, passes)),
        1 => tile.run::<1>(row, (pass, passes)),
        _ => {}
    }
}

impl Kernel for Columns<'_> {
    #[inline(always)]
    fn run<L: Dots>(self, lanes: L) {
        let Self { tiles, weight, cols } = self;
        let elements = cols.start * weight.cols()..cols.end * weight.cols();
        if let Some(all) = weight.as_pairs() {
            return tiles.all::<L, _>(
                &Pairs { lanes, x: tiles.x.pairs, weight: &all[elements], k: tiles.k },
                cols.len(),
            );
        }
        match weight.elements() {
            Elements::F32(all) => tiles.plain(lanes, &all[elements], cols.len()),
            Elements::Bf16(all) => tiles.plain(lanes, &all[elements], cols.len()),
            Elements::F16(all) => tiles.plain(lanes, &all[elements], cols.len()),
            Elements::Fp8(all) => tiles.all_widened(lanes, &all, cols),
            Elements::Mxfp4(all) => tiles.all_widened(lanes, &all, cols),
            Elements::Quantized(all) => all_panels(lanes, &tiles, all, &cols),
        }
    }
}

/// Rows of x and of a weight, of which a tile's sums can be had.
trait DotRows<L: Dots> {
    /// `M` rows of x from `row` on with `N` of the weight from `col` on.
    fn sums<const M: usize, const N: usize>(
        &self,
        row: usize,
        col: usize,
        pass: (usize, usize),
    ) -> [[f32; N]; M];
}

struct Plain<'a, L, W> {
    lanes: L,
    x: &'a [f32],
    weight: &'a [W],
    k: usize,
}

struct Pairs<'a, L> {
    lanes: L,
    x: &'a [bf16],
    weight: &'a [bf16],
    k: usize,
}

impl<L: Dots, W: Element> DotRows<L> for Plain<'_, L, W> {
    #[inline(always)]
    fn sums<const M: usize, const N: usize>(
        &self,
        row: usize,
        col: usize,
        pass: (usize, usize),
    ) -> [[f32; N]; M] {
        let weight = &self.weight[col * self.k..(col + N) * self.k];
        let next = Prefetch::behind(weight, size_of_val(weight), pass, self.k / LANES);
        dot_tile(self.lanes, &self.x[row * self.k..], weight, self.k, next)
    }
}

impl<L: Dots> DotRows<L> for Pairs<'_, L> {
    #[inline(always)]
    fn sums<const M: usize, const N: usize>(
        &self,
        row: usize,
        col: usize,
        pass: (usize, usize),
    ) -> [[f32; N]; M] {
        let weight = &self.weight[col * self.k..(col + N) * self.k];
        let next = Prefetch::behind(weight, size_of_val(weight), pass, self.k / PAIRS);
        dot_tile_of_pairs(self.lanes, &self.x[row * self.k..], weight, self.k, next)
    }
}

/// `N` columns of a task, with rows of x.
struct ColumnTile<'a, D, const N: usize> {
    tiles: &'a Tiles<'a>,
    rows: &'a D,
    /// The first column among the weight's rows, and among the task's.
    from: usize,
    col: usize,
}

impl<L: Dots, D: DotRows<L>, const N: usize> RowTile for (&ColumnTile<'_, D, N>, PhantomData<L>) {
    #[inline(always)]
    fn run<const M: usize>(&self, row: usize, pass: (usize, usize)) {
        let ColumnTile { tiles, rows, from, col } = self.0;
        for (m, sums) in rows.sums::<M, N>(row, *from, pass).iter().enumerate() {
            tiles.store_few(row + m, *col, sums);
        }
    }
}

impl Tiles<'_> {
    #[inline(always)]
    fn plain<L: Dots, W: Element>(&self, lanes: L, weight: &[W], cols: usize) {
        self.all::<L, _>(&Plain { lanes, x: self.x.x, weight, k: self.k }, cols);
    }

    #[inline(always)]
    fn all<L: Dots, D: DotRows<L>>(&self, rows: &D, cols: usize) {
        if L::WIDE {
            self.by_columns::<L, D, 4, 6>(rows, cols);
        } else {
            self.by_columns::<L, D, 2, 3>(rows, cols);
        }
    }

    #[inline(always)]
    fn by_columns<L: Dots, D: DotRows<L>, const M: usize, const N: usize>(&self, rows: &D, cols: usize) {
        for block in self.blocks() {
            // For one row, memory is read in one go.
            let together = if block.len() > 1 { cols / N * N } else { 0 };
            for col in (0..together).step_by(N) {
                self.columns::<L, D, M, N>(rows, (col, col), block.clone());
            }
            for col in together..cols {
                self.columns::<L, D, M, 1>(rows, (col, col), block.clone());
            }
        }
    }

    #[inline(always)]
    fn columns<L: Dots, D: DotRows<L>, const M: usize, const N: usize>(
        &self,
        rows: &D,
        (from, col): (usize, usize),
        block: Range<usize>,
    ) {
        let tile = ColumnTile::<'_, D, N> { tiles: self, rows, from, col };
        by_rows::<M, _>(block, &(&tile, PhantomData::<L>));
    }

    /// Rows of x that pass by a tile of weights before the next tile.
    #[inline(always)]
    pub(super) fn blocks(&self) -> impl Iterator<Item = Range<usize>> {
        let rows = self.rows;
        (0..rows).step_by(BLOCK_ROWS).map(move |first| first..(first + BLOCK_ROWS).min(rows))
    }

    /// Rows of `weight` are widened a tile at a time, once for all rows of x.
    #[inline(always)]
    fn all_widened<L: Dots, W: PackedRows>(&self, lanes: L, weight: &W, cols: Range<usize>) {
        if L::WIDE {
            self.widened::<L, W, 4, 6>(lanes, weight, cols);
        } else {
            self.widened::<L, W, 2, 3>(lanes, weight, cols);
        }
    }

    #[inline(always)]
    fn widened<L: Dots, W: PackedRows, const M: usize, const N: usize>(
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
            let rows = Plain { lanes, x: self.x.x, weight: &tile, k: self.k };
            if count == N {
                self.columns::<L, _, M, N>(&rows, (0, col), 0..self.rows);
                continue;
            }
            for i in 0..count {
                self.columns::<L, _, M, 1>(&rows, (i, col + i), 0..self.rows);
            }
        }
    }

    /// Stores a row's results of a few columns.
    #[inline(always)]
    fn store_few<const N: usize>(&self, row: usize, col: usize, sums: &[f32; N]) {
        #[expect(unsafe_code, reason = "each task its columns")]
        // SAFETY: tasks have disjoint ranges of columns, and a task has one part alive at a time.
        let out = unsafe { self.out.part(row * self.stride + self.at + col, N) };
        for (j, out) in out.iter_mut().enumerate() {
            let sum = self.bias.map_or(sums[j], |bias| sums[j] + bias[col + j]);
            *out = if self.store == Store::Accumulate { *out + sum } else { sum };
        }
    }

    /// Stores a row's results of the first `width` of sixteen columns.
    #[inline(always)]
    pub(super) fn store<L: Dots>(&self, lanes: L, row: usize, col: usize, width: usize, sums: L::V) {
        #[expect(unsafe_code, reason = "each task its columns")]
        // SAFETY: as above.
        let out = unsafe { self.out.part(row * self.stride + self.at + col, width) };
        let sums = match self.bias {
            Some(bias) => lanes.add(sums, lanes.load_part(&bias[col..col + width])),
            None => sums,
        };
        let sums = match self.store {
            Store::Accumulate => lanes.add(lanes.load_part(out), sums),
            Store::Overwrite => sums,
        };
        lanes.store_part(sums, out);
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

/// # Safety
/// `at + LANES` is not beyond the end.
#[inline(always)]
#[expect(unsafe_code, reason = "see `dot_tile`")]
unsafe fn chunk<T>(all: &[T], at: usize) -> &[T; LANES] {
    debug_assert!(at + LANES <= all.len());
    // SAFETY: in bounds by this function's contract; an array has the alignment of its elements.
    unsafe { &*all.as_ptr().add(at).cast() }
}
