//! Activation of a gated feed-forward layer: `silu(gate) * up` or `gelu(gate) * up`, with gate and
//! up side by side in each row (the output of one fused linear layer) or in rows of their own; gates by
//! a sigmoid; bounds of logits by a hyperbolic tangent. Fuses the activation and the product; nothing
//! is accumulated; eˣ as in `Lanes::exp`.

use ops::GateActivation;

use super::Cpu;
use super::isa::Kernel;
use super::lanes::{LANES, Lanes};
use super::output::Output;

/// Number of rows in a task.
const ROWS: usize = 4;
/// Number of values in a task that has no rows.
const VALUES: usize = 1 << 12;

/// Neighbouring columns of a matrix.
#[derive(Debug, Clone, Copy)]
pub struct Columns<'a> {
    /// The matrix, row after row.
    pub rows: &'a [f32],
    /// Width of the matrix.
    pub stride: usize,
    /// The first of the columns.
    pub first: usize,
}

impl<'a> Columns<'a> {
    /// Values of one row.
    #[inline(always)]
    fn row(self, row: usize, width: usize) -> &'a [f32] {
        &self.rows[row * self.stride + self.first..][..width]
    }
}

/// Computes `out[r, i] = activation(gate_up[r, i]) * gate_up[r, width + i]`, for `gate_up`
/// `[rows, 2 * width]` and `out` `[rows, width]`.
///
/// # Panics
/// If the sizes don't fit each other.
pub fn gate_mul(cpu: &Cpu, activation: GateActivation, gate_up: &[f32], width: usize, out: &mut [f32]) {
    assert_eq!(gate_up.len(), 2 * out.len(), "rows of gate_mul");
    let of = |first| Columns { rows: gate_up, stride: 2 * width, first };
    gate_mul_columns(cpu, activation, [of(0), of(width)], width, out);
}

/// Computes `out[r, i] = activation(gate[r, i]) * up[r, i]`, for `width` columns each of gate and
/// up, and `out` `[rows, width]`.
///
/// # Panics
/// If the sizes don't fit each other.
pub fn gate_mul_columns(
    cpu: &Cpu,
    activation: GateActivation,
    [gate, up]: [Columns<'_>; 2],
    width: usize,
    out: &mut [f32],
) {
    let rows = out.len() / width;
    let fit = |all: Columns<'_>| all.first + width <= all.stride && all.rows.len() == rows * all.stride;
    assert!(out.len().is_multiple_of(width) && fit(gate) && fit(up), "rows of gate_mul");
    let cost = out.len() * 8;
    let out = Output::new(out);
    cpu.parallel_for(rows.div_ceil(ROWS), cost, |task| {
        let first = task * ROWS;
        let count = ROWS.min(rows - first);
        #[expect(unsafe_code, reason = "each task its rows")]
        // SAFETY: tasks have disjoint ranges of rows.
        let out = unsafe { out.part(first * width, count * width) };
        cpu.isa().run(GateMul { activation, gate, up, first, width, out });
    });
}

/// Multiplies each value of `x` by the sigmoid of its gate, or each row of `cols` values by the
/// sigmoid of the row's gate.
///
/// # Panics
/// If the sizes don't fit each other.
pub fn sigmoid_mul(cpu: &Cpu, gates: &[f32], x: &mut [f32], cols: usize) {
    let rows = x.len() / cols;
    assert!(x.len().is_multiple_of(cols) && (gates.len() == x.len() || gates.len() == rows), "gates");
    let of_row = gates.len() / rows.max(1);
    let cost = x.len() * 8;
    let out = Output::new(x);
    cpu.parallel_for(rows.div_ceil(ROWS), cost, |task| {
        let first = task * ROWS;
        let count = ROWS.min(rows - first);
        #[expect(unsafe_code, reason = "each task its rows")]
        // SAFETY: tasks have disjoint ranges of rows.
        let x = unsafe { out.part(first * cols, count * cols) };
        let gates = &gates[first * of_row..][..count * of_row];
        cpu.isa().run(SigmoidMul { gates, of_row, x, cols });
    });
}

/// Bounds each value of `x` smoothly: `cap * tanh(x / cap)`.
pub fn soft_cap(cpu: &Cpu, cap: f32, x: &mut [f32]) {
    let len = x.len();
    let out = Output::new(x);
    cpu.parallel_for(len.div_ceil(VALUES), len * 8, |task| {
        let (first, count) = (task * VALUES, VALUES.min(len - task * VALUES));
        #[expect(unsafe_code, reason = "each task its values")]
        // SAFETY: tasks have disjoint ranges.
        let x = unsafe { out.part(first, count) };
        cpu.isa().run(SoftCap { cap, x });
    });
}

struct SoftCap<'a> {
    cap: f32,
    x: &'a mut [f32],
}

