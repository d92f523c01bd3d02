//! Blocks of GGUF files: their values against those of the package `gguf`, and linear layers with
//! them, as stored and in panels, against sums of these values.

#![expect(clippy::cast_possible_truncation, reason = "bytes of a pattern")]
#![expect(clippy::float_cmp, reason = "exact values")]

use std::sync::LazyLock;

use kernels::cpu::{
    Cpu, Elements, FileBlocks, Group, InputRounding, Isa, Matrix, QuantizeError, QuantizeTo, QuantizedMatrix,
    embed, grouped_linear, linear, linear_reference,
};
use kernels::ggml::BlockType;
use ops::StoreMode;

use crate::quantized::{ROUNDINGS, rounded};

/// Blocks of a type and their values, which `ggml/make.py` made.
struct Fixture {
    kind: BlockType,
    blocks: &'static [u8],
    values: Vec<f32>,
}

static FIXTURES: LazyLock<Vec<Fixture>> = LazyLock::new(|| {
    let mut rest: &[u8] = include_bytes!("../ggml/blocks.bin");
    let mut all = Vec::new();
    while !rest.is_empty() {
        let number = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
        let kind = BlockType::from_id(number(0)).expect("a known type");
        let count = number(4) as usize;
        let (blocks, behind) = rest[8..].split_at(count * kind.block_bytes());
        let (values, behind) = behind.split_at(count * kind.block_len() * 4);
        let values = values.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        all.push(Fixture { kind, blocks, values });
        rest = behind;
    }
    all
});

/// A matrix of a type whose rows are the fixture's blocks, beginning at other ones, with factors near
/// one, so that no row's sum hides the others'.
struct Weights {
    kind: BlockType,
    bytes: Vec<u8>,
    rows: usize,
    cols: usize,
}

impl Weights {
    fn new(kind: BlockType, rows: usize, blocks: usize) -> Self {
        let size = kind.block_bytes();
        let mut bytes: Vec<u8> =
            (0..rows * blocks * size).map(|i| (i * 7919 % 65_521 * 31 % 251) as u8).collect();
        for (i, block) in bytes.chunks_exact_mut(size).enumerate() {
            // Half floats from about 0.5 to 1 of both signs.
            let half = |i: usize| {
                u16::from_le_bytes([(i * 37 % 251) as u8, 0x38 | (i % 3) as u8 | (i % 2 * 0x80) as u8])
            };
            for n in 0..factors_of(kind) {
                set_factor(kind, block, n, half(i + n));
            }
            match kind {
                BlockType::MXFP4 => block[0] = 125 + (i % 5) as u8,
                // Factors from 0.5 to 4.
                BlockType::NVFP4 => block[..4].iter_mut().for_each(|byte| *byte = 0x38 + *byte % 24),
                _ => {}
            }
        }
        Self { kind, bytes, rows, cols: blocks * kind.block_len() }
    }

    fn stored(&self) -> Matrix<'_> {
        let blocks = FileBlocks::new(self.kind, &self.bytes, self.cols);
        Matrix::new(Elements::FileBlocks(blocks), self.rows, self.cols)
    }

    fn packed(&self, cpu: &Cpu) -> Result<QuantizedMatrix, QuantizeError> {
        QuantizedMatrix::new(cpu, self.stored(), QuantizeTo::Q4)
    }
}

/// Number of half floats in a block.
fn factors_of(kind: BlockType) -> usize {
    match kind {
        BlockType::MXFP4 | BlockType::NVFP4 => 0,
        BlockType::Q4_1 | BlockType::Q5_1 | BlockType::Q2_K | BlockType::Q4_K | BlockType::Q5_K => 2,
        _ => 1,
    }
}

