//! Linear layers against the reference, and against themselves with the work cut differently.

use half::{bf16, f16};
use proptest::prelude::*;

use kernels::cpu::{
    Cpu, Elements, Fp8Blocks, Group, InputRounding, Isa, Matrix, Mxfp4, RepackedMatrix, embed,
    grouped_linear, linear, linear_reference,
};
use ops::StoreMode;

/// Number of codes that one load takes.
const LOAD: usize = 32;

fn values(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.0 - 1.0).collect()
}

proptest! {
    #[test]
    fn equals_the_reference_for_every_type_and_shape(
        rows in 1usize..12, n in 1usize..120, k in 1usize..100, split in 0usize..120, seed in 0usize..100,
    ) {
        let (x, w) = (values(rows * k, seed), values(n * k, seed + 1));
        let b: Vec<bf16> = w.iter().map(|w| bf16::from_f32(*w)).collect();
        let h: Vec<f16> = w.iter().map(|w| f16::from_f32(*w)).collect();
        let first = split.min(n - 1);
        for (upper, lower) in [
            (Elements::F32(&w[..first * k]), Elements::F32(&w[first * k..])),
            (Elements::Bf16(&b[..first * k]), Elements::Bf16(&b[first * k..])),
            (Elements::F16(&h[..first * k]), Elements::F16(&h[first * k..])),
        ] {
            let parts = [Matrix::new(upper, first, k), Matrix::new(lower, n - first, k)];
            let bias = values(n, seed + 2);
            let (top, bottom) = (linear_reference(&x, &parts[0]), linear_reference(&x, &parts[1]));
            for isa in Isa::available() {
                let mut out = vec![0.5; rows * n];
                linear(&Cpu::with_isa(1, isa), &x, &parts, Some(&bias), StoreMode::Accumulate, &mut out);
                for (i, got) in out.iter().enumerate() {
                    let (m, j) = (i / n, i % n);
                    let sum = if j < first { top[m * first + j] } else { bottom[m * (n - first) + j - first] };
                    let wanted = 0.5 + sum + f64::from(bias[j]);
                    prop_assert!((f64::from(*got) - wanted).abs() < 1e-4, "{} {got} {wanted}", isa.name());
                }
            }
        }
    }
}

/// Codes and scales of a matrix with packed weights of either kind. The last blocks of FP8 are cut.
struct Packed {
    fp8: Vec<u8>,
    fp8_scales: Vec<f32>,
    mxfp4: Vec<u8>,
    mxfp4_scales: Vec<u8>,
    rows: usize,
}

const COLS: usize = 416;

#[expect(clippy::cast_possible_truncation, reason = "codes below 256")]
fn packed(rows: usize) -> Packed {
    let blocks = rows.div_ceil(48) * COLS.div_ceil(128);
    Packed {
        fp8: (0..rows * COLS).map(|i| (((i * 89 + i / 7) % 0x70) | (i % 2 * 0x80)) as u8).collect(),
        fp8_scales: (0..blocks).map(|i| 0.01 + i as f32 * 0.003).collect(),
        mxfp4: (0..rows * COLS / 2).map(|i| (i * 37 + i / 11) as u8).collect(),
        mxfp4_scales: (0..rows * COLS / 32).map(|i| 120 + (i % 5) as u8).collect(),
        rows,
    }
}

impl Packed {
    fn both(&self) -> [Matrix<'_>; 2] {
        let fp8 = Elements::Fp8(Fp8Blocks::new(&self.fp8, COLS, &self.fp8_scales, (48, 128)));
        let mxfp4 = Elements::Mxfp4(Mxfp4::new(&self.mxfp4, &self.mxfp4_scales, COLS));
        [fp8, mxfp4].map(|elements| Matrix::new(elements, self.rows, COLS))
    }
}

#[test]
fn packed_weights_equal_their_widened_values_bitwise() {
    for n in [1, 5, 100] {
        let packed = packed(n);
        for matrix in packed.both() {
            let widened = matrix.to_f32();
            let plain = Matrix::new(Elements::F32(&widened), n, COLS);
            let (rows, x) = (70, values(70 * COLS, 5));
            for isa in Isa::available() {
                let (mut out, mut wanted) = (vec![0.0; rows * n], vec![0.0; rows * n]);
                let cpu = Cpu::with_isa(2, isa);
                linear(&cpu, &x, &[matrix], None, StoreMode::Overwrite, &mut out);
                linear(&cpu, &x, &[plain], None, StoreMode::Overwrite, &mut wanted);
                assert_eq!(out, wanted, "{} {n}", isa.name());
            }
        }
    }
}

