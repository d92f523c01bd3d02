//! Lanes as one 512-bit register; dot products of narrow numbers have instructions of their own.
#![expect(unsafe_code, reason = "vector instructions; the token proves that they are there")]

#[allow(clippy::wildcard_imports, reason = "two dozen intrinsics with names of their own")]
use std::arch::x86_64::*;

use half::{bf16, f16};

use super::avx512_sums::{halves_of_quarters, quarters};
use super::dots::{CODES, Dots, E2M1, E2M1_LOWER, E4M3_BIAS, E4M3_SHIFT, PAIRS, SMALL_E4M3};
use super::{LANES, LARGEST_F16, Lanes};

/// Token that proves that the machine has avx512f, avx512bw, avx512dq and `avx512_vnni`, and
/// `avx512_bf16` if `BF16`.
#[derive(Debug, Clone, Copy)]
pub(in crate::cpu) struct Avx512<const BF16: bool>(());

impl<const BF16: bool> Avx512<BF16> {
    /// # Safety
    /// The machine has these instructions.
    #[inline(always)]
    pub(in crate::cpu) unsafe fn new() -> Self {
        Self(())
    }
}

// SAFETY of every block below: `Avx512` exists only where its instructions do (`new`); loads and
// stores go through references to sixteen elements, and the unaligned instructions are used.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, above")]
impl<const BF16: bool> Lanes for Avx512<BF16> {
    type V = __m512;
    const WIDE: bool = true;

    #[inline(always)]
    fn splat(self, x: f32) -> Self::V {
        unsafe { _mm512_set1_ps(x) }
    }

    #[inline(always)]
    fn load(self, from: &[f32; LANES]) -> Self::V {
        unsafe { _mm512_loadu_ps(from.as_ptr()) }
    }

