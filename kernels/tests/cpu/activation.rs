//! Activation of a gated feed-forward layer against its reference.

use kernels::cpu::{Cpu, Isa, gate_mul, sigmoid_mul};
use ops::{GateActivation, reference};

#[test]
fn equals_the_reference_from_minus_200_to_200() {
    for isa in Isa::available() {
        let cpu = Cpu::with_isa(2, isa);
        for width in [1, 16, 80, 1021] {
            let gate_up: Vec<f32> =
                (0..2 * 9 * width).map(|i| ((i * 7919) % 4001) as f32 / 10.0 - 200.0).collect();
            for (activation, wanted, (relative, least)) in [
                (GateActivation::Silu, reference::silu_mul(&gate_up, width, width), (1e-6, 1e-30)),
                (GateActivation::GeluTanh, reference::gelu_mul(&gate_up, width, width), (1e-5, 1e-9)),
            ] {
                let mut out = vec![f32::NAN; 9 * width];
                gate_mul(&cpu, activation, &gate_up, width, &mut out);
                for (a, b) in out.iter().zip(wanted) {
                    let apart = (f64::from(*a) - b).abs();
                    assert!(
                        apart <= relative * b.abs() + least,
                        "{} {activation:?} {width} {a} {b}",
                        isa.name()
                    );
                }
            }
        }
    }
}

#[test]
fn gates_by_a_sigmoid_are_of_values_or_of_rows() {
    let value = |i: usize| ((i * 7919) % 4001) as f32 / 20.0 - 100.0;
    for isa in Isa::available() {
        let cpu = Cpu::with_isa(2, isa);
        for (cols, of_row) in [(37, 37), (37, 1), (16, 16), (1, 1)] {
            let (x, gates): (Vec<f32>, Vec<f32>) =
                ((0..9 * cols).map(value).collect(), (0..9 * of_row).map(|i| value(i + 5)).collect());
            let mut got = x.clone();
            sigmoid_mul(&cpu, &gates, &mut got, cols);
            for (a, b) in got.iter().zip(reference::sigmoid_mul(&x, &gates)) {
                assert!((f64::from(*a) - b).abs() <= 1e-6 * b.abs() + 1e-30, "{} {a} {b}", isa.name());
            }
        }
    }
}
