//! Tile kernel of linear layers: multiplies some rows of x with some rows of a weight.

use std::marker::PhantomData;
use std::ops::Range;

use super::inputs::InputRows;
use crate::cpu::lanes::Pass;
use crate::cpu::lanes::dots::Dots;
use crate::cpu::output::Output;
use ops::StoreMode;

/// Number of rows of x that are multiplied with a tile of weights before the next tile.
const BLOCK_ROWS: usize = 64;

/// Inputs and outputs of one task.
pub(super) struct Tiles<'a> {
    pub(super) x: InputRows<'a>,
    pub(super) k: usize,
    pub(super) rows: usize,
    /// Bias of the task's columns.
    pub(super) bias: Option<&'a [f32]>,
    pub(super) store: StoreMode,
    pub(super) out: &'a Output<'a, f32>,
    /// Stride of the output's rows, in elements.
    pub(super) stride: usize,
    /// Index in the output of the first row's first column.
    pub(super) at: usize,
}

/// Tile of weights that rows of x are multiplied with, a few rows at a time.
pub(super) trait RowTile {
    /// Computes rows `row..row + M`, as one pass over the same weights.
    /// `#[inline(always)]` in every implementation.
    fn run<const M: usize>(&self, row: usize, pass: Pass);
}

/// Runs `tile` for all rows, `M` at a time and then the rest.
#[inline(always)]
pub(super) fn by_rows<const M: usize, T: RowTile>(rows: Range<usize>, tile: &T) {
    let mut pass = Pass { index: 0, count: rows.len().div_ceil(M) };
    let mut row = rows.start;
    while row + M <= rows.end {
        tile.run::<M>(row, pass);
        (row, pass.index) = (row + M, pass.index + 1);
    }
    if M > 4 && row + 4 <= rows.end {
        tile.run::<4>(row, pass);
        (row, pass.index) = (row + 4, pass.index + 1);
    }
    match rows.end - row {
        3 if M > 3 => tile.run::<3>(row, pass),
        2 if M > 2 => tile.run::<2>(row, pass),
        1 if M > 1 => tile.run::<1>(row, pass),
        _ => {}
    }
}

/// Rows of x and of a weight, whose products a tile sums up.
pub(super) trait DotRows<L: Dots> {
    /// Whether a single row of x is multiplied with one row of the weight at a time, so that memory
    /// is read in one go.
    const ONE_BY_ONE: bool;
    /// Whether there are two registers of sums for each output, so that tiles have about half as
    /// many columns.
    const TWO_SUMS: bool = false;

    /// Returns the sums of `M` rows of x from `row` on with `N` of the weight from `col` on, as
    /// one pass over the same weights.
    fn sums<const M: usize, const N: usize>(&self, row: usize, col: usize, pass: Pass) -> [[f32; N]; M];
}

/// Tile of `N` columns of a task, to be multiplied with rows of x.
struct ColumnTile<'a, D, const N: usize> {
    tiles: &'a Tiles<'a>,
    rows: &'a D,
    /// Index of the first column among the rows of `rows`; `col` is its index among the task's
    /// columns.
    from: usize,
    col: usize,
}

impl<L: Dots, D: DotRows<L>, const N: usize> RowTile for (&ColumnTile<'_, D, N>, PhantomData<L>) {
    #[inline(always)]
    fn run<const M: usize>(&self, row: usize, pass: Pass) {
        let ColumnTile { tiles, rows, from, col } = self.0;
        for (m, sums) in rows.sums::<M, N>(row, *from, pass).iter().enumerate() {
            tiles.store_few(row + m, *col, sums);
        }
    }
}

impl Tiles<'_> {
    #[inline(always)]
    pub(super) fn all<L: Dots, D: DotRows<L>>(&self, rows: &D, cols: usize) {
        match (L::WIDE, D::TWO_SUMS) {
            (true, false) => self.by_columns::<L, D, 4, 6>(rows, cols),
            (true, true) => self.by_columns::<L, D, 4, 3>(rows, cols),
            (false, false) => self.by_columns::<L, D, 2, 3>(rows, cols),
            (false, true) => self.by_columns::<L, D, 2, 1>(rows, cols),
        }
    }

    #[inline(always)]
    fn by_columns<L: Dots, D: DotRows<L>, const M: usize, const N: usize>(&self, rows: &D, cols: usize) {
        for block in self.blocks() {
            let together = if D::ONE_BY_ONE && block.len() == 1 { 0 } else { cols / N * N };
            for col in (0..together).step_by(N) {
                self.columns::<L, D, M, N>(rows, (col, col), block.clone());
            }
            // The rest, or all columns of a single row of x. Higher tiles for these would take long
            // to compile.
            for col in together..cols {
                self.columns::<L, D, 1, 1>(rows, (col, col), block.clone());
            }
        }
    }

    #[inline(always)]
    pub(super) fn columns<L: Dots, D: DotRows<L>, const M: usize, const N: usize>(
        &self,
        rows: &D,
        (from, col): (usize, usize),
        block: Range<usize>,
    ) {
        let tile = ColumnTile::<'_, D, N> { tiles: self, rows, from, col };
        by_rows::<M, _>(block, &(&tile, PhantomData::<L>));
    }

    /// Returns the blocks of rows of x that are multiplied with a tile of weights before the next
    /// tile.
    #[inline(always)]
    pub(super) fn blocks(&self) -> impl Iterator<Item = Range<usize>> {
        let rows = self.rows;
        (0..rows).step_by(BLOCK_ROWS).map(move |first| first..(first + BLOCK_ROWS).min(rows))
    }

    /// Stores a row's results of a few columns.
    #[inline(always)]
    fn store_few<const N: usize>(&self, row: usize, col: usize, sums: &[f32; N]) {
        #[expect(unsafe_code, reason = "each task its columns")]
        // SAFETY: tasks have disjoint ranges of columns, and a task has one part alive at a time.
        let out = unsafe { self.out.part(row * self.stride + self.at + col, N) };
        let mut sums = *sums;
        if let Some(bias) = self.bias {
            add_to(&mut sums, &bias[col..col + N]);
        }
        if self.store == StoreMode::Accumulate {
            add_to(&mut sums, out);
        }
        out.copy_from_slice(&sums);
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
            StoreMode::Accumulate => lanes.add(lanes.load_part(out), sums),
            StoreMode::Overwrite => sums,
        };
        lanes.store_part(sums, out);
    }
}

#[inline(always)]
fn add_to<const N: usize>(sums: &mut [f32; N], more: &[f32]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
}
