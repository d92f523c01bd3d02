//! Linear layer: `out[m, n] = Σₖ x[m, k] · weight[n, k]`, f32 activations, weights widened in registers, f32 accumulation.
//! Fuses the bias and the residual addition.
//!
//! One tile of outputs (4 × 6 with 32 wide registers) is computed at a time, each output in one register of sixteen lanes over
//! the whole of k. One row of x or hundreds take the same path: with few rows each weight is read from memory once and used
//! for all of them; with many, a block of weight rows stays in the second-level cache while rows of x pass by.
//! The order of a sum is that of the lanes alone, so a row's result doesn't depend on the rows beside it.

use std::ops::Range;

use super::Cpu;
use super::isa::Kernel;
use super::lanes::{Element, LANES, Lanes};
use super::matrix::{Elements, Matrix};
use super::output::Output;

/// Weight rows of one task: a multiple of every tile's width.
const TASK_COLS: usize = 96;
/// Rows of x that pass by a tile of weights before the next tile.
const BLOCK_ROWS: usize = 64;

/// What becomes of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// They replace the output.
    Overwrite,
    /// They are added to it (a residual connection).
    Accumulate,
}

/// `out = x · partsᵀ + bias` (or `out += …`): x `[rows, k]`; parts, stacked, `[n, k]`; bias `[n]`; out `[rows, n]`.
///
/// # Panics
/// Where the sizes don't fit each other.
pub fn linear(
    cpu: &Cpu,
    x: &[f32],
    parts: &[Matrix<'_>],
    bias: Option<&[f32]>,
    store: Store,
    out: &mut [f32],
) {
    let k = parts[0].cols();
    let width: usize = parts.iter().map(Matrix::rows).sum();
    let rows = x.len() / k;
    assert!(
        x.len() == rows * k && out.len() == rows * width,
        "rows of linear: {} and {}",
        x.len(),
        out.len()
    );
    assert!(parts.iter().all(|p| p.cols() == k) && bias.is_none_or(|b| b.len() == width), "parts of linear");
    let tasks = tasks(parts);
    let out = Output::new(out);
    cpu.share(tasks.len(), rows * width * k, |i| {
        let Task { part, cols, at } = &tasks[i];
        let bias = bias.map(|b| &b[*at..at + cols.len()]);
        let tiles = Tiles { x, k, rows, bias, store, out: &out, stride: width, at: *at };
        cpu.isa().run(Columns { tiles, weight: parts[*part], cols: cols.clone() });
    });
}

/// Some rows of one part, and the column of the output that they begin at.
struct Task {
    part: usize,
    cols: Range<usize>,
    at: usize,
}

fn tasks(parts: &[Matrix<'_>]) -> Vec<Task> {
    let mut tasks = Vec::new();
    let mut start = 0;
    for (part, matrix) in parts.iter().enumerate() {
        for first in (0..matrix.rows()).step_by(TASK_COLS) {
            let cols = first..(first + TASK_COLS).min(matrix.rows());
            tasks.push(Task { part, cols, at: start + first });
        }
        start += matrix.rows();
    }
    tasks
}

struct Columns<'a> {
    tiles: Tiles<'a>,
    weight: Matrix<'a>,
    cols: Range<usize>,
}

/// Inputs and outputs of one task.
struct Tiles<'a> {
    x: &'a [f32],
    k: usize,
    rows: usize,
    bias: Option<&'a [f32]>,
    store: Store,
    out: &'a Output<'a, f32>,
    stride: usize,
    at: usize,
}

impl Kernel for Columns<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let elements = self.cols.start * self.weight.cols()..self.cols.end * self.weight.cols();
        match self.weight.elements() {
            Elements::F32(all) => self.tiles.all(lanes, &all[elements]),
            Elements::Bf16(all) => self.tiles.all(lanes, &all[elements]),
            Elements::F16(all) => self.tiles.all(lanes, &all[elements]),
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
pub(super) fn dot_tile<L: Lanes, W: Element, const M: usize, const N: usize>(
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

/// What it means, in f64, without bias.
pub fn linear_reference(x: &[f32], weight: &Matrix<'_>) -> Vec<f64> {
    let k = weight.cols();
    let mut out = Vec::new();
    for row in x.chunks_exact(k) {
        for n in 0..weight.rows() {
            let products = row
                .iter()
                .enumerate()
                .map(|(i, x)| f64::from(*x) * f64::from(weight.elements().get(n * k + i)));
            out.push(products.sum());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};
    use proptest::prelude::*;

    use super::*;
    use crate::cpu::Isa;

    fn values(n: usize, seed: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.0 - 1.0).collect()
    }

    proptest! {
        #[test]
        fn equals_the_reference_for_every_type_and_shape(
            rows in 1usize..12, n in 1usize..120, k in 1usize..100, split in 0usize..120, seed in 0usize..100,
        ) {
            let (x, w) = (values(rows * k, seed), values(n * k, seed + 1));
            let b: Vec<bf16> = w.iter().map(|w| bf16::from_f32(*w)).collect();
            let h: Vec<f16> = w.iter().map(|w| f16::from_f32(*w)).collect();
            let first = split.min(n - 1);
            for (upper, lower) in [
                (Elements::F32(&w[..first * k]), Elements::F32(&w[first * k..])),
                (Elements::Bf16(&b[..first * k]), Elements::Bf16(&b[first * k..])),
                (Elements::F16(&h[..first * k]), Elements::F16(&h[first * k..])),
            ] {
                let parts = [Matrix::new(upper, first, k), Matrix::new(lower, n - first, k)];
                let bias = values(n, seed + 2);
                let (top, bottom) = (linear_reference(&x, &parts[0]), linear_reference(&x, &parts[1]));
                for isa in Isa::available() {
                    let mut out = vec![0.5; rows * n];
                    linear(&Cpu::with_isa(1, isa), &x, &parts, Some(&bias), Store::Accumulate, &mut out);
                    for (i, got) in out.iter().enumerate() {
                        let (m, j) = (i / n, i % n);
                        let sum = if j < first { top[m * first + j] } else { bottom[m * (n - first) + j - first] };
                        let wanted = 0.5 + sum + f64::from(bias[j]);
                        prop_assert!((f64::from(*got) - wanted).abs() < 1e-4, "{} {got} {wanted}", isa.name());
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_is_the_same_bit_for_bit_alone_in_a_batch_and_with_any_number_of_threads() {
        let (rows, n, k) = (150, 200, 777);
        let (x, w) = (values(rows * k, 3), values(n * k, 4));
        let w: Vec<bf16> = w.iter().map(|w| bf16::from_f32(*w)).collect();
        let weight = [Matrix::new(Elements::Bf16(&w), n, k)];
        for isa in Isa::available() {
            let mut all = vec![0.0; rows * n];
            linear(&Cpu::with_isa(3, isa), &x, &weight, None, Store::Overwrite, &mut all);
            let one_thread = Cpu::with_isa(1, isa);
            for row in 0..rows {
                let mut alone = vec![0.0; n];
                linear(&one_thread, &x[row * k..][..k], &weight, None, Store::Overwrite, &mut alone);
                assert_eq!(alone, all[row * n..][..n], "{} row {row}", isa.name());
            }
        }
    }
}