/// Sets half float `n` of a block.
fn set_factor(kind: BlockType, block: &mut [u8], n: usize, bits: u16) {
    if kind == BlockType::IQ1_M {
        for digit in 0..4 {
            let byte = &mut block[49 + 2 * digit];
            *byte = *byte & 15 | ((bits >> (4 * digit) & 15) as u8) << 4;
        }
        return;
    }
    let first = match kind {
        BlockType::Q2_K => 80,
        BlockType::Q3_K => 108,
        BlockType::Q6_K => 208,
        BlockType::TQ1_0 => 52,
        BlockType::TQ2_0 => 64,
        _ => 0,
    };
    block[first + 2 * n..first + 2 * n + 2].copy_from_slice(&bits.to_le_bytes());
}

fn values(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.0 - 1.0).collect()
}

#[test]
fn values_are_those_of_gguf_bit_for_bit() {
    // All types but Q1_0 and Q2_0, which the package doesn't dequantize.
    assert_eq!(FIXTURES.len(), BlockType::ALL.len() - 2);
    for Fixture { kind, blocks, values } in FIXTURES.iter() {
        let blocks = FileBlocks::new(*kind, blocks, values.len());
        let matrix = Matrix::new(Elements::FileBlocks(blocks), 1, values.len());
        let mut row = vec![f32::NAN; values.len()];
        embed(&Cpu::new(1), matrix, &[0], &mut row);
        for (i, value) in values.iter().enumerate() {
            let got = [row[i].to_bits(), matrix.elements().get(i).to_bits()];
            assert_eq!(got, [value.to_bits(); 2], "{} {i}", kind.name());
        }
    }
}

#[test]
fn bits_of_q1_are_signs_of_the_factor() {
    let mut block = [0; 18];
    block[..2].copy_from_slice(&0x3c00u16.to_le_bytes());
    (block[2], block[17]) = (0b0000_0101, 0b1000_0000);
    let blocks = FileBlocks::new(BlockType::Q1_0, &block, 128);
    let values = Matrix::new(Elements::FileBlocks(blocks), 1, 128).to_f32();
    let plus: Vec<usize> = (0..128).filter(|i| values[*i] == 1.0).collect();
    assert_eq!(plus, [0, 2, 127]);
    assert_eq!(values.iter().filter(|value| **value == -1.0).count(), 125);
}

#[test]
fn codes_of_q2_are_from_minus_one_to_two() {
    let mut block = [0; 18];
    block[..2].copy_from_slice(&0x4000u16.to_le_bytes());
    (block[2], block[17]) = (0b11_10_01_00, 0b11_00_00_00);
    let blocks = FileBlocks::new(BlockType::Q2_0, &block, 64);
    let values = Matrix::new(Elements::FileBlocks(blocks), 1, 64).to_f32();
    assert_eq!((&values[..5], values[63]), (&[-2.0, 0.0, 2.0, 4.0, -2.0][..], 4.0));
}

#[test]
fn nvfp4_values_have_the_factor_of_the_matrix() {
    let weights = Weights::new(BlockType::NVFP4, 20, 3);
    let plain = weights.stored().to_f32();
    let blocks = FileBlocks::new(BlockType::NVFP4, &weights.bytes, weights.cols).with_factor(0.375);
    let stored = Matrix::new(Elements::FileBlocks(blocks), 20, weights.cols);
    let packed = QuantizedMatrix::new(&Cpu::new(1), stored, QuantizeTo::Q8).unwrap();
    let table = Matrix::new(Elements::Quantized(&packed), 20, weights.cols);
    let x = values(weights.cols, 1);
    let of = |matrix: Matrix<'_>| {
        let mut out = vec![0.0; 20];
        linear(&Cpu::new(1), &x, &[matrix], None, StoreMode::Overwrite, &mut out);
        out
    };
    let one = weights.packed(&Cpu::new(1)).unwrap();
    let alone = of(Matrix::new(Elements::Quantized(&one), 20, weights.cols));
    // A factor of two bits changes no other bit.
    let times = |all: Vec<f32>| all.into_iter().map(|value| value * 0.375).collect::<Vec<_>>();
    assert_eq!((stored.to_f32(), table.to_f32()), (times(plain.clone()), times(plain)));
    let scale = alone.iter().fold(0f32, |most, x| most.max(x.abs()));
    for (got, wanted) in of(table).into_iter().zip(times(alone)) {
        assert!((got - wanted).abs() < 1e-5 * scale, "{got} {wanted}");
    }
}

