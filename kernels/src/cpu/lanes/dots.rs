//! Sums of products of narrow numbers, sixteen at a time: pairs of bf16 into f32, and four bytes into 32-bit integers.
//!
//! Integer sums are exact. In sums of bf16, lane `i` has products `2 i` and `2 i + 1` of each 32; how they are rounded is the
//! instruction's.

use half::bf16;

use super::Lanes;

/// Neighbours that a sum of pairs takes at a time.
pub(in crate::cpu) const PAIRS: usize = 32;
/// Codes of sixteen rows, four neighbours of each.
pub(in crate::cpu) const CODES: usize = 64;

/// The codes of E2M1 as bf16: 0, ½, 1, 1½, 2, 3, 4, 6, and the same below zero.
pub(super) const E2M1: [u16; 16] = [
    0, 0x3f00, 0x3f80, 0x3fc0, 0x4000, 0x4040, 0x4080, 0x40c0, 0x8000, 0xbf00, 0xbf80, 0xbfc0, 0xc000,
    0xc040, 0xc080, 0xc0c0,
];
/// Where a bf16's exponent begins.
pub(super) const EXPONENT_OF_BF16: u32 = 7;

/// Everything is `#[inline(always)]`: the instructions are those of the outermost caller. Closures aren't, and have no place here.
pub(in crate::cpu) trait Dots: Lanes {
    /// 32 bf16.
    type Pairs: Copy;
    /// Sixteen 32-bit integers.
    type Sums: Copy;
    /// 64 unsigned bytes.
    type Codes: Copy;

    /// Zeros.
    fn no_pairs(self) -> Self::Pairs;
    fn load_pairs(self, from: &[bf16; PAIRS]) -> Self::Pairs;
    /// `c[i] + a[2 i] * b[2 i] + a[2 i + 1] * b[2 i + 1]`.
    fn dot_pairs(self, a: Self::Pairs, b: Self::Pairs, c: Self::V) -> Self::V;

    fn splat_sum(self, x: i32) -> Self::Sums;
    fn load_codes(self, from: &[u8; CODES]) -> Self::Codes;
    /// The lower and the upper four bits of each byte.
    fn halves(self, codes: Self::Codes) -> [Self::Codes; 2];
    /// Each byte, which is below sixteen, replaced by that entry.
    fn look_up(self, table: &[u8; 16], codes: Self::Codes) -> Self::Codes;
    /// `sums[i] + Σⱼ codes[4 i + j] * x[j]`.
    fn dot_codes(self, codes: Self::Codes, x: [i8; 4], sums: Self::Sums) -> Self::Sums;
    fn to_f32(self, sums: Self::Sums) -> Self::V;

    /// 32 codes of four bits (E2M1, the lower half of a byte first) times 2ⁿ, exactly, for n in -125 ..= 125.
    #[inline(always)]
    fn widen_e2m1(self, codes: &[u8; PAIRS / 2], n: i16, to: &mut [bf16; PAIRS]) {
        for i in 0..PAIRS {
            let bits = E2M1[(codes[i / 2] >> (i % 2 * 4) & 15) as usize];
            let raised = bits.wrapping_add_signed(n << EXPONENT_OF_BF16);
            to[i] = bf16::from_bits(if bits & 0x7fff == 0 { bits } else { raised });
        }
    }

    /// Loads fewer than 32 values, the rest being zero.
    #[inline(always)]
    fn load_some_pairs(self, from: &[bf16]) -> Self::Pairs {
        let mut padded = [bf16::ZERO; PAIRS];
        padded[..from.len()].copy_from_slice(from);
        self.load_pairs(&padded)
    }
}
