//! Dot products of narrow numbers, accumulated in sixteen lanes: pairs of bf16 into f32, and four
//! bytes into 32-bit integers.
//!
//! Integer sums are exact. In sums of bf16, lane `i` has products `2 i` and `2 i + 1` of each 32;
//! the instruction decides how they are rounded.

use std::ops::RangeInclusive;

use half::bf16;

use super::{LANES, Lanes};

/// Number of bf16 in a vector of pairs.
pub(in crate::cpu) const PAIRS: usize = 32;
/// Number of codes in a vector: four neighbours of each of sixteen rows.
pub(in crate::cpu) const CODES: usize = 64;

/// Values of the codes of E2M1 (0, ½, 1, 1½, 2, 3, 4, 6, and the same below zero) times 2¹²⁵, as
/// bf16. Neither zero has a sign.
pub(super) const E2M1: [u16; 16] = [
    0, 0x7d80, 0x7e00, 0x7e40, 0x7e80, 0x7ec0, 0x7f00, 0x7f40, 0, 0xfd80, 0xfe00, 0xfe40, 0xfe80, 0xfec0,
    0xff00, 0xff40,
];
/// Scales that [`Dots::widen_e2m1`] takes.
pub(in crate::cpu) const E2M1_SCALES: RangeInclusive<u8> = 2..=252;
/// Number that is subtracted from the bits of [`E2M1`] for each scale, which lowers the exponent;
/// it is there twice, for two elements. Zero stays zero, since the subtraction saturates.
pub(super) static E2M1_LOWER: [[u16; 2]; 256] = {
    let mut lower = [[0; 2]; 256];
    let mut scale = *E2M1_SCALES.start();
    while scale <= *E2M1_SCALES.end() {
        lower[scale as usize] = [((*E2M1_SCALES.end() - scale) as u16) << EXPONENT_OF_BF16; 2];
        scale += 1;
    }
    lower
};
/// Lowest bit of a bf16's exponent.
const EXPONENT_OF_BF16: u32 = 7;

/// Values of the subnormal codes of E4M3, 0 to 7 times 2⁻⁹, as bf16.
pub(super) const SMALL_E4M3: [u16; 8] = [0, 0x3b00, 0x3b80, 0x3bc0, 0x3c00, 0x3c20, 0x3c40, 0x3c60];
/// Number that is added to the other codes once they are shifted to a bf16's exponent and mantissa:
/// the exponent's bias is 7 in E4M3, 127 in bf16.
pub(super) const E4M3_BIAS: u16 = 120 << EXPONENT_OF_BF16;
/// Number of bits by which a code is shifted to a bf16's exponent and mantissa.
pub(super) const E4M3_SHIFT: u32 = 4;
/// Values of all codes of E4M3 as bf16, the negative ones behind the others; NaN isn't kept.
pub(in crate::cpu) static E4M3: [u16; 256] = {
    let mut all = [0; 256];
    let mut code: u16 = 0;
    while code < 256 {
        let magnitude = code & 0x7f;
        let bits = match magnitude {
            0..8 => SMALL_E4M3[magnitude as usize],
            _ => (magnitude << E4M3_SHIFT) + E4M3_BIAS,
        };
        all[code as usize] = bits | (code & 0x80) << 8;
        code += 1;
    }
    all
};

/// Dot products on vectors. All methods are `#[inline(always)]`, so that they are compiled with the
/// outermost caller's instructions. Closures aren't, so the methods' default bodies and the vector
/// implementations have none.
pub(in crate::cpu) trait Dots: Lanes {
    /// Vector of 32 bf16.
    type Pairs: Copy;
    /// Vector of sixteen 32-bit integers.
    type Sums: Copy;
    /// Vector of 64 unsigned bytes.
    type Codes: Copy;
    /// Whether there is an instruction that adds pairs of bf16 products.
    const ADDS_PAIRS: bool = false;

    /// Returns zeros.
    fn no_pairs(self) -> Self::Pairs;
    fn load_pairs(self, from: &[bf16; PAIRS]) -> Self::Pairs;
    /// Returns the same pair sixteen times.
    #[inline(always)]
    fn splat_pair(self, [a, b]: [bf16; 2]) -> Self::Pairs {
        let mut all = [a; PAIRS];
        for pair in all.as_chunks_mut::<2>().0 {
            pair[1] = b;
        }
        self.load_pairs(&all)
    }
    /// Returns `c[i] + a[2 i] * b[2 i] + a[2 i + 1] * b[2 i + 1]` in lane `i`.
    fn dot_pairs(self, a: Self::Pairs, b: Self::Pairs, c: Self::V) -> Self::V;

