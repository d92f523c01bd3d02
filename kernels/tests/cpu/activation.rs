//! Activation of a gated feed-forward layer against its reference.

use kernels::cpu::{Columns, Cpu, Isa, gate_mul, gate_mul_columns, sigmoid_mul, soft_cap};
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
fn gate_and_up_may_be_columns_of_any_rows() {
    let value = |i: usize| ((i * 7919) % 4001) as f32 / 400.0 - 5.0;
    for isa in Isa::available() {
        let cpu = Cpu::with_isa(2, isa);
        for (width, first) in [(1, 0), (20, 3), (33, 40)] {
            let (gates, ups): (Vec<f32>, Vec<f32>) =
                ((0..9 * width).map(value).collect(), (0..9 * 80).map(|i| value(i + 9)).collect());
            let side_by_side = gates.chunks(width).zip(ups.chunks(80));
            let side_by_side = side_by_side.flat_map(|(gate, up)| [gate, &up[first..first + width]].concat());
            let (mut wanted, mut got) = (vec![f32::NAN; 9 * width], vec![f32::NAN; 9 * width]);
            let side_by_side: Vec<f32> = side_by_side.collect();
            gate_mul(&cpu, GateActivation::GeluTanh, &side_by_side, width, &mut wanted);
            let columns = [
                Columns { rows: &gates, stride: width, first: 0 },
                Columns { rows: &ups, stride: 80, first },
            ];
            gate_mul_columns(&cpu, GateActivation::GeluTanh, columns, width, &mut got);
            assert_eq!(got, wanted, "{} {width} {first}", isa.name());
        }
    }
}

#[test]
fn capped_values_stay_within_the_cap() {
    for isa in Isa::available() {
        let cpu = Cpu::with_isa(2, isa);
        for (cap, len) in [(30.0, 9001), (2.5, 37)] {
            let x: Vec<f32> = (0..len).map(|i| ((i * 7919) % 4001) as f32 / 4.0 - 500.0).collect();
            let mut got = x.clone();
            soft_cap(&cpu, cap, &mut got);
            for (a, b) in got.iter().zip(&x) {
                let wanted = f64::from(cap) * (f64::from(*b) / f64::from(cap)).tanh();
                assert!((f64::from(*a) - wanted).abs() < 1e-6 * f64::from(cap), "{} {a} {b}", isa.name());
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