#[test]
fn mxfp4_with_rounded_inputs_equals_its_bf16_bitwise() {
    for (n, scales) in [(1, [120, 121, 122]), (5, [2, 127, 252]), (100, [0, 1, 254])] {
        let mut packed = packed(n);
        packed.mxfp4_scales.iter_mut().enumerate().for_each(|(i, scale)| *scale = scales[i % 3]);
        let matrix = packed.both()[1].with_inputs(InputRounding::Bf16IfExact);
        let widened: Vec<bf16> = matrix.to_f32().into_iter().map(bf16::from_f32).collect();
        let plain = Matrix::new(Elements::Bf16(&widened), n, COLS).with_inputs(InputRounding::Bf16IfExact);
        let x = values(9 * COLS, 5);
        for (isa, rows) in
            Isa::available().into_iter().flat_map(|isa| [1, 3, 4, 8, 9].map(|rows| (isa, rows)))
        {
            let x = &x[..rows * COLS];
            let (mut out, mut wanted) = (vec![0.0; rows * n], vec![0.0; rows * n]);
            let cpu = Cpu::with_isa(2, isa);
            linear(&cpu, x, &[matrix], None, StoreMode::Overwrite, &mut out);
            linear(&cpu, x, &[plain], None, StoreMode::Overwrite, &mut wanted);
            let bits = |all: &[f32]| all.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&out), bits(&wanted), "{} {n} {rows}", isa.name());
        }
    }
}

/// FP8 with rounded inputs, block by block: every result is near the reference with rounded inputs,
/// and equals that of a row alone.
#[test]
fn fp8_rounded_inputs_are_near_and_same_in_any_batch() {
    for n in [1, 5, 100] {
        let packed = packed(n);
        let matrix = packed.both()[0].with_inputs(InputRounding::Bf16IfExact);
        let x: Vec<f32> = values(70 * COLS, 5).into_iter().map(|x| bf16::from_f32(x).to_f32()).collect();
        let wanted = linear_reference(&x, &matrix);
        let largest = wanted.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        for isa in Isa::available() {
            let (one, all) = (Cpu::with_isa(1, isa), Cpu::with_isa(2, isa));
            let mut out = vec![0.0; 70 * n];
            linear(&all, &x, &[matrix], None, StoreMode::Overwrite, &mut out);
            for (got, wanted) in out.iter().zip(&wanted) {
                assert!((f64::from(*got) - wanted).abs() < 1e-5 * largest, "{} {got} {wanted}", isa.name());
            }
            for rows in [1, 2, 3, 8] {
                let mut few = vec![0.0; rows * n];
                linear(&one, &x[..rows * COLS], &[matrix], None, StoreMode::Overwrite, &mut few);
                assert_eq!(few, out[..rows * n], "{} {n} {rows}", isa.name());
            }
        }
    }
}

/// A row of x with a single one and zeros gives a column of the weights unchanged.
#[test]
fn fp8_codes_are_exact_in_registers_and_in_memory() {
    let codes: Vec<u8> = (0..=255).map(|code| if code & 0x7f == 0x7f { 0 } else { code }).collect();
    let (k, n) = (LOAD, 256 / LOAD);
    let blocks = Fp8Blocks::new(&codes, k, &[0.75], (n, k));
    let matrix = Matrix::new(Elements::Fp8(blocks), n, k).with_inputs(InputRounding::Bf16IfExact);
    let ones: Vec<f32> = (0..k * k).map(|i| if i / k == i % k { 1.0 } else { 0.0 }).collect();
    for isa in Isa::available() {
        let mut out = vec![0.0; k * n];
        linear(&Cpu::with_isa(1, isa), &ones, &[matrix], None, StoreMode::Overwrite, &mut out);
        for (row, out) in out.chunks(n).enumerate() {
            let mut alone = vec![0.0; n];
            let one = &ones[row * k..][..k];
            linear(&Cpu::with_isa(1, isa), one, &[matrix], None, StoreMode::Overwrite, &mut alone);
            let wanted: Vec<f32> = (0..n).map(|col| matrix.elements().get(col * k + row)).collect();
            assert_eq!((out, &alone[..]), (&wanted[..], &wanted[..]), "{} column {row}", isa.name());
        }
    }
}

