//! Quantised matrices: how exactly they keep a matrix, and linear layers with them against sums of
//! their own values.

use half::bf16;
use proptest::prelude::*;

use kernels::cpu::{
    Cpu, Elements, Group, InputRounding, Isa, Matrix, Mxfp4, QuantizeError, QuantizeTo, QuantizedMatrix,
    grouped_linear, linear,
};
use ops::StoreMode;

/// Number of neighbours in a row that share a scale.
const GROUP: usize = 32;

fn values(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.0 - 1.0).collect()
}

fn quantized(values: &[f32], rows: usize, to: QuantizeTo) -> QuantizedMatrix {
    let matrix = Matrix::new(Elements::F32(values), rows, values.len() / rows);
    QuantizedMatrix::new(&Cpu::new(2), matrix, to).expect("it can be quantised")
}

/// Returns element `i` of a quantised matrix.
fn get(matrix: &QuantizedMatrix, i: usize) -> f32 {
    Elements::Quantized(matrix).get(i)
}

/// Greatest codes of inputs with eight and with sixteen bits.
pub(crate) const ROUNDINGS: [(InputRounding, f32); 2] =
    [(InputRounding::EightBits, 127.0), (InputRounding::SixteenBits, 32512.0)];

/// Rounds rows `[rows, k]`: in each group, to the greatest magnitude's multiples by one `codes`th.
pub(crate) fn rounded(x: &[f32], k: usize, codes: f32) -> Vec<f64> {
    let round = |group: &[f32]| -> Vec<f64> {
        let most = group.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        let factor = if most > 0.0 { codes / most } else { 0.0 };
        let value = |x: &f32| f64::from((x * factor).round_ties_even()) * f64::from(most / codes);
        group.iter().map(value).collect()
    };
    x.chunks(k).flat_map(|row| row.chunks(GROUP)).flat_map(round).collect()
}

#[test]
fn a_value_is_off_by_at_most_half_a_step_of_its_group() {
    let (rows, cols) = (37, 75);
    let all = values(rows * cols, 3);
    for (to, codes) in [(QuantizeTo::Q8, 254.0), (QuantizeTo::Q4, 15.0)] {
        let packed = quantized(&all, rows, to);
        for (i, value) in all.iter().enumerate() {
            // A group's values span at most 2. The scale's rounding to sixteen bits adds a little
            // error, and a smaller scale, which is better for most values, cuts the ends.
            let step = 2.0 / codes;
            assert!((get(&packed, i) - value).abs() < step * 1.6, "{to:?} {i}: {} {value}", get(&packed, i));
        }
    }
}

#[test]
fn mxfp4_stays_exact() {
    let (rows, cols) = (21, 96);
    let codes: Vec<u8> = (0..rows * cols / 2).map(|i| u8::try_from(i * 89 % 256).expect("a byte")).collect();
    let scales: Vec<u8> = (0..rows * cols / 32).map(|i| u8::try_from(i % 250).expect("a byte")).collect();
    let matrix = Matrix::new(Elements::Mxfp4(Mxfp4::new(&codes, &scales, cols)), rows, cols);
    for to in [QuantizeTo::Q8, QuantizeTo::Q4] {
        let packed = QuantizedMatrix::new(&Cpu::new(1), matrix, to).expect("it can be packed");
        for i in 0..rows * cols {
            assert_eq!(get(&packed, i).to_bits() << 1, matrix.elements().get(i).to_bits() << 1, "{i}");
        }
    }
}

#[test]
fn scales_beyond_sixteen_bits_are_refused_by_row() {
    let mut all = values(20 * 40, 1);
    all[17 * 40 + 35] = 1e9;
    for to in [QuantizeTo::Q8, QuantizeTo::Q4] {
        let matrix = Matrix::new(Elements::F32(&all), 20, 40);
        assert_eq!(QuantizedMatrix::new(&Cpu::new(1), matrix, to).err(), Some(QuantizeError::Range(17)));
    }
}

#[test]
fn weights_that_are_not_finite_are_refused_by_row() {
    for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut all = values(20 * 40, 1);
        all[18 * 40 + 3] = odd;
        for to in [QuantizeTo::Q8, QuantizeTo::Q4] {
            let matrix = Matrix::new(Elements::F32(&all), 20, 40);
            let refused = QuantizedMatrix::new(&Cpu::new(1), matrix, to).err();
            assert_eq!(refused, Some(QuantizeError::Range(18)), "{odd} {to:?}");
        }
    }
}

