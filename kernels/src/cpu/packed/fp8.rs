//! FP8: E4M3 codes with a factor for each block of rows and columns (`weight_scale_inv` of
//! DeepSeek-V3's checkpoints, arXiv:2412.19437).
//!
//! A code is a sign, four bits of exponent with bias 7, and three of mantissa; there is no
//! infinity, and 0x7f and 0xff are NaN (arXiv:2209.05433). A weight is its code's value times its
//! block's factor, rounded to f32.

use half::{bf16, f16};
use ops::E4M3_VALUES;

use crate::cpu::lanes::LANES;
use crate::cpu::lanes::dots::{Dots, PAIRS};

use super::PackedRows;

/// Matrix of E4M3 codes, row after row, and of their blocks' factors.
#[derive(Debug, Clone, Copy)]
pub struct Fp8Blocks<'a> {
    codes: &'a [u8],
    cols: usize,
    scales: &'a [f32],
    /// Rows and columns of a block.
    block: (usize, usize),
}

impl<'a> Fp8Blocks<'a> {
    /// Makes a matrix of `codes` `[rows, cols]` and `scales`
    /// `[⌈rows / block.0⌉, ⌈cols / block.1⌉]`.
    ///
    /// # Panics
    /// If the sizes don't fit each other, or a block is empty.
    pub fn new(codes: &'a [u8], cols: usize, scales: &'a [f32], block: (usize, usize)) -> Self {
        let rows = codes.len() / cols;
        assert_eq!(codes.len(), rows * cols, "codes of rows");
        assert_eq!(scales.len(), rows.div_ceil(block.0) * cols.div_ceil(block.1), "scales of blocks");
        Self { codes, cols, scales, block }
    }

    pub(in crate::cpu) fn len(&self) -> usize {
        self.codes.len()
    }

    pub(in crate::cpu) fn get(&self, i: usize) -> f32 {
        let (row, col) = (i / self.cols, i % self.cols);
        E4M3_VALUES[self.codes[i] as usize] * self.scales_of(row)[col / self.block.1]
    }

    /// Codes of a row, and their factors, one for each block of columns.
    #[inline(always)]
    pub(in crate::cpu) fn row(&self, row: usize) -> (&'a [u8], &'a [f32]) {
        (&self.codes[row * self.cols..][..self.cols], self.scales_of(row))
    }

    /// Number of columns in a block.
    pub(in crate::cpu) fn block_cols(&self) -> usize {
        self.block.1
    }

    /// Whether the columns of blocks and of rows are multiples of 32, as vectors of pairs hold
    /// them.
    pub(in crate::cpu) fn is_of_pairs(&self) -> bool {
        self.block.1.is_multiple_of(PAIRS) && self.cols.is_multiple_of(PAIRS)
    }

    /// Factors of a row, one for each block of columns.
    fn scales_of(&self, row: usize) -> &'a [f32] {
        let blocks = self.cols.div_ceil(self.block.1);
        &self.scales[row / self.block.0 * blocks..][..blocks]
    }
}

/// Widens codes without their factors.
impl PackedRows<bf16> for Fp8Blocks<'_> {
    #[inline(always)]
    fn widen<L: Dots>(&self, lanes: L, row: usize, to: &mut [bf16]) {
        for (codes, to) in self.row(row).0.as_chunks().0.iter().zip(to.as_chunks_mut().0) {
            lanes.widen_e4m3(codes, to);
        }
    }
}

impl PackedRows<f32> for Fp8Blocks<'_> {
    #[inline(always)]
    fn widen<L: Dots>(&self, lanes: L, row: usize, to: &mut [f32]) {
        let codes = &self.codes[row * self.cols..][..self.cols];
        let blocks = codes.chunks(self.block.1).zip(to.chunks_mut(self.block.1));
        for ((codes, to), scale) in blocks.zip(self.scales_of(row)) {
            let (whole, rest) = codes.as_chunks::<LANES>();
            let (outs, out_rest) = to.as_chunks_mut::<LANES>();
            for (codes, out) in whole.iter().zip(outs) {
                // This is exact: only the product with the scale is rounded.
                let mut halves = [f16::ZERO; LANES];
                for i in 0..LANES {
                    halves[i] = half(codes[i]);
                }
                let values = lanes.mul(lanes.load_f16(&halves), lanes.splat(HALF_FACTOR));
                lanes.store(lanes.mul(values, lanes.splat(*scale)), out);
            }
            for (code, out) in rest.iter().zip(out_rest) {
                *out = E4M3_VALUES[*code as usize] * scale;
            }
        }
    }
}

/// Factor 2⁸ that [`half`] leaves out, since the exponent's bias is 7 here and 15 in a half float.
const HALF_FACTOR: f32 = 256.0;

/// Moves a code's bits to where a half float has them, which gives its value divided by
/// [`HALF_FACTOR`]; NaN isn't kept.
#[inline(always)]
fn half(code: u8) -> f16 {
    let code = u16::from(code);
    f16::from_bits((code & 0x7f) << 7 | (code & 0x80) << 8)
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "codes below 256")]
mod tests {
    use super::*;
    use crate::cpu::{Cpu, Elements, Isa, Matrix, embed};

    #[test]
    fn each_block_has_its_factor_even_where_cut() {
        let (rows, cols, block) = (5, 37, (2, 16));
        let codes: Vec<u8> = (0..rows * cols).map(|i| (i * 37 % 120) as u8).collect();
        let scales: Vec<f32> = (0..9).map(|i| 0.5 + i as f32 * 0.3).collect();
        let elements = Elements::Fp8(Fp8Blocks::new(&codes, cols, &scales, block));
        let wanted = |i: usize| {
            let (row, col) = (i / cols, i % cols);
            E4M3_VALUES[codes[i] as usize] * scales[row / 2 * 3 + col / 16]
        };
        for isa in Isa::available() {
            let mut out = vec![0.0; rows * cols];
            let table = Matrix::new(elements, rows, cols);
            embed(&Cpu::with_isa(1, isa), table, &[0, 1, 2, 3, 4], &mut out);
            for (i, got) in out.iter().enumerate() {
                assert_eq!((*got, elements.get(i)), (wanted(i), wanted(i)), "{} {i}", isa.name());
            }
        }
    }
}