#[test]
fn row_groups_have_their_own_weights_and_others_stay() {
    let (n, k) = (50, 30);
    let (x, one, other) = (values(9 * k, 1), values(n * k, 2), values(n * k, 3));
    let bias = values(n, 4);
    let matrix = |weights| Matrix::new(Elements::F32(weights), n, k);
    let groups = [
        Group { rows: 0..2, parts: vec![matrix(&one)], bias: Some(&bias) },
        Group { rows: 3..8, parts: vec![matrix(&other)], bias: None },
    ];
    for isa in Isa::available() {
        let cpu = Cpu::with_isa(3, isa);
        let mut out = vec![7.0; 9 * n];
        grouped_linear(&cpu, &x, &groups, StoreMode::Overwrite, &mut out);
        for Group { rows, parts, bias } in &groups {
            let mut alone = vec![0.0; rows.len() * n];
            let x = &x[rows.start * k..rows.end * k];
            linear(&cpu, x, parts, *bias, StoreMode::Overwrite, &mut alone);
            assert_eq!(alone, out[rows.start * n..rows.end * n], "{}", isa.name());
        }
        assert!(out[2 * n..3 * n].iter().chain(&out[8 * n..]).all(|x| (x - 7.0).abs() < f32::EPSILON));
    }
}

#[test]
fn repacked_weights_keep_values_and_reference_sums() {
    for (n, k) in [(1, 1), (5, 31), (16, 64), (50, 33), (100, 416)] {
        let w: Vec<bf16> = values(n * k, 6).into_iter().map(bf16::from_f32).collect();
        let plain = Matrix::new(Elements::Bf16(&w), n, k);
        let repacked = RepackedMatrix::new(&Cpu::new(2), &w, (n, k)).expect("memory");
        let matrix = Matrix::new(Elements::Repacked(&repacked), n, k);
        assert_eq!(matrix.to_f32(), plain.to_f32());
        let x: Vec<f32> = values(70 * k, 5).into_iter().map(|x| bf16::from_f32(x).to_f32()).collect();
        let (wanted, bias) = (linear_reference(&x, &plain), values(n, 7));
        let largest = wanted.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        for isa in Isa::available() {
            let (mut out, mut row) = (vec![0.5; 70 * n], vec![0.0; k]);
            let cpu = Cpu::with_isa(2, isa);
            linear(&cpu, &x, &[matrix], Some(&bias), StoreMode::Accumulate, &mut out);
            for (i, (got, wanted)) in out.iter().zip(&wanted).enumerate() {
                let wanted = 0.5 + wanted + f64::from(bias[i % n]);
                assert!((f64::from(*got) - wanted).abs() < 1e-5 * largest, "{} {got} {wanted}", isa.name());
            }
            embed(&cpu, matrix, &[u32::try_from(n - 1).expect("few")], &mut row);
            assert_eq!(row, plain.to_f32()[(n - 1) * k..]);
        }
    }
}

#[test]
fn row_is_bit_equal_in_any_batch_and_any_threads() {
    let (rows, n, k) = (150, 200, 777);
    let x = values(rows * k, 3);
    let w: Vec<bf16> = values(n * k, 4).into_iter().map(bf16::from_f32).collect();
    let repacked = RepackedMatrix::new(&Cpu::new(1), &w, (n, k)).expect("memory");
    let plain = Matrix::new(Elements::Bf16(&w), n, k);
    let weights = [
        plain,
        plain.with_inputs(InputRounding::Bf16IfExact),
        Matrix::new(Elements::Repacked(&repacked), n, k),
    ];
    for (isa, weight) in Isa::available().into_iter().flat_map(|isa| weights.map(|weight| (isa, weight))) {
        let mut all = vec![0.0; rows * n];
        linear(&Cpu::with_isa(3, isa), &x, &[weight], None, StoreMode::Overwrite, &mut all);
        let one_thread = Cpu::with_isa(1, isa);
        // Tiles of every height.
        let heights = [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 15, 16];
        for (first, height) in (0..rows).map(|row| (row, heights[row % heights.len()].min(rows - row))) {
            let mut few = vec![0.0; height * n];
            let x = &x[first * k..][..height * k];
            linear(&one_thread, x, &[weight], None, StoreMode::Overwrite, &mut few);
            assert_eq!(few, all[first * n..][..height * n], "{} rows {first} + {height}", isa.name());
        }
    }
}