    fn splat_sum(self, x: i32) -> Self::Sums;
    fn load_codes(self, from: &[u8; CODES]) -> Self::Codes;
    /// Returns the lower and the upper four bits of each byte.
    fn halves(self, codes: Self::Codes) -> [Self::Codes; 2];
    /// Returns `codes` with the bits `mask` of `plane`, shifted to the left by `shift`, or to the right
    /// if that is negative. No bit that `mask` keeps comes from a neighbouring byte.
    fn insert_bits(self, codes: Self::Codes, plane: Self::Codes, shift: i32, mask: u8) -> Self::Codes;
    /// Replaces each byte, which is below sixteen, by that entry of `table`.
    fn look_up(self, table: &[u8; 16], codes: Self::Codes) -> Self::Codes;
    /// Returns `sums[i] + Σⱼ codes[4 i + j] * x[j]` in lane `i`.
    fn dot_codes(self, codes: Self::Codes, x: [i8; 4], sums: Self::Sums) -> Self::Sums;
    fn to_f32(self, sums: Self::Sums) -> Self::V;
    fn load_u8(self, from: &[u8; LANES]) -> Self::V;
    fn load_i8(self, from: &[i8; LANES]) -> Self::V;

    /// Returns the greatest lane; any value if a lane is NaN.
    #[inline(always)]
    fn greatest(self, v: Self::V) -> f32 {
        let mut all = [0.0; LANES];
        self.store(v, &mut all);
        for half in [8, 4, 2, 1] {
            for i in 0..half {
                all[i] = if all[i + half] > all[i] { all[i + half] } else { all[i] };
            }
        }
        all[0]
    }
    /// Stores the lowest byte of each lane's bits.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the lowest byte is wanted")]
    fn store_lowest(self, v: Self::V, to: &mut [i8; LANES]) {
        let mut all = [0.0; LANES];
        self.store(v, &mut all);
        for (to, x) in to.iter_mut().zip(all) {
            *to = x.to_bits() as i8;
        }
    }
    /// Rounds to the nearest f16, halves to even, as f32; values beyond f16's range become
    /// infinity.
    fn round_to_f16(self, v: Self::V) -> Self::V;
    /// Returns `x` in lanes where `a < b`, elsewhere `y`.
    fn select_less(self, a: Self::V, b: Self::V, x: Self::V, y: Self::V) -> Self::V;

    /// Widens 32 codes of four bits (E2M1, the lower half of a byte first), times 2 to the power of
    /// `scale - 127`, to bf16, exactly. The scale is in [`E2M1_SCALES`].
    #[inline(always)]
    fn widen_e2m1(self, codes: &[u8; PAIRS / 2], scale: u8, to: &mut [bf16; PAIRS]) {
        let [lower, _] = E2M1_LOWER[scale as usize];
        for i in 0..PAIRS {
            let bits = E2M1[(codes[i / 2] >> (i % 2 * 4) & 15) as usize];
            to[i] = bf16::from_bits(bits.saturating_sub(lower));
        }
    }

    /// [`Self::widen_e2m1`] to a vector of pairs.
    #[inline(always)]
    fn pairs_of_e2m1(self, codes: &[u8; PAIRS / 2], scale: u8) -> Self::Pairs {
        let mut widened = [bf16::ZERO; PAIRS];
        self.widen_e2m1(codes, scale, &mut widened);
        self.load_pairs(&widened)
    }

    /// Widens 32 codes of eight bits (E4M3) to bf16, exactly; NaN isn't kept.
    #[inline(always)]
    fn widen_e4m3(self, codes: &[u8; PAIRS], to: &mut [bf16; PAIRS]) {
        for i in 0..PAIRS {
            to[i] = bf16::from_bits(E4M3[codes[i] as usize]);
        }
    }

    /// [`Self::widen_e4m3`] to a vector of pairs.
    #[inline(always)]
    fn pairs_of_e4m3(self, codes: &[u8; PAIRS]) -> Self::Pairs {
        let mut widened = [bf16::ZERO; PAIRS];
        self.widen_e4m3(codes, &mut widened);
        self.load_pairs(&widened)
    }

    /// Loads fewer than 32 values; the rest of the vector is zero.
    #[inline(always)]
    fn load_some_pairs(self, from: &[bf16]) -> Self::Pairs {
        let mut padded = [bf16::ZERO; PAIRS];
        padded[..from.len()].copy_from_slice(from);
        self.load_pairs(&padded)
    }
}
