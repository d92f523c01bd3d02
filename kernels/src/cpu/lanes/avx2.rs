//! Lanes as two 256-bit registers.
#![expect(unsafe_code, reason = "vector instructions; the token proves that they are there")]

#[allow(clippy::wildcard_imports, reason = "two dozen intrinsics with names of their own")]
use std::arch::x86_64::*;

use half::{bf16, f16};

use super::dots::{CODES, Dots, E2M1, E2M1_LOWER, PAIRS};
use super::{LANES, LARGEST_F16, Lanes};

/// Token that proves that the machine has avx2, fma and f16c, and the instruction for dot products of
/// bytes that `VNNI` says.
#[derive(Debug, Clone, Copy)]
pub(in crate::cpu) struct Avx2<const VNNI: u8>(());

/// No instruction for dot products of bytes.
pub(in crate::cpu) const NO_VNNI: u8 = 0;
/// The instruction of `avx_vnni`.
pub(in crate::cpu) const AVX_VNNI: u8 = 1;
/// The same instruction in the encoding of `avx512_vnni` with `avx512vl`.
pub(in crate::cpu) const AVX512_VNNI: u8 = 2;

impl<const VNNI: u8> Avx2<VNNI> {
    /// # Safety
    /// The machine has these instructions.
    #[inline(always)]
    pub(in crate::cpu) unsafe fn new() -> Self {
        Self(())
    }
}

// SAFETY of every block below: `Avx2` exists only where its instructions do (`new`); loads and
// stores go through references to sixteen elements, the second at most eight elements on, and the
// unaligned instructions are used.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, above")]
impl<const VNNI: u8> Lanes for Avx2<VNNI> {
    type V = [__m256; 2];
    const WIDE: bool = false;

    #[inline(always)]
    fn splat(self, x: f32) -> Self::V {
        unsafe { [_mm256_set1_ps(x); 2] }
    }

    #[inline(always)]
    fn load(self, from: &[f32; LANES]) -> Self::V {
        let p = from.as_ptr();
        unsafe { [_mm256_loadu_ps(p), _mm256_loadu_ps(p.add(8))] }
    }

    #[inline(always)]
    fn load_bf16(self, from: &[bf16; LANES]) -> Self::V {
        let p = from.as_ptr();
        unsafe {
            let low = _mm256_cvtepu16_epi32(_mm_loadu_si128(p.cast()));
            let high = _mm256_cvtepu16_epi32(_mm_loadu_si128(p.add(8).cast()));
            [
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(low)),
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(high)),
            ]
        }
    }

    #[inline(always)]
    fn load_f16(self, from: &[f16; LANES]) -> Self::V {
        let p = from.as_ptr();
        unsafe {
            [_mm256_cvtph_ps(_mm_loadu_si128(p.cast())), _mm256_cvtph_ps(_mm_loadu_si128(p.add(8).cast()))]
        }
    }

    #[inline(always)]
    fn store(self, v: Self::V, to: &mut [f32; LANES]) {
        let p = to.as_mut_ptr();
        unsafe {
            _mm256_storeu_ps(p, v[0]);
            _mm256_storeu_ps(p.add(8), v[1]);
        }
    }

    #[inline(always)]
    fn store_f16(self, v: Self::V, to: &mut [f16; LANES]) {
        let to = to.as_chunks_mut::<8>().0;
        for i in 0..2 {
            unsafe {
                // If an operand is NaN, the instructions return the second one.
                let v = _mm256_min_ps(_mm256_set1_ps(LARGEST_F16), v[i]);
                let v = _mm256_max_ps(_mm256_set1_ps(-LARGEST_F16), v);
                let narrow = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v);
                _mm_storeu_si128(to[i].as_mut_ptr().cast(), narrow);
            }
        }
    }

    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        unsafe { [_mm256_add_ps(a[0], b[0]), _mm256_add_ps(a[1], b[1])] }
    }

    #[inline(always)]
    fn sub(self, a: Self::V, b: Self::V) -> Self::V {
        unsafe { [_mm256_sub_ps(a[0], b[0]), _mm256_sub_ps(a[1], b[1])] }
    }

    #[inline(always)]
    fn mul(self, a: Self::V, b: Self::V) -> Self::V {
        unsafe { [_mm256_mul_ps(a[0], b[0]), _mm256_mul_ps(a[1], b[1])] }
    }

    #[inline(always)]
    fn div(self, a: Self::V, b: Self::V) -> Self::V {
        unsafe { [_mm256_div_ps(a[0], b[0]), _mm256_div_ps(a[1], b[1])] }
    }

    #[inline(always)]
    fn min(self, a: Self::V, b: Self::V) -> Self::V {
        unsafe { [_mm256_min_ps(a[0], b[0]), _mm256_min_ps(a[1], b[1])] }
    }

    #[inline(always)]
    fn max(self, a: Self::V, b: Self::V) -> Self::V {
        unsafe { [_mm256_max_ps(a[0], b[0]), _mm256_max_ps(a[1], b[1])] }
    }

    #[inline(always)]
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        unsafe { [_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])] }
    }

    #[inline(always)]
    fn sum(self, v: Self::V) -> f32 {
        unsafe {
            let v = _mm256_add_ps(v[0], v[1]);
            let v = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            let v = _mm_add_ps(v, _mm_movehl_ps(v, v));
            _mm_cvtss_f32(_mm_add_ss(v, _mm_shuffle_ps::<1>(v, v)))
        }
    }

    #[inline(always)]
    fn power_of_two(self, shifted: Self::V) -> Self::V {
        unsafe {
            let one = _mm256_set1_epi32(0x3f80_0000);
            let low = _mm256_slli_epi32::<23>(_mm256_castps_si256(shifted[0]));
            let high = _mm256_slli_epi32::<23>(_mm256_castps_si256(shifted[1]));
            [
                _mm256_castsi256_ps(_mm256_add_epi32(low, one)),
                _mm256_castsi256_ps(_mm256_add_epi32(high, one)),
            ]
        }
    }
}

