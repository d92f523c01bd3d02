//! Lanes as an array, which the compiler vectorises as far as the machine allows. Of a
//! multiply-add, both steps are rounded.
//!
//! On x86-64, where these lanes serve machines of before 2013, what takes many instructions is
//! called instead of repeated in every kernel: it is no slower, and the crate compiles in a sixth
//! less time.

use half::{bf16, f16};

use super::dots::{CODES, Dots, PAIRS};
use super::{LANES, LARGEST_F16, Lanes};

/// Lanes that need no instructions beyond those that the binary was compiled for.
#[derive(Debug, Clone, Copy)]
pub(in crate::cpu) struct Portable;

#[inline(always)]
fn each(a: [f32; LANES], b: [f32; LANES], f: impl Fn(f32, f32) -> f32) -> [f32; LANES] {
    let mut out = [0.0; LANES];
    for i in 0..LANES {
        out[i] = f(a[i], b[i]);
    }
    out
}

impl Lanes for Portable {
    type V = [f32; LANES];
    const WIDE: bool = false;

    #[inline(always)]
    fn splat(self, x: f32) -> Self::V {
        [x; LANES]
    }

    #[inline(always)]
    fn load(self, from: &[f32; LANES]) -> Self::V {
        *from
    }

    #[inline(always)]
    fn load_bf16(self, from: &[bf16; LANES]) -> Self::V {
        from.map(|x| f32::from_bits(u32::from(x.to_bits()) << 16))
    }

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn load_f16(self, from: &[f16; LANES]) -> Self::V {
        from.map(f16::to_f32)
    }

    #[inline(always)]
    fn store(self, v: Self::V, to: &mut [f32; LANES]) {
        *to = v;
    }

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn store_f16(self, v: Self::V, to: &mut [f16; LANES]) {
        *to = v.map(|x| f16::from_f32(x.clamp(-LARGEST_F16, LARGEST_F16)));
    }

    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| a * b)
    }

    #[inline(always)]
    fn div(self, a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| a / b)
    }

    #[inline(always)]
    fn min(self, a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn max(self, a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        self.add(self.mul(a, b), c)
    }

    #[inline(always)]
    fn sum(self, mut v: Self::V) -> f32 {
        for width in [8, 4, 2, 1] {
            for i in 0..width {
                v[i] += v[i + width];
            }
        }
        v[0]
    }

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn power_of_two(self, shifted: Self::V) -> Self::V {
        shifted.map(|x| f32::from_bits((x.to_bits() << 23).wrapping_add(0x3f80_0000)))
    }
}

impl Dots for Portable {
    type Pairs = [f32; PAIRS];
    type Sums = [i32; LANES];
    type Codes = [u8; CODES];

    #[inline(always)]
    fn no_pairs(self) -> Self::Pairs {
        [0.0; PAIRS]
    }

    #[inline(always)]
    fn load_pairs(self, from: &[bf16; PAIRS]) -> Self::Pairs {
        from.map(|x| f32::from_bits(u32::from(x.to_bits()) << 16))
    }

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn dot_pairs(self, a: Self::Pairs, b: Self::Pairs, mut c: Self::V) -> Self::V {
        for i in 0..LANES {
            c[i] = c[i] + a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
        }
        c
    }

    #[inline(always)]
    fn splat_sum(self, x: i32) -> Self::Sums {
        [x; LANES]
    }

    #[inline(always)]
    fn load_codes(self, from: &[u8; CODES]) -> Self::Codes {
        *from
    }

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn halves(self, codes: Self::Codes) -> [Self::Codes; 2] {
        [codes.map(|code| code & 15), codes.map(|code| code >> 4)]
    }

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn insert_bits(self, codes: Self::Codes, plane: Self::Codes, shift: i32, mask: u8) -> Self::Codes {
        let (left, right) = (shift.max(0), (-shift).max(0));
        std::array::from_fn(|i| codes[i] | plane[i] << left >> right & mask)
    }

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn look_up(self, table: &[u8; 16], codes: Self::Codes) -> Self::Codes {
        codes.map(|code| table[usize::from(code & 15)])
    }

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn dot_codes(self, codes: Self::Codes, x: [i8; 4], mut sums: Self::Sums) -> Self::Sums {
        for (sum, codes) in sums.iter_mut().zip(codes.as_chunks::<4>().0) {
            for (code, x) in codes.iter().zip(x) {
                *sum += i32::from(*code) * i32::from(x);
            }
        }
        sums
    }

    #[inline(always)]
    fn to_f32(self, sums: Self::Sums) -> Self::V {
        sums.map(|sum| sum as f32)
    }

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn load_u8(self, from: &[u8; LANES]) -> Self::V {
        from.map(f32::from)
    }

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn load_i8(self, from: &[i8; LANES]) -> Self::V {
        from.map(f32::from)
    }

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn round_to_f16(self, v: Self::V) -> Self::V {
        v.map(|x| f16::from_f32(x).to_f32())
    }

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    fn select_less(self, a: Self::V, b: Self::V, x: Self::V, y: Self::V) -> Self::V {
        std::array::from_fn(|i| if a[i] < b[i] { x[i] } else { y[i] })
    }
}
