//! Activation of gpt-oss's experts: `(up + 1) * gate * sigmoid(alpha * gate)`, with `gate ≤ limit`
//! and `-limit ≤ up ≤ limit`. Gate and up are interleaved in each row. Fuses the clamps, the
//! sigmoid and the products; nothing is accumulated; eˣ as in `Lanes::exp`.

use super::Cpu;
use super::isa::Kernel;
use super::lanes::{LANES, Lanes};
use super::output::Output;

/// Number of values in a task.
const TASK: usize = 1 << 12;

/// Computes `out[i]` from `gate_up[2 * i]` (gate) and `gate_up[2 * i + 1]` (up).
///
/// # Panics
/// If `gate_up` isn't twice as long as `out`.
pub fn clamped_swiglu(cpu: &Cpu, gate_up: &[f32], (alpha, limit): (f32, f32), out: &mut [f32]) {
    assert_eq!(gate_up.len(), 2 * out.len(), "rows of clamped_swiglu");
    let len = out.len();
    let out = Output::new(out);
    cpu.parallel_for(len.div_ceil(TASK), len * 10, |task| {
        let (first, count) = (task * TASK, TASK.min(len - task * TASK));
        #[expect(unsafe_code, reason = "each task its values")]
        // SAFETY: tasks have disjoint ranges.
        let out = unsafe { out.part(first, count) };
        cpu.isa().run(Clamped { gate_up: &gate_up[2 * first..][..2 * count], alpha, limit, out });
    });
}

struct Clamped<'a> {
    gate_up: &'a [f32],
    alpha: f32,
    limit: f32,
    out: &'a mut [f32],
}

impl Kernel for Clamped<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let pairs = self.gate_up.chunks(2 * LANES);
        for (pairs, out) in pairs.zip(self.out.chunks_mut(LANES)) {
            let (mut gate, mut up) = ([0.0; LANES], [0.0; LANES]);
            for (i, pair) in pairs.as_chunks::<2>().0.iter().enumerate() {
                [gate[i], up[i]] = *pair;
            }
            let limit = lanes.splat(self.limit);
            let gate = lanes.min(lanes.load(&gate), limit);
            let up = lanes.max(lanes.min(lanes.load(&up), limit), lanes.splat(-self.limit));
            let e = lanes.exp(lanes.mul(gate, lanes.splat(-self.alpha)));
            let gated = lanes.div(gate, lanes.add(lanes.splat(1.0), e));
            lanes.store_part(lanes.mul(lanes.add(up, lanes.splat(1.0)), gated), out);
        }
    }
}
