//! MXFP4: codes of four bits (E2M1), and a power of two (E8M0) for each 32 neighbours of a row, as
//! the OCP Microscaling specification 1.0 has them. A byte holds two codes, the lower one first.
//! Every value within f32's range is exact in f32 and in bf16.

use half::bf16;
use ops::{E2M1_VALUES, MXFP4_BLOCK};

use crate::cpu::lanes::LANES;
use crate::cpu::lanes::dots::{Dots, E2M1_SCALES};

use super::PackedRows;

/// Matrix of MXFP4 codes, row after row, and of their scales.
#[derive(Debug, Clone, Copy)]
pub struct Mxfp4<'a> {
    codes: &'a [u8],
    scales: &'a [u8],
    cols: usize,
}

impl<'a> Mxfp4<'a> {
    /// Makes a matrix of `codes` `[rows, cols / 2]` and `scales` `[rows, cols / 32]`; a scale is
    /// the exponent of two, plus 127.
    ///
    /// # Panics
    /// If the sizes don't fit each other.
    pub fn new(codes: &'a [u8], scales: &'a [u8], cols: usize) -> Self {
        assert!(
            cols.is_multiple_of(MXFP4_BLOCK) && codes.len() == scales.len() * MXFP4_BLOCK / 2,
            "blocks of 32"
        );
        assert!((scales.len() * MXFP4_BLOCK).is_multiple_of(cols), "blocks of rows");
        Self { codes, scales, cols }
    }

    pub(in crate::cpu) fn len(&self) -> usize {
        self.codes.len() * 2
    }

    /// Codes and scales of a row, as they are stored.
    pub(in crate::cpu) fn row(&self, row: usize) -> (&'a [u8], &'a [u8]) {
        let (codes, scales) = (self.cols / 2, self.cols / MXFP4_BLOCK);
        (&self.codes[row * codes..][..codes], &self.scales[row * scales..][..scales])
    }

    pub(in crate::cpu) fn get(&self, i: usize) -> f32 {
        let code = self.codes[i / 2] >> (i % 2 * 4) & 15;
        E2M1_VALUES[code as usize] * power_of_two(self.scales[i / MXFP4_BLOCK])
    }
}

impl Mxfp4<'_> {
    /// Widens 32 neighbours to a vector of pairs.
    #[inline(always)]
    pub(in crate::cpu) fn pairs_of_block<L: Dots>(
        lanes: L,
        codes: &[u8; MXFP4_BLOCK / 2],
        scale: u8,
    ) -> L::Pairs {
        if E2M1_SCALES.contains(&scale) {
            lanes.pairs_of_e2m1(codes, scale)
        } else {
            lanes.load_pairs(&odd_block(codes, scale))
        }
    }

    /// Widens 32 neighbours to bf16, which represents all their values except those that f32 can't
    /// represent either.
    #[inline(always)]
    fn widen_block<L: Dots>(
        lanes: L,
        codes: &[u8; MXFP4_BLOCK / 2],
        scale: u8,
        to: &mut [bf16; MXFP4_BLOCK],
    ) {
        if E2M1_SCALES.contains(&scale) {
            lanes.widen_e2m1(codes, scale, to);
        } else {
            *to = odd_block(codes, scale);
        }
    }
}

/// Widens a block with a scale outside [`E2M1_SCALES`]. This is rare, and inlined it would keep
/// loops around it from being unrolled.
#[cold]
#[inline(never)]
fn odd_block(codes: &[u8; MXFP4_BLOCK / 2], scale: u8) -> [bf16; MXFP4_BLOCK] {
    let code = |i: usize| codes[i / 2] >> (i % 2 * 4) & 15;
    std::array::from_fn(|i| bf16::from_f32(E2M1_VALUES[code(i) as usize] * power_of_two(scale)))
}

impl PackedRows<bf16> for Mxfp4<'_> {
    #[inline(always)]
    fn widen<L: Dots>(&self, lanes: L, row: usize, to: &mut [bf16]) {
        let (codes, scales) = self.row(row);
        let blocks = codes.as_chunks::<{ MXFP4_BLOCK / 2 }>().0.iter().zip(scales);
        for ((codes, scale), to) in blocks.zip(to.as_chunks_mut::<MXFP4_BLOCK>().0) {
            Self::widen_block(lanes, codes, *scale, to);
        }
    }
}

impl PackedRows<f32> for Mxfp4<'_> {
    #[inline(always)]
    fn widen<L: Dots>(&self, lanes: L, row: usize, to: &mut [f32]) {
        let (codes, scales) = self.row(row);
        let blocks = codes.as_chunks::<{ MXFP4_BLOCK / 2 }>().0.iter().zip(scales);
        for ((codes, scale), to) in blocks.zip(to.as_chunks_mut::<MXFP4_BLOCK>().0) {
            let mut block = [bf16::ZERO; MXFP4_BLOCK];
            Self::widen_block(lanes, codes, *scale, &mut block);
            for (from, to) in block.as_chunks::<LANES>().0.iter().zip(to.as_chunks_mut::<LANES>().0) {
                lanes.store(lanes.load_bf16(from), to);
            }
        }
    }
}

/// Returns 2 to the power of `scale - 127`; NaN for 255.
#[inline(always)]
pub(in crate::cpu) fn power_of_two(scale: u8) -> f32 {
    match scale {
        0 => f32::from_bits(1 << 22),
        255 => f32::NAN,
        _ => f32::from_bits(u32::from(scale) << 23),
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, clippy::cast_possible_truncation, reason = "exact values, codes below 256")]
mod tests {
    use super::*;
    use crate::cpu::{Cpu, Elements, Isa, Matrix, embed};

    #[test]
    fn scales_are_powers_of_two_from_smallest_to_largest() {
        assert_eq!(
            [0, 1, 126, 127, 130, 254].map(power_of_two),
            [-127, -126, -1, 0, 3, 127].map(|n| 2f32.powi(n))
        );
        assert!(power_of_two(255).is_nan());
    }

    #[test]
    fn lower_half_byte_comes_first_and_32_share_a_scale() {
        let cols = 96;
        let codes: Vec<u8> = (0..3 * cols / 2).map(|i| (i * 89 % 256) as u8).collect();
        let scales: Vec<u8> = (0..9).map(|i| 120 + i * 2).collect();
        let elements = Elements::Mxfp4(Mxfp4::new(&codes, &scales, cols));
        let wanted = |i: usize| {
            let byte = codes[i / 2];
            let code = if i.is_multiple_of(2) { byte % 16 } else { byte / 16 };
            E2M1_VALUES[code as usize] * 2f32.powi(i32::from(scales[i / 32]) - 127)
        };
        for isa in Isa::available() {
            let mut out = vec![0.0; 3 * cols];
            embed(&Cpu::with_isa(1, isa), Matrix::new(elements, 3, cols), &[0, 1, 2], &mut out);
            for (i, got) in out.iter().enumerate() {
                assert_eq!((*got, elements.get(i)), (wanted(i), wanted(i)), "{} {i}", isa.name());
            }
        }
    }
}