#[test]
fn every_instruction_set_makes_the_same_codes() {
    let (rows, cols) = (37, 75);
    let all = values(rows * cols, 3);
    let matrix = Matrix::new(Elements::F32(&all), rows, cols);
    for to in [QuantizeTo::Q8, QuantizeTo::Q4] {
        let of = |isa| QuantizedMatrix::new(&Cpu::with_isa(2, isa), matrix, to).expect("it can be quantised");
        let sets: Vec<QuantizedMatrix> = Isa::available().into_iter().map(of).collect();
        for i in 0..rows * cols {
            let first = get(&sets[0], i).to_bits();
            assert!(sets.iter().all(|packed| get(packed, i).to_bits() == first), "{to:?} {i}");
        }
    }
}

#[test]
fn what_is_not_finite_makes_results_that_are_not() {
    let packed = quantized(&values(5 * 64, 1), 5, QuantizeTo::Q8);
    let odd = [f32::NAN, f32::INFINITY];
    for (odd, (inputs, _)) in odd.into_iter().flat_map(|odd| ROUNDINGS.map(|rounding| (odd, rounding))) {
        let mut x = values(64, 2);
        x[40] = odd;
        let mut out = vec![0.0; 5];
        let weight = [Matrix::new(Elements::Quantized(&packed), 5, 64).with_inputs(inputs)];
        linear(&Cpu::new(1), &x, &weight, None, StoreMode::Overwrite, &mut out);
        assert!(out.iter().all(|x| x.is_nan()), "{out:?}");
    }
}

proptest! {
    #[test]
    fn a_linear_layer_sums_up_the_rounded_values(
        rows in 1usize..12, n in 1usize..120, k in 1usize..100, seed in 0usize..100,
    ) {
        let (x, w, bias) = (values(rows * k, seed), values(n * k, seed + 1), values(n, seed + 2));
        let inputs = rounded(&x, k, 127.0);
        for to in [QuantizeTo::Q8, QuantizeTo::Q4] {
            let packed = quantized(&w, n, to);
            let weight = Matrix::new(Elements::Quantized(&packed), n, k);
            for isa in Isa::available() {
                let mut out = vec![0.5; rows * n];
                linear(&Cpu::with_isa(1, isa), &x, &[weight], Some(&bias), StoreMode::Accumulate, &mut out);
                for (i, got) in out.iter().enumerate() {
                    let (m, j) = (i / n, i % n);
                    let products = (0..k).map(|c| inputs[m * k + c] * f64::from(get(&packed, j * k + c)));
                    let wanted = 0.5 + products.sum::<f64>() + f64::from(bias[j]);
                    prop_assert!((f64::from(*got) - wanted).abs() < 1e-4, "{} {got} {wanted}", isa.name());
                }
            }
        }
    }
}

#[test]
fn instruction_sets_give_equal_rows_alone_or_together() {
    let (rows, n, k) = (70, 200, 420);
    let (x, w) = (values(rows * k, 3), values(n * k, 4));
    for to in [QuantizeTo::Q8, QuantizeTo::Q4] {
        let packed = quantized(&w, n, to);
        let weight = Matrix::new(Elements::Quantized(&packed), n, k);
        for isa in Isa::available() {
            let cpu = Cpu::with_isa(3, isa);
            let mut all = vec![0.0; rows * n];
            linear(&cpu, &x, &[weight], None, StoreMode::Overwrite, &mut all);
            let groups = [
                Group { rows: 0..13, parts: vec![weight], bias: None },
                Group { rows: 13..rows, parts: vec![weight], bias: None },
            ];
            let mut grouped = vec![0.0; rows * n];
            grouped_linear(&cpu, &x, &groups, StoreMode::Overwrite, &mut grouped);
            assert_eq!(all, grouped, "{}", isa.name());
            for row in 0..rows {
                let mut alone = vec![0.0; n];
                linear(&cpu, &x[row * k..][..k], &[weight], None, StoreMode::Overwrite, &mut alone);
                assert_eq!(alone, all[row * n..][..n], "{} row {row}", isa.name());
            }
        }
    }
}

#[test]
fn bf16_inputs_round_to_nearest_and_halves_to_even() {
    let (n, k) = (33, 70);
    let w: Vec<bf16> = values(n * k, 2).iter().map(|w| bf16::from_f32(*w)).collect();
    let x = values(7 * k, 1);
    let narrow: Vec<f32> = x.iter().map(|x| bf16::from_f32(*x).to_f32()).collect();
    let weight = Matrix::new(Elements::Bf16(&w), n, k);
    for isa in Isa::available() {
        let cpu = Cpu::with_isa(1, isa);
        let (mut rounded, mut exact) = (vec![0.0; 7 * n], vec![0.0; 7 * n]);
        let pairs = weight.with_inputs(InputRounding::Bf16IfExact);
        linear(&cpu, &x, &[pairs], None, StoreMode::Overwrite, &mut rounded);
        linear(&cpu, &narrow, &[weight], None, StoreMode::Overwrite, &mut exact);
        for (a, b) in rounded.iter().zip(&exact) {
            assert!((a - b).abs() < 1e-4, "{} {a} {b}", isa.name());
        }
    }
}
