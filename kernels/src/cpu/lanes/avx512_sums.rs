//! Sums over the lanes of several 512-bit registers at once.
#![expect(
    unsafe_code,
    reason = "vector instructions; callers have the token that proves that they are there"
)]

use std::arch::x86_64::{__m512, _mm512_add_ps, _mm512_shuffle_f32x4, _mm512_shuffle_ps};

/// Does the first two steps of [`Lanes::sum`](super::Lanes::sum) for four vectors with shared instructions: each
/// quarter of the result belongs to one vector.
///
/// # Safety
/// The machine has avx512f.
#[inline(always)]
pub(super) unsafe fn quarters(v: [__m512; 4]) -> __m512 {
    const LOWER_HALVES: i32 = 0b01_00_01_00;
    const UPPER_HALVES: i32 = 0b11_10_11_10;
    const EVEN_QUARTERS: i32 = 0b10_00_10_00;
    const ODD_QUARTERS: i32 = 0b11_01_11_01;
    // SAFETY: by this function's contract.
    unsafe {
        let ab = _mm512_add_ps(
            _mm512_shuffle_f32x4::<LOWER_HALVES>(v[0], v[1]),
            _mm512_shuffle_f32x4::<UPPER_HALVES>(v[0], v[1]),
        );
        let cd = _mm512_add_ps(
            _mm512_shuffle_f32x4::<LOWER_HALVES>(v[2], v[3]),
            _mm512_shuffle_f32x4::<UPPER_HALVES>(v[2], v[3]),
        );
        _mm512_add_ps(
            _mm512_shuffle_f32x4::<EVEN_QUARTERS>(ab, cd),
            _mm512_shuffle_f32x4::<ODD_QUARTERS>(ab, cd),
        )
    }
}

/// Does the third step for two results of [`quarters`]: each quarter of the result has two lanes of
/// `a` and two of `b`.
///
/// # Safety
/// The machine has avx512f.
#[inline(always)]
pub(super) unsafe fn halves_of_quarters(a: __m512, b: __m512) -> __m512 {
    // SAFETY: by this function's contract.
    unsafe {
        _mm512_add_ps(_mm512_shuffle_ps::<0b01_00_01_00>(a, b), _mm512_shuffle_ps::<0b11_10_11_10>(a, b))
    }
}