// SAFETY of every block below: as above; references to codes have 64 bytes, to pairs 32 elements.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, above")]
impl<const VNNI: u8> Dots for Avx2<VNNI> {
    /// First elements of all pairs, then their second elements, in f32.
    type Pairs = [<Self as Lanes>::V; 2];
    type Sums = [__m256i; 2];
    type Codes = [__m256i; 2];

    #[inline(always)]
    fn no_pairs(self) -> Self::Pairs {
        [self.splat(0.0); 2]
    }

    #[inline(always)]
    fn load_pairs(self, from: &[bf16; PAIRS]) -> Self::Pairs {
        let p = from.as_ptr();
        unsafe {
            let (low, high) = (_mm256_loadu_si256(p.cast()), _mm256_loadu_si256(p.add(16).cast()));
            let upper = _mm256_set1_epi32(0xffff_0000_u32.cast_signed());
            let first = [_mm256_slli_epi32::<16>(low), _mm256_slli_epi32::<16>(high)];
            let second = [_mm256_and_si256(low, upper), _mm256_and_si256(high, upper)];
            [
                [_mm256_castsi256_ps(first[0]), _mm256_castsi256_ps(first[1])],
                [_mm256_castsi256_ps(second[0]), _mm256_castsi256_ps(second[1])],
            ]
        }
    }

    #[inline(always)]
    fn dot_pairs(self, a: Self::Pairs, b: Self::Pairs, c: Self::V) -> Self::V {
        self.fma(a[1], b[1], self.fma(a[0], b[0], c))
    }

    #[inline(always)]
    fn splat_sum(self, x: i32) -> Self::Sums {
        unsafe { [_mm256_set1_epi32(x); 2] }
    }

    #[inline(always)]
    fn load_codes(self, from: &[u8; CODES]) -> Self::Codes {
        let p = from.as_ptr();
        unsafe { [_mm256_loadu_si256(p.cast()), _mm256_loadu_si256(p.add(32).cast())] }
    }

    #[inline(always)]
    fn halves(self, codes: Self::Codes) -> [Self::Codes; 2] {
        unsafe {
            let lower = _mm256_set1_epi8(15);
            let upper = [_mm256_srli_epi16::<4>(codes[0]), _mm256_srli_epi16::<4>(codes[1])];
            [
                [_mm256_and_si256(codes[0], lower), _mm256_and_si256(codes[1], lower)],
                [_mm256_and_si256(upper[0], lower), _mm256_and_si256(upper[1], lower)],
            ]
        }
    }

    #[inline(always)]
    fn insert_bits(self, codes: Self::Codes, plane: Self::Codes, shift: i32, mask: u8) -> Self::Codes {
        unsafe {
            let (mask, mut codes) = (_mm256_set1_epi8(mask.cast_signed()), codes);
            for (codes, plane) in codes.iter_mut().zip(plane) {
                let bits = if shift >= 0 {
                    _mm256_sll_epi16(plane, _mm_cvtsi32_si128(shift))
                } else {
                    _mm256_srl_epi16(plane, _mm_cvtsi32_si128(-shift))
                };
                *codes = _mm256_or_si256(*codes, _mm256_and_si256(bits, mask));
            }
            codes
        }
    }

