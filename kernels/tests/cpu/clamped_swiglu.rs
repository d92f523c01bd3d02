//! Activation with clamped gate and up against its reference.

use kernels::cpu::{Cpu, Isa, clamped_swiglu};
use ops::reference;

#[test]
fn equals_the_reference_within_the_limits_and_beyond() {
    for isa in Isa::available() {
        let cpu = Cpu::with_isa(2, isa);
        for count in [1, 16, 37, 5000] {
            let gate_up: Vec<f32> =
                (0..2 * count).map(|i| ((i * 7919) % 4001) as f32 / 100.0 - 20.0).collect();
            let mut out = vec![f32::NAN; count];
            clamped_swiglu(&cpu, &gate_up, (1.702, 7.0), &mut out);
            for (a, b) in out.iter().zip(reference::clamped_swiglu(&gate_up, 1.702, 7.0)) {
                assert!((f64::from(*a) - b).abs() <= 2e-6 * b.abs() + 1e-12, "{} {a} {b}", isa.name());
            }
        }
    }
}
