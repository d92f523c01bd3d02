//! Linear layer: `out[m, n] = Σₖ x[m, k] · weight[n, k]`, f32 accumulation. Fuses the bias and the residual addition.
//!
//! A tile of outputs (4 × 6 with 32 wide registers) is computed at a time. One row of x or hundreds take the same path: with few
//! rows each weight is read from memory once and used for all of them, and what the next tile needs is fetched meanwhile; with
//! many, a block of weight rows stays in the second-level cache while rows of x pass by.
//!
//! - f32, f16 and packed weights are multiplied with x in f32 ([`plain`]): packed ones are widened a tile at a time;
//! - bf16 weights with x in f32, or rounded to bf16, two products at a time ([`pairs`]);
//! - MXFP4 and FP8 with x rounded to bf16 likewise, codes of FP8 without their factors ([`few_mxfp4`], [`fp8`]);
//! - repacked bf16 weights with x rounded to bf16 ([`repacked`]), quantised ones with x rounded to eight bits, in integers
//!   ([`quantized`]): both over [`panels`].
//!
//! The order of a sum is that of the row's elements alone, so a row's result doesn't depend on the rows beside it.

mod chunk;
mod few_mxfp4;
mod fp8;
mod inputs;
mod pairs;
mod panels;
mod plain;
mod quantized;
mod repacked;
mod tile;
mod widened;

use std::ops::Range;

pub(super) use plain::dot_tile;

use super::Cpu;
use super::lanes::LANES;
use super::matrix::{Elements, Matrix};
use super::output::Output;
use inputs::LinearInputs;
use tile::{Columns, Tiles};

/// Weight rows of a task are a multiple of this, as is every tile's width.
const TASK_STEP: usize = 48;
/// Weight rows of a small task. They stay in the second-level cache while rows of x pass by.
const TASK_COLS: usize = 2 * TASK_STEP;
/// Rows of x that are few: weights are read once, and the longer they are read in one go the better.
const FEW_ROWS: usize = 16;
/// Tasks of a thread where rows are few: enough that threads end together.
const LONG_TASKS: usize = 4;

/// What becomes of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// They replace the output.
    Overwrite,
    /// They are added to it (a residual connection).
    Accumulate,
}

/// Neighbouring rows of x that have weights of their own.
#[derive(Debug, Clone)]
pub struct Group<'a> {
    /// Which rows.
    pub rows: Range<usize>,
    /// Weights, stacked by rows.
    pub parts: Vec<Matrix<'a>>,
    /// `[n]`.
    pub bias: Option<&'a [f32]>,
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
    let group = Group { rows: 0..x.len() / parts[0].cols(), parts: parts.to_vec(), bias };
    grouped_linear(cpu, x, &[group], store, out);
}

/// The same with other weights `[n, k]` for each group of rows (experts, heads): x `[rows, k]`, out `[rows, n]`. Rows of no group
/// are left as they are.
///
/// # Panics
/// Where the sizes don't fit each other.
pub fn grouped_linear(cpu: &Cpu, x: &[f32], groups: &[Group<'_>], store: Store, out: &mut [f32]) {
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
    cpu.share(tasks.len(), cost, |i| {
        let Task { group, part, cols, at } = &tasks[i];
        let Group { rows, parts, bias } = &groups[*group];
        let bias = bias.map(|b| &b[*at..at + cols.len()]);
        let (x, at) = (inputs.rows(rows.clone()), rows.start * width + at);
        let tiles = Tiles { x, k, rows: rows.len(), bias, store, out: &out, stride: width, at };
        Columns { tiles, weight: parts[*part], cols: cols.clone() }.run(cpu.isa());
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

/// Some rows of one part of a group, and the column of the output that they begin at.
struct Task {
    group: usize,
    part: usize,
    cols: Range<usize>,
    at: usize,
}

/// Weight rows of a task of this group.
fn task_cols(cpu: &Cpu, groups: &[Group<'_>], group: &Group<'_>) -> usize {
    if group.rows.len() > FEW_ROWS {
        return TASK_COLS;
    }
    let tasks = (cpu.threads() * LONG_TASKS).div_ceil(groups.len());
    group.width().div_ceil(tasks).next_multiple_of(task_step(group))
}

/// What a long task's weight rows are a multiple of: whole tiles, or whole panels where a row takes them one by one, so that a narrow
/// matrix is shared out evenly.
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

/// What it means, in f64, without bias and with inputs as they are.
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
