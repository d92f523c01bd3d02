//! Tile kernel of linear layers: multiplies some rows of x with some rows of a weight.

use std::marker::PhantomData;
use std::ops::Range;

use half::bf16;

use super::Store;
use super::few_mxfp4::FewMxfp4;
use super::fp8::{Fp8Pairs, StoredCodes};
use super::inputs::InputRows;
use super::pairs::Pairs;
use super::plain::Plain;
use super::quantized::quantized;
use super::repacked::repacked;
use super::widened::{WidenedCodes, WidenedToBf16, WidenedToF32};
use crate::cpu::isa::{Isa, Kernel};
use crate::cpu::lanes::Element;
use crate::cpu::lanes::dots::Dots;
use crate::cpu::matrix::{Elements, Matrix};
use crate::cpu::output::Output;

/// Number of rows of x that are multiplied with a tile of weights before the next tile.
const BLOCK_ROWS: usize = 64;
/// Maximum number of rows of x for which MXFP4 and FP8 codes are widened in registers, again for each tile of rows. For more rows it pays
/// to widen a tile into memory.
const WIDEN_IN_REGISTERS_ROWS: usize = 8;

/// Kernel of one task: some rows of a weight, which are columns of the output, with all rows of x.
pub(super) struct TaskKernel<'a> {
    pub(super) tiles: Tiles<'a>,
    pub(super) weight: Matrix<'a>,
    pub(super) cols: Range<usize>,
}

/// Inputs and outputs of one task.
pub(super) struct Tiles<'a> {
    pub(super) x: InputRows<'a>,
    pub(super) k: usize,
    pub(super) rows: usize,
    /// Bias of the task's columns.
    pub(super) bias: Option<&'a [f32]>,
    pub(super) store: Store,
    pub(super) out: &'a Output<'a, f32>,
    /// Stride of the output's rows, in elements.
    pub(super) stride: usize,
    /// Index in the output of the first row's first column.
    pub(super) at: usize,
}

/// Tile of weights that rows of x are multiplied with, a few rows at a time.
pub(super) trait RowTile {
    /// Computes rows `row..row + M`, as pass `pass.0` of `pass.1` over the same weights. `#[inline(always)]` in every implementation.
    fn run<const M: usize>(&self, row: usize, pass: (usize, usize));
}

/// Runs `tile` for all rows, `M` at a time and then the rest.
#[inline(always)]
pub(super) fn by_rows<const M: usize, T: RowTile>(rows: Range<usize>, tile: &T) {
    let passes = rows.len().div_ceil(M);
    let (mut row, mut pass) = (rows.start, 0);
    while row + M <= rows.end {
        tile.run::<M>(row, (pass, passes));
        (row, pass) = (row + M, pass + 1);
    }
    if M > 4 && row + 4 <= rows.end {
        tile.run::<4>(row, (pass, passes));
        (row, pass) = (row + 4, pass + 1);
    }
    match rows.end - row {
        3 if M > 3 => tile.run::<3>(row, (pass, passes)),
        2 if M > 2 => tile.run::<2>(row, (pass, passes)),
        1 if M > 1 => tile.run::<1>(row, (pass, passes)),
        _ => {}
    }
}

impl TaskKernel<'_> {
    pub(super) fn run(self, isa: Isa) {
        if self.weight.rounds_inputs_to_bf16() {
            isa.run(PairKernel(self));
        } else {
            isa.run(PlainKernel(self));
        }
    }
}

/// Kernel for weights that are multiplied with x rounded to bf16, two products at a time.
struct PairKernel<'a>(TaskKernel<'a>);

/// Kernel for all other weights.
struct PlainKernel<'a>(TaskKernel<'a>);