    #[inline(always)]
    fn load_bf16(self, from: &[bf16; LANES]) -> Self::V {
        unsafe {
            let bits = _mm256_loadu_si256(from.as_ptr().cast());
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(bits)))
        }
    }

    #[inline(always)]
    fn load_f16(self, from: &[f16; LANES]) -> Self::V {
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(from.as_ptr().cast())) }
    }

    #[inline(always)]
    fn store(self, v: Self::V, to: &mut [f32; LANES]) {
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), v) }
    }

    #[inline(always)]
    fn store_f16(self, v: Self::V, to: &mut [f16; LANES]) {
        unsafe {
            // If an operand is NaN, the instructions return the second one.
            let v = _mm512_min_ps(_mm512_set1_ps(LARGEST_F16), v);
            let v = _mm512_max_ps(_mm512_set1_ps(-LARGEST_F16), v);
            let narrow = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v);
            _mm256_storeu_si256(to.as_mut_ptr().cast(), narrow);
        }
    }

    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: Self::V, b: Self::V) -> Self::V {
        unsafe { _mm512_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: Self::V, b: Self::V) -> Self::V {
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    fn div(self, a: Self::V, b: Self::V) -> Self::V {
        unsafe { _mm512_div_ps(a, b) }
    }

    #[inline(always)]
    fn min(self, a: Self::V, b: Self::V) -> Self::V {
        unsafe { _mm512_min_ps(a, b) }
    }

    #[inline(always)]
    fn max(self, a: Self::V, b: Self::V) -> Self::V {
        unsafe { _mm512_max_ps(a, b) }
    }

    #[inline(always)]
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn sum(self, v: Self::V) -> f32 {
        unsafe {
            let v = _mm512_add_ps(v, _mm512_shuffle_f32x4::<0b01_00_11_10>(v, v));
            let v = _mm512_castps512_ps256(v);
            let v = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            let v = _mm_add_ps(v, _mm_movehl_ps(v, v));
            _mm_cvtss_f32(_mm_add_ss(v, _mm_shuffle_ps::<1>(v, v)))
        }
    }

    #[inline(always)]
    fn sum_each(self, v: [Self::V; 4]) -> [f32; 4] {
        unsafe {
            let v = quarters(v);
            let v = _mm512_add_ps(v, _mm512_permute_ps::<0b01_00_11_10>(v));
            let v = _mm512_add_ps(v, _mm512_permute_ps::<0b10_11_00_01>(v));
            let mut all = [0.0; LANES];
            _mm512_storeu_ps(all.as_mut_ptr(), v);
            [all[0], all[4], all[8], all[12]]
        }
    }

    #[inline(always)]
    fn sum_square(self, v: [[Self::V; 4]; 4]) -> [[f32; 4]; 4] {
        unsafe {
            let first = halves_of_quarters(
                quarters([v[0][0], v[1][0], v[2][0], v[3][0]]),
                quarters([v[0][1], v[1][1], v[2][1], v[3][1]]),
            );
            let second = halves_of_quarters(
                quarters([v[0][2], v[1][2], v[2][2], v[3][2]]),
                quarters([v[0][3], v[1][3], v[2][3], v[3][3]]),
            );
            let sums = _mm512_add_ps(
                _mm512_shuffle_ps::<0b10_00_10_00>(first, second),
                _mm512_shuffle_ps::<0b11_01_11_01>(first, second),
            );
            let mut all = [[0.0; 4]; 4];
            _mm512_storeu_ps(all.as_mut_ptr().cast(), sums);
            all
        }
    }

    #[inline(always)]
    fn power_of_two(self, shifted: Self::V) -> Self::V {
        unsafe {
            let bits = _mm512_slli_epi32::<23>(_mm512_castps_si512(shifted));
            _mm512_castsi512_ps(_mm512_add_epi32(bits, _mm512_set1_epi32(0x3f80_0000)))
        }
    }
}

// SAFETY of every block below: as above; references to codes have 64 bytes, to pairs 32 elements.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, above")]
impl<const BF16: bool> Dots for Avx512<BF16> {
    type Pairs = __m512i;
    type Sums = __m512i;
    type Codes = __m512i;
    const ADDS_PAIRS: bool = BF16;

    #[inline(always)]
    fn no_pairs(self) -> Self::Pairs {
        unsafe { _mm512_setzero_si512() }
    }

    #[inline(always)]
    fn load_pairs(self, from: &[bf16; PAIRS]) -> Self::Pairs {
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn splat_pair(self, pair: [bf16; 2]) -> Self::Pairs {
        unsafe { _mm512_set1_epi32(bytemuck::cast(pair)) }
    }

    #[inline(always)]
    fn dot_pairs(self, a: Self::Pairs, b: Self::Pairs, c: Self::V) -> Self::V {
        if BF16 {
            // Both types are a register of 512 bits.
            return unsafe {
                _mm512_dpbf16_ps(
                    c,
                    std::mem::transmute::<__m512i, __m512bh>(a),
                    std::mem::transmute::<__m512i, __m512bh>(b),
                )
            };
        }
        unsafe {
            let upper = _mm512_set1_epi32(0xffff_0000_u32.cast_signed());
            let first = [_mm512_slli_epi32::<16>(a), _mm512_slli_epi32::<16>(b)];
            let second = [_mm512_and_si512(a, upper), _mm512_and_si512(b, upper)];
            let c = _mm512_fmadd_ps(_mm512_castsi512_ps(first[0]), _mm512_castsi512_ps(first[1]), c);
            _mm512_fmadd_ps(_mm512_castsi512_ps(second[0]), _mm512_castsi512_ps(second[1]), c)
        }
    }

    #[inline(always)]
    fn splat_sum(self, x: i32) -> Self::Sums {
        unsafe { _mm512_set1_epi32(x) }
    }

    #[inline(always)]
    fn load_codes(self, from: &[u8; CODES]) -> Self::Codes {
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn halves(self, codes: Self::Codes) -> [Self::Codes; 2] {
        unsafe {
            let lower = _mm512_set1_epi8(15);
            [_mm512_and_si512(codes, lower), _mm512_and_si512(_mm512_srli_epi16::<4>(codes), lower)]
        }
    }

    #[inline(always)]
    fn insert_bits(self, codes: Self::Codes, plane: Self::Codes, shift: i32, mask: u8) -> Self::Codes {
        /// `a | b & c`.
        const OR_AND: i32 = 0xf8;
        unsafe {
            let bits = if shift >= 0 {
                _mm512_sll_epi16(plane, _mm_cvtsi32_si128(shift))
            } else {
                _mm512_srl_epi16(plane, _mm_cvtsi32_si128(-shift))
            };
            _mm512_ternarylogic_epi32::<OR_AND>(codes, bits, _mm512_set1_epi8(mask.cast_signed()))
        }
    }

    #[inline(always)]
    fn look_up(self, table: &[u8; 16], codes: Self::Codes) -> Self::Codes {
        unsafe {
            let table = _mm512_broadcast_i32x4(_mm_loadu_si128(table.as_ptr().cast()));
            _mm512_shuffle_epi8(table, codes)
        }
    }

    #[inline(always)]
    fn dot_codes(self, codes: Self::Codes, x: [i8; 4], sums: Self::Sums) -> Self::Sums {
        unsafe { _mm512_dpbusd_epi32(sums, codes, _mm512_set1_epi32(bytemuck::cast(x))) }
    }

    #[inline(always)]
    fn to_f32(self, sums: Self::Sums) -> Self::V {
        unsafe { _mm512_cvtepi32_ps(sums) }
    }

    #[inline(always)]
    fn load_u8(self, from: &[u8; LANES]) -> Self::V {
        unsafe { _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(from.as_ptr().cast()))) }
    }

    #[inline(always)]
    fn load_i8(self, from: &[i8; LANES]) -> Self::V {
        unsafe { _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(from.as_ptr().cast()))) }
    }

    #[inline(always)]
    fn greatest(self, v: Self::V) -> f32 {
        unsafe { _mm512_reduce_max_ps(v) }
    }

    #[inline(always)]
    fn store_lowest(self, v: Self::V, to: &mut [i8; LANES]) {
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(_mm512_castps_si512(v))) }
    }

    #[inline(always)]
    fn round_to_f16(self, v: Self::V) -> Self::V {
        unsafe { _mm512_cvtph_ps(_mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v)) }
    }

    #[inline(always)]
    fn select_less(self, a: Self::V, b: Self::V, x: Self::V, y: Self::V) -> Self::V {
        unsafe { _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b), y, x) }
    }

    #[inline(always)]
    fn widen_e4m3(self, codes: &[u8; PAIRS], to: &mut [bf16; PAIRS]) {
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), self.pairs_of_e4m3(codes)) }
    }

    #[inline(always)]
    fn pairs_of_e4m3(self, codes: &[u8; PAIRS]) -> Self::Pairs {
        unsafe {
            let codes = _mm512_cvtepu8_epi16(_mm256_loadu_si256(codes.as_ptr().cast()));
            let magnitudes = _mm512_and_si512(codes, _mm512_set1_epi16(0x7f));
            let shifted = _mm512_slli_epi16::<E4M3_SHIFT>(magnitudes);
            let usual = _mm512_add_epi16(shifted, _mm512_set1_epi16(E4M3_BIAS.cast_signed()));
            let is_small = _mm512_cmplt_epu16_mask(magnitudes, _mm512_set1_epi16(8));
            let table = _mm512_broadcast_i32x4(_mm_loadu_si128(SMALL_E4M3.as_ptr().cast()));
            let bits = _mm512_mask_permutexvar_epi16(usual, is_small, codes, table);
            let signs = _mm512_slli_epi16::<8>(_mm512_andnot_si512(_mm512_set1_epi16(0x7f), codes));
            _mm512_or_si512(bits, signs)
        }
    }

    #[inline(always)]
    fn widen_e2m1(self, codes: &[u8; PAIRS / 2], scale: u8, to: &mut [bf16; PAIRS]) {
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), self.pairs_of_e2m1(codes, scale)) }
    }

    #[inline(always)]
    fn pairs_of_e2m1(self, codes: &[u8; PAIRS / 2], scale: u8) -> Self::Pairs {
        // The instruction reads five bits of a place, and the fifth may be the lowest bit of the
        // byte's other code. So the table is there twice.
        const TWICE: [[u16; 16]; 2] = [E2M1; 2];
        unsafe {
            let bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128(codes.as_ptr().cast()));
            let places = _mm512_or_si512(bytes, _mm512_slli_epi32::<12>(bytes));
            let bits = _mm512_permutexvar_epi16(places, _mm512_loadu_si512(TWICE.as_ptr().cast()));
            let lower = _mm512_set1_epi32(bytemuck::cast(E2M1_LOWER[scale as usize]));
            _mm512_subs_epu16(bits, lower)
        }
    }
}