impl Kernel for SoftCap<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (factor, cap) = (lanes.splat(2.0 / self.cap), lanes.splat(self.cap));
        for x in self.x.chunks_mut(LANES) {
            // tanh(y) = 1 - 2 / (1 + e²ʸ)
            let e = lanes.exp(lanes.mul(lanes.load_part(x), factor));
            let away = lanes.div(lanes.splat(2.0), lanes.add(lanes.splat(1.0), e));
            lanes.store_part(lanes.mul(cap, lanes.sub(lanes.splat(1.0), away)), x);
        }
    }
}

struct SigmoidMul<'a> {
    gates: &'a [f32],
    /// Number of gates of a row: one, or `cols`.
    of_row: usize,
    x: &'a mut [f32],
    cols: usize,
}

impl Kernel for SigmoidMul<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for (gates, x) in self.gates.chunks_exact(self.of_row).zip(self.x.chunks_exact_mut(self.cols)) {
            if self.of_row == self.cols {
                for (gate, x) in gates.chunks(LANES).zip(x.chunks_mut(LANES)) {
                    gate_part(lanes, lanes.load_part(gate), x);
                }
            } else {
                for x in x.chunks_mut(LANES) {
                    gate_part(lanes, lanes.splat(gates[0]), x);
                }
            }
        }
    }
}

#[inline(always)]
fn gate_part<L: Lanes>(lanes: L, gate: L::V, x: &mut [f32]) {
    let e = lanes.exp(lanes.sub(lanes.splat(0.0), gate));
    lanes.store_part(lanes.div(lanes.load_part(x), lanes.add(lanes.splat(1.0), e)), x);
}

struct GateMul<'a> {
    activation: GateActivation,
    gate: Columns<'a>,
    up: Columns<'a>,
    /// The task's first row.
    first: usize,
    width: usize,
    out: &'a mut [f32],
}

impl Kernel for GateMul<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        match self.activation {
            GateActivation::Silu => self.rows::<L, false>(lanes),
            GateActivation::GeluTanh => self.rows::<L, true>(lanes),
        }
    }
}

impl GateMul<'_> {
    #[inline(always)]
    fn rows<L: Lanes, const GELU: bool>(self, lanes: L) {
        for (row, out) in (self.first..).zip(self.out.chunks_exact_mut(self.width)) {
            let [gate, up] = [self.gate, self.up].map(|columns| columns.row(row, self.width));
            let (gates, gate_rest) = gate.as_chunks::<LANES>();
            let (ups, up_rest) = up.as_chunks::<LANES>();
            let (outs, out_rest) = out.as_chunks_mut::<LANES>();
            for ((gate, up), out) in gates.iter().zip(ups).zip(outs) {
                let gate = activate::<L, GELU>(lanes, lanes.load(gate));
                lanes.store(lanes.mul(gate, lanes.load(up)), out);
            }
            let last = activate::<L, GELU>(lanes, lanes.load_part(gate_rest));
            lanes.store_part(lanes.mul(last, lanes.load_part(up_rest)), out_rest);
        }
    }
}

/// The activation is a constant and no closure: closures aren't compiled with the instructions of
/// their callers.
#[inline(always)]
fn activate<L: Lanes, const GELU: bool>(lanes: L, gate: L::V) -> L::V {
    if GELU { gelu(lanes, gate) } else { silu(lanes, gate) }
}

/// `x · sigmoid(x)`.
#[inline(always)]
pub(super) fn silu<L: Lanes>(lanes: L, gate: L::V) -> L::V {
    let e = lanes.exp(lanes.sub(lanes.splat(0.0), gate));
    lanes.div(gate, lanes.add(lanes.splat(1.0), e))
}

/// GELU with tanh, by `(1 + tanh(y)) / 2 = 1 / (1 + e⁻²ʸ)`.
#[inline(always)]
fn gelu<L: Lanes>(lanes: L, gate: L::V) -> L::V {
    // y = √(2/π) (x + 0.044715 x³)
    const FIRST: f32 = -1.595_769_2;
    const THIRD: f32 = FIRST * 0.044_715;
    let squared = lanes.mul(gate, gate);
    let factor = lanes.fma(squared, lanes.splat(THIRD), lanes.splat(FIRST));
    let e = lanes.exp(lanes.mul(gate, factor));
    lanes.div(gate, lanes.add(lanes.splat(1.0), e))
}
