//! RMS norm: `x / sqrt(mean(x²) + eps) * weight` per row. One pass for the squares, one to scale;
//! all in f32, squares summed in sixteen lanes.

use ops::{Norm, StoreMode};

use super::Cpu;
use super::isa::Kernel;
use super::lanes::{LANES, Lanes};
use super::output::Output;

/// Number of rows in a task.
const ROWS: usize = 8;

/// Normalises each row of `x` `[rows, norm.weight.len()]` into `out` of the same shape, or adds it
/// to `out`.
///
/// # Panics
/// If the sizes don't fit each other.
pub fn rms_norm(cpu: &Cpu, x: &[f32], norm: Norm<&[f32]>, store: StoreMode, out: &mut [f32]) {
    let cols = norm.weight.len();
    assert!(x.len() == out.len() && x.len().is_multiple_of(cols), "rows of rms_norm");
    let rows = x.len() / cols;
    let out = Output::new(out);
    cpu.parallel_for(rows.div_ceil(ROWS), x.len() * 4, |task| {
        let first = task * ROWS;
        let count = ROWS.min(rows - first);
        #[expect(unsafe_code, reason = "each task its rows")]
        // SAFETY: tasks have disjoint ranges of rows.
        let out = unsafe { out.part(first * cols, count * cols) };
        cpu.isa().run(Rows { x: &x[first * cols..][..count * cols], norm, store, out });
    });
}

struct Rows<'a> {
    x: &'a [f32],
    norm: Norm<&'a [f32]>,
    store: StoreMode,
    out: &'a mut [f32],
}

impl Kernel for Rows<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Norm { weight, eps } = self.norm;
        let cols = weight.len();
        for (x, out) in self.x.chunks_exact(cols).zip(self.out.chunks_exact_mut(cols)) {
            match self.store {
                StoreMode::Overwrite => scale_row(lanes, x, weight, eps, out),
                StoreMode::Accumulate => add_scaled_row(lanes, x, weight, eps, out),
            }
        }
    }
}

/// Normalises one row in place, without a weight.
#[inline(always)]
pub(super) fn normalize_row_in_place<L: Lanes>(lanes: L, x: &mut [f32], eps: f32) {
    let scale = lanes.splat(inverse_rms(lanes, x, eps));
    x.chunks_mut(LANES).for_each(|x| lanes.store_part(lanes.mul(lanes.load_part(x), scale), x));
}

/// Normalises one row in place.
#[inline(always)]
pub(super) fn scale_row_in_place<L: Lanes>(lanes: L, x: &mut [f32], weight: &[f32], eps: f32) {
    let scale = lanes.splat(inverse_rms(lanes, x, eps));
    let (chunks, rest) = x.as_chunks_mut::<LANES>();
    let (weights, weight_rest) = weight.as_chunks::<LANES>();
    for (x, w) in chunks.iter_mut().zip(weights) {
        lanes.store(lanes.mul(lanes.mul(lanes.load(x), scale), lanes.load(w)), x);
    }
    let scaled = lanes.mul(lanes.load_part(rest), scale);
    lanes.store_part(lanes.mul(scaled, lanes.load_part(weight_rest)), rest);
}

/// Normalises one row.
#[inline(always)]
pub(super) fn scale_row<L: Lanes>(lanes: L, x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    let scale = lanes.splat(inverse_rms(lanes, x, eps));
    let (chunks, rest) = x.as_chunks::<LANES>();
    let (weights, weight_rest) = weight.as_chunks::<LANES>();
    let (outs, out_rest) = out.as_chunks_mut::<LANES>();
    for ((x, w), out) in chunks.iter().zip(weights).zip(outs) {
        lanes.store(lanes.mul(lanes.mul(lanes.load(x), scale), lanes.load(w)), out);
    }
    let scaled = lanes.mul(lanes.load_part(rest), scale);
    lanes.store_part(lanes.mul(scaled, lanes.load_part(weight_rest)), out_rest);
}

/// Normalises one row, and adds it to `out`.
#[inline(always)]
fn add_scaled_row<L: Lanes>(lanes: L, x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    let scale = lanes.splat(inverse_rms(lanes, x, eps));
    let rows = x.chunks(LANES).zip(weight.chunks(LANES)).zip(out.chunks_mut(LANES));
    for ((x, w), out) in rows {
        let scaled = lanes.mul(lanes.mul(lanes.load_part(x), scale), lanes.load_part(w));
        lanes.store_part(lanes.add(lanes.load_part(out), scaled), out);
    }
}

/// Returns `1 / sqrt(mean(x²) + eps)`.
#[inline(always)]
fn inverse_rms<L: Lanes>(lanes: L, x: &[f32], eps: f32) -> f32 {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut squares = lanes.splat(0.0);
    for chunk in chunks {
        let v = lanes.load(chunk);
        squares = lanes.fma(v, v, squares);
    }
    let v = lanes.load_part(rest);
    squares = lanes.fma(v, v, squares);
    1.0 / (lanes.sum(squares) / x.len() as f32 + eps).sqrt()
}