    #[inline(always)]
    fn look_up(self, table: &[u8; 16], codes: Self::Codes) -> Self::Codes {
        unsafe {
            let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast()));
            [_mm256_shuffle_epi8(table, codes[0]), _mm256_shuffle_epi8(table, codes[1])]
        }
    }

    /// Without an instruction for it, multiplies bytes at even and at odd places apart, widened to
    /// sixteen bits: sums of two products of bytes would overflow sixteen bits.
    #[inline(always)]
    fn dot_codes(self, codes: Self::Codes, x: [i8; 4], sums: Self::Sums) -> Self::Sums {
        unsafe {
            if VNNI != NO_VNNI {
                let x = _mm256_set1_epi32(bytemuck::cast(x));
                let mut sums = sums;
                for (sums, codes) in sums.iter_mut().zip(codes) {
                    *sums = if VNNI == AVX_VNNI {
                        _mm256_dpbusd_avx_epi32(*sums, codes, x)
                    } else {
                        _mm256_dpbusd_epi32(*sums, codes, x)
                    };
                }
                return sums;
            }
            let even = _mm256_set1_epi32(i32::from(x[2]) << 16 | i32::from(x[0]) & 0xffff);
            let odd = _mm256_set1_epi32(i32::from(x[3]) << 16 | i32::from(x[1]) & 0xffff);
            let (low, mut sums) = (_mm256_set1_epi16(0xff), sums);
            for (sums, codes) in sums.iter_mut().zip(codes) {
                let of_even = _mm256_madd_epi16(_mm256_and_si256(codes, low), even);
                let of_odd = _mm256_madd_epi16(_mm256_srli_epi16::<8>(codes), odd);
                *sums = _mm256_add_epi32(*sums, _mm256_add_epi32(of_even, of_odd));
            }
            sums
        }
    }

    #[inline(always)]
    fn to_f32(self, sums: Self::Sums) -> Self::V {
        unsafe { [_mm256_cvtepi32_ps(sums[0]), _mm256_cvtepi32_ps(sums[1])] }
    }

    #[inline(always)]
    fn load_u8(self, from: &[u8; LANES]) -> Self::V {
        unsafe {
            let all = _mm_loadu_si128(from.as_ptr().cast());
            self.to_f32([_mm256_cvtepu8_epi32(all), _mm256_cvtepu8_epi32(_mm_srli_si128::<8>(all))])
        }
    }

    #[inline(always)]
    fn load_i8(self, from: &[i8; LANES]) -> Self::V {
        unsafe {
            let all = _mm_loadu_si128(from.as_ptr().cast());
            self.to_f32([_mm256_cvtepi8_epi32(all), _mm256_cvtepi8_epi32(_mm_srli_si128::<8>(all))])
        }
    }

    #[inline(always)]
    fn round_to_f16(self, v: Self::V) -> Self::V {
        unsafe {
            [
                _mm256_cvtph_ps(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v[0])),
                _mm256_cvtph_ps(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v[1])),
            ]
        }
    }

    #[inline(always)]
    fn select_less(self, a: Self::V, b: Self::V, x: Self::V, y: Self::V) -> Self::V {
        unsafe {
            [
                _mm256_blendv_ps(y[0], x[0], _mm256_cmp_ps::<_CMP_LT_OQ>(a[0], b[0])),
                _mm256_blendv_ps(y[1], x[1], _mm256_cmp_ps::<_CMP_LT_OQ>(a[1], b[1])),
            ]
        }
    }

    #[inline(always)]
    fn widen_e2m1(self, codes: &[u8; PAIRS / 2], scale: u8, to: &mut [bf16; PAIRS]) {
        let to = to.as_chunks_mut::<8>().0;
        unsafe {
            let (bytes, lower) = (_mm_loadu_si128(codes.as_ptr().cast()), _mm_set1_epi8(15));
            let (even, odd) = (_mm_and_si128(bytes, lower), _mm_and_si128(_mm_srli_epi16::<4>(bytes), lower));
            let places = [_mm_unpacklo_epi8(even, odd), _mm_unpackhi_epi8(even, odd)];
            let tables = (
                _mm_loadu_si128(E2M1_BYTES.0.as_ptr().cast()),
                _mm_loadu_si128(E2M1_BYTES.1.as_ptr().cast()),
            );
            let fewer = _mm_set1_epi32(bytemuck::cast(E2M1_LOWER[scale as usize]));
            for i in 0..2 {
                let (low, high) =
                    (_mm_shuffle_epi8(tables.0, places[i]), _mm_shuffle_epi8(tables.1, places[i]));
                let bits = [_mm_unpacklo_epi8(low, high), _mm_unpackhi_epi8(low, high)];
                for j in 0..2 {
                    let bits = _mm_subs_epu16(bits[j], fewer);
                    _mm_storeu_si128(to[2 * i + j].as_mut_ptr().cast(), bits);
                }
            }
        }
    }
}

/// Lower and upper bytes of [`E2M1`].
static E2M1_BYTES: ([u8; 16], [u8; 16]) = {
    let mut bytes = ([0; 16], [0; 16]);
    let mut i = 0;
    while i < 16 {
        [bytes.0[i], bytes.1[i]] = E2M1[i].to_le_bytes();
        i += 1;
    }
    bytes
};
