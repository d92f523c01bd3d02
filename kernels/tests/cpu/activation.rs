//! Activation of a gated feed-forward layer against its reference.

use kernels::cpu::{Cpu, Isa, silu_mul};
use ops::reference;

#[test]
fn equals_the_reference_from_minus_200_to_200() {
    for isa in Isa::available() {
        let cpu = Cpu::with_isa(2, isa);
        for width in [1, 16, 80, 1021] {
            let gate_up: Vec<f32> =
                (0..2 * 9 * width).map(|i| ((i * 7919) % 4001) as f32 / 10.0 - 200.0).collect();
            let mut out = vec![f32::NAN; 9 * width];
            silu_mul(&cpu, &gate_up, width, &mut out);
            for (a, b) in out.iter().zip(reference::silu_mul(&gate_up, width, width)) {
                assert!(
                    (f64::from(*a) - b).abs() <= 1e-6 * b.abs() + 1e-30,
                    "{} {width} {a} {b}",
                    isa.name()
                );
            }
        }
    }
}