#[test]
fn panels_keep_every_value() {
    for Fixture { kind, blocks, values } in FIXTURES.iter() {
        // Two rows of the fixture; then rows that aren't whole panels.
        let cols = values.len() / 2;
        let stored = Matrix::new(Elements::FileBlocks(FileBlocks::new(*kind, blocks, cols)), 2, cols);
        let weights = Weights::new(*kind, 37, 3);
        for stored in [stored, weights.stored()] {
            let packed =
                QuantizedMatrix::new(&Cpu::new(2), stored, QuantizeTo::Q8).expect("it can be packed");
            assert_eq!(packed.type_name(), kind.name());
            let table = Matrix::new(Elements::Quantized(&packed), stored.rows(), stored.cols());
            let mut row = vec![f32::NAN; stored.cols()];
            let last = u32::try_from(stored.rows() - 1).unwrap();
            embed(&Cpu::new(1), table, &[last], &mut row);
            let (got, wanted) = (table.to_f32(), stored.to_f32());
            // Equal but for the sign of zero.
            assert!(got == wanted && row == wanted[wanted.len() - row.len()..], "{}", kind.name());
        }
    }
}

#[test]
fn factors_that_are_not_finite_are_refused_by_row() {
    for kind in BlockType::ALL {
        let size = kind.block_bytes();
        for (n, odd) in (0..factors_of(kind)).flat_map(|n| [(n, 0x7c00), (n, 0xfe00)]) {
            let mut weights = Weights::new(kind, 20, 2);
            assert!(weights.bytes.chunks_exact(size).all(|block| kind.is_finite(block)), "{}", kind.name());
            let bad = 18 * 2 + 1;
            set_factor(kind, &mut weights.bytes[bad * size..][..size], n, odd);
            let first = weights.bytes.chunks_exact(size).position(|block| !kind.is_finite(block));
            assert_eq!(first, Some(bad), "{}", kind.name());
            assert_eq!(weights.packed(&Cpu::new(2)).err(), Some(QuantizeError::Range(18)), "{}", kind.name());
        }
    }
    for (kind, factor) in [(BlockType::Q4_0, [0, 0x71]), (BlockType::MXFP4, [255, 0])] {
        let mut weights = Weights::new(kind, 20, 2);
        weights.bytes[3 * 2 * kind.block_bytes()..][..2].copy_from_slice(&factor);
        assert_eq!(weights.packed(&Cpu::new(1)).err(), Some(QuantizeError::Range(3)), "{}", kind.name());
    }
}

#[test]
fn a_linear_layer_sums_up_the_rounded_inputs() {
    for kind in BlockType::ALL {
        for (rows, n, blocks) in [(1, 33, 2), (7, 50, 1), (5, 16, 3)] {
            let weights = Weights::new(kind, n, blocks);
            let packed = weights.packed(&Cpu::new(1)).unwrap();
            let (k, all) = (weights.cols, weights.stored().to_f32());
            let (x, bias) = (values(rows * k, rows), values(n, 2));
            let weight = Matrix::new(Elements::Quantized(&packed), n, k);
            let cases =
                Isa::available().into_iter().flat_map(|isa| ROUNDINGS.map(|rounding| (isa, rounding)));
            for (isa, (rounding, codes)) in cases {
                let (inputs, weight) = (rounded(&x, k, codes), weight.with_inputs(rounding));
                let mut out = vec![0.5; rows * n];
                linear(&Cpu::with_isa(1, isa), &x, &[weight], Some(&bias), StoreMode::Accumulate, &mut out);
                for (i, got) in out.iter().enumerate() {
                    let (m, j) = (i / n, i % n);
                    let products = inputs[m * k..][..k].iter().zip(&all[j * k..][..k]);
                    let products: Vec<f64> = products.map(|(x, w)| x * f64::from(*w)).collect();
                    let wanted = 0.5 + products.iter().sum::<f64>() + f64::from(bias[j]);
                    // Roundings of f32, in parts of the sum of magnitudes.
                    let bound = 1e-6 * (1.0 + products.iter().map(|x| x.abs()).sum::<f64>());
                    let error = (f64::from(*got) - wanted).abs();
                    assert!(error < bound, "{} {} {i}: {got} {wanted} {bound}", kind.name(), isa.name());
                }
            }
        }
    }
}

