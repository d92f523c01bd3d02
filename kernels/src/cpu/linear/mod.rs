//! Linear layer: `out[m, n] = Σₖ x[m, k] · weight[n, k]`, f32 accumulation. Fuses the bias and the
//! residual addition.
//!
//! A tile of outputs (4 × 6 for most weights with 32 wide registers) is computed at a time. One row
//! of x or hundreds take the same path: with few rows each weight is read from memory once and used
//! for all of them, and the next tile's weights are prefetched meanwhile; with many, a block of
//! weight rows stays in the second-level cache while all rows of x are multiplied with it.
//!
//! - x in f32: f32, f16, bf16 and packed weights ([`plain`]); packed ones are widened a tile at a
//!   time ([`widened`]);
//! - x rounded to bf16, two products at a time: bf16 weights ([`pairs`]), MXFP4 ([`few_mxfp4`]),
//!   and FP8, whose codes are multiplied without their factors ([`fp8`]); MXFP4 and FP8 are widened
//!   a tile at a time if rows of x are many;
//! - x rounded to bf16: repacked bf16 weights ([`repacked`]), over [`panels`];
//! - x rounded to eight bits, or to sixteen as two rows of eight, in integers: quantised weights
//!   ([`quantized`]), over [`panels`].
//!
//! A sum's order depends on the row's elements alone, so a row's result doesn't depend on the rows
//! beside it.

mod chunk;
mod few_mxfp4;
mod fp8;
mod inputs;
mod pairs;
mod panels;
mod plain;
mod quantized;
mod repacked;
mod task;
mod tile;
mod widened;

use std::ops::Range;

pub(super) use plain::dot_tile;

use ops::{StoreMode, reference};

use super::Cpu;
use super::lanes::LANES;
use super::matrix::{Elements, Matrix};
use super::output::Output;
use inputs::LinearInputs;
use task::TaskKernel;
use tile::Tiles;

/// Number that a task's weight rows are a multiple of, except for single rows of x over panels
/// ([`task_step`]). It is a multiple of most tiles' widths.
const TASK_STEP: usize = 48;
/// Number of weight rows in a small task. They stay in the second-level cache while all rows of x
/// are multiplied with them.
const TASK_COLS: usize = 2 * TASK_STEP;
/// Maximum number of rows of x for long tasks: weights are then read once, and the longer they are
/// read in one go, the better.
const LONG_TASK_ROWS: usize = 16;
/// Number of long tasks per thread: enough for threads to end at about the same time.
const LONG_TASKS: usize = 4;

/// Neighbouring rows of x that have weights of their own (an expert's, a head's).
#[derive(Debug, Clone)]
pub struct Group<'a> {
    /// Indices of the rows.
    pub rows: Range<usize>,
    /// Weights, stacked by rows.
    pub parts: Vec<Matrix<'a>>,
    /// `[n]`: bias.
    pub bias: Option<&'a [f32]>,
}

/// Computes `out = x · partsᵀ + bias` (or `out += …`): x `[rows, k]`; parts, stacked, `[n, k]`;
/// bias `[n]`; out `[rows, n]`.
///
/// # Panics
/// If the sizes don't fit each other.
pub fn linear(
    cpu: &Cpu,
    x: &[f32],
    parts: &[Matrix<'_>],
    bias: Option<&[f32]>,
    store: StoreMode,
    out: &mut [f32],
) {
    let group = Group { rows: 0..x.len() / parts[0].cols(), parts: parts.to_vec(), bias };
    grouped_linear(cpu, x, &[group], store, out);
}

/// Computes a linear layer with other weights `[n, k]` for each group of rows (experts, heads): x
/// `[rows, k]`, out `[rows, n]`. Rows of no group are left as they are.
///
/// # Panics
/// If the sizes don't fit each other.
pub fn grouped_linear(cpu: &Cpu, x: &[f32], groups: &[Group<'_>], store: StoreMode, out: &mut [f32]) {
    let Some(first) = groups.first() else { return };
    let (k, width) = (first.parts[0].cols(), first.width());
    let rows = x.len() / k;
    assert!(
        x.len() == rows * k && out.len() == rows * width,
        "rows of linear: {} and {}",
        x.len(),
        out.len()
    );
    assert!(groups.iter().all(|group| group.fits(k, width, rows)), "parts of linear");
    let task = |(i, group): (usize, &Group<'_>)| tasks(i, &group.parts, task_cols(cpu, groups, group));
    let tasks: Vec<Task> = groups.iter().enumerate().flat_map(task).collect();
    let cost = groups.iter().map(|group| group.rows.len()).sum::<usize>() * width * k;
    let inputs = LinearInputs::new(cpu, x, k, groups);
    let out = Output::new(out);
    cpu.parallel_for(tasks.len(), cost, |i| {
        let Task { group, part, cols, at } = &tasks[i];
        let Group { rows, parts, bias } = &groups[*group];
        let bias = bias.map(|b| &b[*at..at + cols.len()]);
        let (x, at) = (inputs.rows(rows.clone()), rows.start * width + at);
        let tiles = Tiles { x, k, rows: rows.len(), bias, store, out: &out, stride: width, at };
        TaskKernel { tiles, weight: parts[*part], cols: cols.clone() }.run(cpu.isa());
    });
}

impl Group<'_> {
    fn width(&self) -> usize {
        self.parts.iter().map(Matrix::rows).sum()
    }

    fn fits(&self, k: usize, width: usize, rows: usize) -> bool {
        self.parts.iter().all(|part| part.cols() == k)
            && self.width() == width
            && self.bias.is_none_or(|bias| bias.len() == width)
            && self.rows.start <= self.rows.end
            && self.rows.end <= rows
    }
}

/// Task: some rows of one part of a group, and the column of the output at which they begin.
struct Task {
    group: usize,
    part: usize,
    cols: Range<usize>,
    at: usize,
}

/// Returns the number of weight rows in a task of this group.
fn task_cols(cpu: &Cpu, groups: &[Group<'_>], group: &Group<'_>) -> usize {
    if group.rows.len() > LONG_TASK_ROWS {
        return TASK_COLS;
    }
    let tasks = (cpu.threads() * LONG_TASKS).div_ceil(groups.len());
    group.width().div_ceil(tasks).next_multiple_of(task_step(group))
}

/// Returns the number that a long task's weight rows are a multiple of: those of whole tiles, or of
/// one panel if a single row of x takes panels one by one, so that a narrow matrix is divided
/// evenly.
fn task_step(group: &Group<'_>) -> usize {
    let panels =
        |part: &Matrix<'_>| matches!(part.elements(), Elements::Repacked(_) | Elements::Quantized(_));
    if group.rows.len() == 1 && group.parts.iter().all(panels) { LANES } else { TASK_STEP }
}

fn tasks(group: usize, parts: &[Matrix<'_>], task_cols: usize) -> Vec<Task> {
    let mut tasks = Vec::new();
    let mut start = 0;
    for (part, matrix) in parts.iter().enumerate() {
        for first in (0..matrix.rows()).step_by(task_cols) {
            let cols = first..(first + task_cols).min(matrix.rows());
            tasks.push(Task { group, part, cols, at: start + first });
        }
        start += matrix.rows();
    }
    tasks
}

/// Reference of [`linear`], in f64, without bias and without rounding of inputs.
pub fn linear_reference(x: &[f32], weight: &Matrix<'_>) -> Vec<f64> {
    reference::linear(x, &weight.to_f32(), None, weight.cols())
}
