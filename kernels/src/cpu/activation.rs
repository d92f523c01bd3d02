//! Activation of a gated feed-forward layer: `silu(gate) * up` or `gelu(gate) * up`, with gate and
//! up side by side in each row (the output of one fused linear layer); and gates by a sigmoid. Fuses
//! the activation and the product; nothing is accumulated; eˣ as in `Lanes::exp`.

use ops::GateActivation;

use super::Cpu;
use super::isa::Kernel;
use super::lanes::{LANES, Lanes};
use super::output::Output;

/// Number of rows in a task.
const ROWS: usize = 4;

/// Computes `out[r, i] = activation(gate_up[r, i]) * gate_up[r, width + i]`, for `gate_up`
/// `[rows, 2 * width]` and `out` `[rows, width]`.
///
/// # Panics
/// If the sizes don't fit each other.
pub fn gate_mul(cpu: &Cpu, activation: GateActivation, gate_up: &[f32], width: usize, out: &mut [f32]) {
    assert!(gate_up.len() == 2 * out.len() && out.len().is_multiple_of(width), "rows of gate_mul");
    let rows = out.len() / width;
    let cost = out.len() * 8;
    let out = Output::new(out);
    cpu.parallel_for(rows.div_ceil(ROWS), cost, |task| {
        let first = task * ROWS;
        let count = ROWS.min(rows - first);
        #[expect(unsafe_code, reason = "each task its rows")]
        // SAFETY: tasks have disjoint ranges of rows.
        let out = unsafe { out.part(first * width, count * width) };
        let gate_up = &gate_up[2 * first * width..][..2 * count * width];
        cpu.isa().run(GateMul { activation, gate_up, width, out });
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
    gate_up: &'a [f32],
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
        for (row, out) in self.gate_up.chunks_exact(2 * self.width).zip(self.out.chunks_exact_mut(self.width))
        {
            let (gate, up) = row.split_at(self.width);
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
