//! Vectors of sixteen f32 lanes: the unit that every operation is written in, whatever registers
//! the machine has.
//!
//! A value of a type that implements [`Lanes`] is the proof that its instructions may be used, so
//! the methods are safe. All implementations add the lanes of a sum in the same order; only
//! `Portable` rounds a multiply-add twice.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_sums;
pub(super) mod dots;
pub(super) mod portable;

use half::{bf16, f16};

/// Number of lanes in a vector.
pub(super) const LANES: usize = 16;
/// Largest finite f16.
const LARGEST_F16: f32 = 65504.0;

/// Operations on sixteen f32. All methods are `#[inline(always)]`, so that they are compiled with
/// the outermost caller's instructions.
pub(super) trait Lanes: Copy {
    /// Vector of sixteen f32.
    type V: Copy;
    /// Whether there are 32 registers of the full width, so that tiles of outputs can be larger.
    const WIDE: bool;

    fn splat(self, x: f32) -> Self::V;
    fn load(self, from: &[f32; LANES]) -> Self::V;
    fn load_bf16(self, from: &[bf16; LANES]) -> Self::V;
    fn load_f16(self, from: &[f16; LANES]) -> Self::V;
    fn store(self, v: Self::V, to: &mut [f32; LANES]);
    /// Stores `v`, rounded to the nearest f16, halves to even. Values beyond f16's range become the
    /// largest f16; NaN stays NaN.
    fn store_f16(self, v: Self::V, to: &mut [f16; LANES]);
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// Returns `a * b + c`.
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// Adds up the lanes as a tree, `(8 + 8) → (4 + 4) → (2 + 2) → (1 + 1)`: lane `i` is added to
    /// lane `i + width / 2`.
    fn sum(self, v: Self::V) -> f32;
    /// [`Self::sum`] of each of four vectors.
    #[inline(always)]
    fn sum_each(self, v: [Self::V; 4]) -> [f32; 4] {
        [self.sum(v[0]), self.sum(v[1]), self.sum(v[2]), self.sum(v[3])]
    }
    /// [`Self::sum`] of each of four by four vectors.
    #[inline(always)]
    fn sum_square(self, v: [[Self::V; 4]; 4]) -> [[f32; 4]; 4] {
        [self.sum_each(v[0]), self.sum_each(v[1]), self.sum_each(v[2]), self.sum_each(v[3])]
    }
    /// Returns 2ⁿ, made of the bits of `n + 1.5 · 2²³`, for n in -126 ..= 127.
    fn power_of_two(self, shifted: Self::V) -> Self::V;

    /// Returns eˣ to about two units in the last place; x below -87.3 counts as -87.3, above 88.3
    /// as 88.3. Reduction to |r| ≤ ln 2 / 2 in two steps and a polynomial of degree five (the
    /// coefficients of Cephes' `expf`).
    #[inline(always)]
    fn exp(self, x: Self::V) -> Self::V {
        const SHIFT: f32 = 12_582_912.0; // 1.5 · 2²³: adding it rounds to a whole number
        const LN2_HIGH: f32 = 0.693_359_4; // 0.693359375: few bits, so that n times it is exact
        const LN2_LOW: f32 = -2.121_944_4e-4;
        const POLYNOMIAL: [f32; 6] =
            [1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5];
        let x = self.min(self.max(x, self.splat(-87.3)), self.splat(88.3));
        let shifted = self.fma(x, self.splat(std::f32::consts::LOG2_E), self.splat(SHIFT));
        let n = self.sub(shifted, self.splat(SHIFT));
        let r = self.fma(n, self.splat(-LN2_HIGH), x);
        let r = self.fma(n, self.splat(-LN2_LOW), r);
        let mut p = self.splat(POLYNOMIAL[0]);
        for c in &POLYNOMIAL[1..] {
            p = self.fma(p, r, self.splat(*c));
        }
        let p = self.fma(p, self.mul(r, r), self.add(r, self.splat(1.0)));
        self.mul(p, self.power_of_two(shifted))
    }

    /// Loads at most sixteen values; the other lanes are zero.
    #[inline(always)]
    fn load_part<W: Element>(self, from: &[W]) -> Self::V {
        if let Some(whole) = from.first_chunk() {
            return W::load(self, whole);
        }
        let mut padded = [W::ZERO; LANES];
        padded[..from.len()].copy_from_slice(from);
        W::load(self, &padded)
    }

    /// Stores the first `to.len()` lanes as [`Self::store_f16`] does.
    #[inline(always)]
    fn store_part_f16(self, v: Self::V, to: &mut [f16]) {
        let mut all = [f16::ZERO; LANES];
        self.store_f16(v, &mut all);
        to.copy_from_slice(&all[..to.len()]);
    }

    /// Stores the first `to.len()` lanes.
    #[inline(always)]
    fn store_part(self, v: Self::V, to: &mut [f32]) {
        if let Some(whole) = to.first_chunk_mut() {
            return self.store(v, whole);
        }
        let mut all = [0.0; LANES];
        self.store(v, &mut all);
        to.copy_from_slice(&all[..to.len()]);
    }
}