impl Kernel for PairKernel<'_> {
    const ADDS_PAIRS: bool = true;

    #[inline(always)]
    fn run<L: Dots>(self, lanes: L) {
        let TaskKernel { tiles, weight, cols } = self.0;
        match weight.elements() {
            Elements::Bf16(all) => {
                let all = &all[cols.start * tiles.k..cols.end * tiles.k];
                tiles.all::<L, _>(&tiles.pairs(lanes, all), cols.len());
            }
            Elements::Fp8(all) if tiles.rows <= WIDEN_IN_REGISTERS_ROWS => {
                let x = (tiles.x.pairs, tiles.x.pairs_stride);
                let (first, codes) = (cols.start, StoredCodes(all));
                let rows = Fp8Pairs { lanes, x, weight: all, first, k: tiles.k, codes };
                tiles.all::<L, _>(&rows, cols.len());
            }
            Elements::Fp8(all) => tiles.all_widened(lanes, &WidenedCodes(all), cols),
            Elements::Mxfp4(all) if tiles.rows <= WIDEN_IN_REGISTERS_ROWS => {
                let x = (tiles.x.pairs, tiles.x.pairs_stride);
                let rows = FewMxfp4 { lanes, x, weight: all, first: cols.start, k: tiles.k };
                tiles.all::<L, _>(&rows, cols.len());
            }
            Elements::Mxfp4(all) => tiles.all_widened(lanes, &WidenedToBf16(&all), cols),
            Elements::Repacked(all) => repacked(lanes, &tiles, all, &cols),
            Elements::F32(_) | Elements::F16(_) | Elements::Quantized(_) => {
                unreachable!("`rounds_inputs_to_bf16` is false for these")
            }
        }
    }
}

impl Kernel for PlainKernel<'_> {
    #[inline(always)]
    fn run<L: Dots>(self, lanes: L) {
        let TaskKernel { tiles, weight, cols } = self.0;
        let elements = cols.start * tiles.k..cols.end * tiles.k;
        match weight.elements() {
            Elements::F32(all) => tiles.plain(lanes, &all[elements], cols.len()),
            Elements::Bf16(all) => tiles.plain(lanes, &all[elements], cols.len()),
            Elements::F16(all) => tiles.plain(lanes, &all[elements], cols.len()),
            Elements::Fp8(all) => tiles.all_widened(lanes, &WidenedToF32(&all), cols),
            Elements::Mxfp4(all) => tiles.all_widened(lanes, &WidenedToF32(&all), cols),
            Elements::Quantized(all) => quantized(lanes, &tiles, all, &cols),
            Elements::Repacked(_) => unreachable!("`rounds_inputs_to_bf16` is true for these"),
        }
    }
}

/// Rows of x and of a weight, whose products a tile sums up.
pub(super) trait DotRows<L: Dots> {
    /// Whether a single row of x is multiplied with one row of the weight at a time, so that memory is read in one go.
    const ONE_BY_ONE: bool;
    /// Whether there are two registers of sums for each output, so that tiles have about half as many columns.
    const TWO_SUMS: bool = false;

    /// Returns the sums of `M` rows of x from `row` on with `N` of the weight from `col` on, as pass `pass.0` of `pass.1` over the same
    /// weights.
    fn sums<const M: usize, const N: usize>(
        &self,
        row: usize,
        col: usize,
        pass: (usize, usize),
    ) -> [[f32; N]; M];
}

/// Tile of `N` columns of a task, to be multiplied with rows of x.
struct ColumnTile<'a, D, const N: usize> {
    tiles: &'a Tiles<'a>,
    rows: &'a D,
    /// Index of the first column among the rows of `rows`; `col` is its index among the task's columns.
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
            // The rest, or all columns of a single row of x. Higher tiles for these would take long to compile.
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

    /// Returns the blocks of rows of x that are multiplied with a tile of weights before the next tile.
    #[inline(always)]
    pub(super) fn blocks(&self) -> impl Iterator<Item = Range<usize>> {
        let rows = self.rows;
        (0..rows).step_by(BLOCK_ROWS).map(move |first| first..(first + BLOCK_ROWS).min(rows))
    }

    #[inline(always)]
    pub(super) fn pairs<'a, L: Dots>(&'a self, lanes: L, weight: &'a [bf16]) -> Pairs<'a, L> {
        Pairs { lanes, x: self.x.pairs, stride: self.x.pairs_stride, weight, k: self.k }
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
        if self.store == Store::Accumulate {
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
            Store::Accumulate => lanes.add(lanes.load_part(out), sums),
            Store::Overwrite => sums,
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
