//! Activation of a gated feed-forward layer (`SwiGLU`): `silu(gate) * up`, with gate and up side by
//! side in each row (the output of one fused linear layer). Fuses the sigmoid and both products;
//! nothing is accumulated; eˣ as in `Lanes::exp`.

use super::Cpu;
use super::isa::Kernel;
use super::lanes::{LANES, Lanes};
use super::output::Output;

/// Number of rows in a task.
const ROWS: usize = 4;

/// Computes `out[r, i] = gate_up[r, i] / (1 + exp(-gate_up[r, i])) * gate_up[r, width + i]`, for
/// `gate_up` `[rows, 2 * width]` and `out` `[rows, width]`.
///
/// # Panics
/// If the sizes don't fit each other.
pub fn silu_mul(cpu: &Cpu, gate_up: &[f32], width: usize, out: &mut [f32]) {
    assert!(gate_up.len() == 2 * out.len() && out.len().is_multiple_of(width), "rows of silu_mul");
    let rows = out.len() / width;
    let cost = out.len() * 8;
    let out = Output::new(out);
    cpu.parallel_for(rows.div_ceil(ROWS), cost, |task| {
        let first = task * ROWS;
        let count = ROWS.min(rows - first);
        #[expect(unsafe_code, reason = "each task its rows")]
        // SAFETY: tasks have disjoint ranges of rows.
        let out = unsafe { out.part(first * width, count * width) };
        cpu.isa().run(SiluMul { gate_up: &gate_up[2 * first * width..][..2 * count * width], width, out });
    });
}

struct SiluMul<'a> {
    gate_up: &'a [f32],
    width: usize,
    out: &'a mut [f32],
}

impl Kernel for SiluMul<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for (row, out) in self.gate_up.chunks_exact(2 * self.width).zip(self.out.chunks_exact_mut(self.width))
        {
            let (gate, up) = row.split_at(self.width);
            let (gates, gate_rest) = gate.as_chunks::<LANES>();
            let (ups, up_rest) = up.as_chunks::<LANES>();
            let (outs, out_rest) = out.as_chunks_mut::<LANES>();
            for ((gate, up), out) in gates.iter().zip(ups).zip(outs) {
                lanes.store(silu(lanes, lanes.load(gate), lanes.load(up)), out);
            }
            lanes.store_part(silu(lanes, lanes.load_part(gate_rest), lanes.load_part(up_rest)), out_rest);
        }
    }
}

#[inline(always)]
fn silu<L: Lanes>(lanes: L, gate: L::V, up: L::V) -> L::V {
    let e = lanes.exp(lanes.sub(lanes.splat(0.0), gate));
    lanes.mul(lanes.div(gate, lanes.add(lanes.splat(1.0), e)), up)
}