#[test]
fn sixteen_bits_of_inputs_are_a_hundred_times_nearer_than_eight() {
    for kind in BlockType::ALL {
        let (rows, n, weights) = (3, 40, Weights::new(kind, 40, 2));
        let packed = weights.packed(&Cpu::new(1)).unwrap();
        let x = values(rows * weights.cols, 5);
        let wanted = linear_reference(&x, &weights.stored());
        for isa in Isa::available() {
            let [eight, sixteen] = [InputRounding::EightBits, InputRounding::SixteenBits].map(|inputs| {
                let weight = Matrix::new(Elements::Quantized(&packed), n, weights.cols).with_inputs(inputs);
                let mut out = vec![0.0; rows * n];
                linear(&Cpu::with_isa(1, isa), &x, &[weight], None, StoreMode::Overwrite, &mut out);
                out.iter()
                    .zip(&wanted)
                    .map(|(got, wanted)| (f64::from(*got) - wanted).powi(2))
                    .sum::<f64>()
                    .sqrt()
            });
            assert!(100.0 * sixteen < eight, "{} {}: {sixteen} {eight}", kind.name(), isa.name());
        }
    }
}

#[test]
fn blocks_as_stored_take_inputs_in_f32() {
    for kind in BlockType::ALL {
        let (rows, weights) = (9, Weights::new(kind, 20, 2));
        let (stored, x) = (weights.stored(), values(rows * weights.cols, 1));
        let wanted = linear_reference(&x, &stored);
        for isa in Isa::available() {
            let mut out = vec![0.0; rows * 20];
            linear(&Cpu::with_isa(1, isa), &x, &[stored], None, StoreMode::Overwrite, &mut out);
            let scale = wanted.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            for (got, wanted) in out.iter().zip(&wanted) {
                assert!((f64::from(*got) - wanted).abs() < 1e-5 * scale, "{} {got} {wanted}", kind.name());
            }
        }
    }
}

#[test]
fn sets_agree_and_rows_are_equal_alone_or_together() {
    let (rows, n) = (70, 120);
    for (kind, (inputs, _)) in BlockType::ALL.into_iter().flat_map(|kind| ROUNDINGS.map(|each| (kind, each)))
    {
        let weights = Weights::new(kind, n, 352 / kind.block_len() + 1);
        let packed = weights.packed(&Cpu::new(2)).unwrap();
        let (k, x) = (weights.cols, values(rows * weights.cols, 3));
        let weight = Matrix::new(Elements::Quantized(&packed), n, k).with_inputs(inputs);
        let mut of_vectors: Option<Vec<f32>> = None;
        for isa in Isa::available() {
            let cpu = Cpu::with_isa(3, isa);
            let mut all = vec![0.0; rows * n];
            linear(&cpu, &x, &[weight], None, StoreMode::Overwrite, &mut all);
            let of = |rows| Group { rows, parts: vec![weight], bias: None };
            let mut grouped = vec![0.0; rows * n];
            grouped_linear(
                &cpu,
                &x,
                &[of(0..13), of(13..29), of(29..rows)],
                StoreMode::Overwrite,
                &mut grouped,
            );
            assert_eq!(all, grouped, "{} {}", kind.name(), isa.name());
            for row in 0..rows {
                let mut alone = vec![0.0; n];
                linear(&cpu, &x[row * k..][..k], &[weight], None, StoreMode::Overwrite, &mut alone);
                assert_eq!(alone, all[row * n..][..n], "{} {} row {row}", kind.name(), isa.name());
            }
            // Portable code rounds a multiply-add twice.
            if isa.name() != "portable" {
                assert_eq!(of_vectors.get_or_insert(all.clone()), &all, "{} {}", kind.name(), isa.name());
            }
        }
    }
}