/// Returns the sum of the lanes of each register of a tile.
#[inline(always)]
pub(super) fn sums_of_tile<L: Lanes, const M: usize, const N: usize>(
    lanes: L,
    tile: &[[L::V; N]; M],
) -> [[f32; N]; M] {
    let mut out = [[0.0; N]; M];
    // Four sums at a time cost little more than one, sixteen hardly more than two times four.
    if M == 4 {
        let mut n = 0;
        while n + 4 <= N {
            let mut square = [[lanes.splat(0.0); 4]; 4];
            for m in 0..4 {
                square[m].copy_from_slice(&tile[m][n..n + 4]);
            }
            for (out, sums) in out.iter_mut().zip(lanes.sum_square(square)) {
                out[n..n + 4].copy_from_slice(&sums);
            }
            n += 4;
        }
        for n in n..N {
            let four = lanes.sum_each([tile[0][n], tile[1][n], tile[2][n], tile[3][n]]);
            for m in 0..4 {
                out[m][n] = four[m];
            }
        }
        return out;
    }
    for m in 0..M {
        let mut n = 0;
        while n + 4 <= N {
            let four = lanes.sum_each([tile[m][n], tile[m][n + 1], tile[m][n + 2], tile[m][n + 3]]);
            out[m][n..n + 4].copy_from_slice(&four);
            n += 4;
        }
        for n in n..N {
            out[m][n] = lanes.sum(tile[m][n]);
        }
    }
    out
}

/// Element type of stored weights, keys and values.
pub(super) trait Element: Copy + Sync + 'static {
    const ZERO: Self;
    fn load<L: Lanes>(lanes: L, from: &[Self; LANES]) -> L::V;
}

impl Element for f32 {
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn load<L: Lanes>(lanes: L, from: &[Self; LANES]) -> L::V {
        lanes.load(from)
    }
}

impl Element for bf16 {
    const ZERO: Self = bf16::ZERO;

    #[inline(always)]
    fn load<L: Lanes>(lanes: L, from: &[Self; LANES]) -> L::V {
        lanes.load_bf16(from)
    }
}

impl Element for f16 {
    const ZERO: Self = f16::ZERO;

    #[inline(always)]
    fn load<L: Lanes>(lanes: L, from: &[Self; LANES]) -> L::V {
        lanes.load_f16(from)
    }
}

/// One of `count` passes over the same weights.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass {
    pub(super) index: usize,
    pub(super) count: usize,
}

/// Prefetch of memory into the second-level cache, a few lines at each step of a loop. Fetched into
/// the first level, the lines would delay the loop's own loads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prefetch {
    at: *const u8,
    lines_per_step: usize,
}

impl Prefetch {
    const LINE: usize = 64;

    /// Prefetches nothing, for memory that is read in one go: the processor fetches that by itself.
    #[inline(always)]
    pub(super) fn none() -> Self {
        Self { at: std::ptr::null(), lines_per_step: 0 }
    }

    /// Prefetches this pass's share of the tile of `N` rows or panels behind `tile`, in `steps`
    /// steps; nothing if `N` is 1, since such tiles are read in one go.
    #[inline(always)]
    pub(super) fn behind_tile<const N: usize, T>(tile: &[T], pass: Pass, steps: usize) -> Self {
        match N {
            1 => Self::none(),
            _ => Self::behind(tile, size_of_val(tile), pass, steps),
        }
    }

    /// Prefetches this pass's share of the `bytes` bytes behind `in_use`, in `steps` steps. There
    /// needn't be memory at these addresses.
    #[inline(always)]
    pub(super) fn behind<T>(in_use: &[T], bytes: usize, pass: Pass, steps: usize) -> Self {
        let share = bytes.div_ceil(pass.count).next_multiple_of(Self::LINE);
        let before = pass.index * share;
        let at = in_use.as_ptr_range().end.cast::<u8>().wrapping_add(before);
        let left = bytes.saturating_sub(before).min(share);
        Self { at, lines_per_step: left.div_ceil(Self::LINE).div_ceil(steps.max(1)) }
    }

    /// Prefetches all of `data`, in `steps` steps.
    #[inline(always)]
    pub(super) fn of<T>(data: &[T], steps: usize) -> Self {
        let lines = size_of_val(data).div_ceil(Self::LINE);
        Self { at: data.as_ptr().cast(), lines_per_step: lines.div_ceil(steps) }
    }

    #[inline(always)]
    pub(super) fn step(&mut self) {
        for _ in 0..self.lines_per_step {
            prefetch(self.at);
            self.at = self.at.wrapping_add(Self::LINE);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[expect(unsafe_code, reason = "an intrinsic")]
fn prefetch(at: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
    // SAFETY: it changes nothing but caches, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn prefetch(_at: *const u8) {}
