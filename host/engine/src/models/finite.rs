//! Check that weights are finite: one NaN or infinity in them turns every answer into noise.

use half::{bf16, f16};

use super::LoadError;
use super::tensor::{CodeKind, Dtype};
use crate::parallel;

/// Number of bytes that are checked without a branch; a multiple of every element's size.
const BLOCK: usize = 16 << 10;

/// Distance between bytes that are read to load all codes from the disk: no more than a page of any
/// system.
const PAGE: usize = 4096;

/// The first element that is infinite or not a number: its index and its value. `bytes` are whole
/// elements, little endian.
pub(super) fn first_that_is_not(bytes: &[u8], dtype: Dtype) -> Option<(usize, f32)> {
    let any = match dtype {
        Dtype::F32 => any_of_f32,
        Dtype::Bf16 => any_of_u16::<0x7f80>,
        Dtype::F16 => any_of_u16::<0x7c00>,
    };
    let value = |b: &[u8]| match dtype {
        Dtype::F32 => f32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        Dtype::Bf16 => bf16::from_le_bytes([b[0], b[1]]).to_f32(),
        Dtype::F16 => f16::from_le_bytes([b[0], b[1]]).to_f32(),
    };
    let first = first_block(bytes, any)? / dtype.size();
    let elements = bytes.chunks_exact(dtype.size()).map(value).enumerate();
    elements.skip(first).find(|(_, value)| !value.is_finite())
}

impl CodeKind {
    /// Index of the first code that is NaN or makes values that f32 can't hold. All codes are read,
    /// so that no step waits for the disk.
    pub(super) fn first_that_is_no_number(self, codes: &[u8]) -> Option<usize> {
        match self {
            Self::E4m3 => first_byte(codes, |code| code & 0x7f == 0x7f),
            Self::E2m1Pairs => {
                parallel::map_chunks(codes, |_, chunk| {
                    std::hint::black_box(chunk.iter().step_by(PAGE).fold(0, |any, code| any | code));
                });
                None
            }
            // 6 · 2¹²⁶ is beyond f32.
            Self::E8m0 => first_byte(codes, |code| code > 252),
        }
    }
}

/// Index of the first byte that means no number.
fn first_byte(bytes: &[u8], is_no_number: impl Fn(u8) -> bool + Sync) -> Option<usize> {
    let begin = first_block(bytes, |block| block.iter().fold(false, |any, byte| any | is_no_number(*byte)))?;
    Some(begin + bytes[begin..].iter().position(|byte| is_no_number(*byte))?)
}

/// Offset of the first block that has any such element.
fn first_block(bytes: &[u8], any: impl Fn(&[u8]) -> bool + Sync) -> Option<usize> {
    let in_chunk = |offset, chunk: &[u8]| Some(offset + chunk.chunks(BLOCK).position(&any)? * BLOCK);
    parallel::map_chunks(bytes, in_chunk).into_iter().flatten().next()
}

/// Whether an element has all bits of its `EXPONENT`, as infinities and NaNs have.
#[expect(clippy::needless_bitwise_bool, reason = "without a branch the loop is vectorised")]
fn any_of_u16<const EXPONENT: u16>(bytes: &[u8]) -> bool {
    let bits = bytes.as_chunks().0.iter().map(|b| u16::from_le_bytes(*b));
    bits.fold(false, |any, bits| any | (bits & EXPONENT == EXPONENT))
}

#[expect(clippy::needless_bitwise_bool, reason = "without a branch the loop is vectorised")]
fn any_of_f32(bytes: &[u8]) -> bool {
    const EXPONENT: u32 = 0x7f80_0000;
    let bits = bytes.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b));
    bits.fold(false, |any, bits| any | (bits & EXPONENT == EXPONENT))
}

/// The error of an element that isn't finite.
pub(super) fn not_a_number(file: &str, tensor: &str, index: usize, value: &str) -> LoadError {
    LoadError::invalid(file, format!("tensor {tensor}: element {index} is {value}; get the file anew"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(values: &[f32], dtype: Dtype) -> Option<usize> {
        let bytes: Vec<u8> = match dtype {
            Dtype::F32 => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Dtype::Bf16 => values.iter().flat_map(|v| bf16::from_f32(*v).to_le_bytes()).collect(),
            Dtype::F16 => values.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect(),
        };
        first_that_is_not(&bytes, dtype).map(|(index, _)| index)
    }

    #[test]
    fn the_first_of_them_is_found_wherever_it_stands() {
        for dtype in [Dtype::F32, Dtype::Bf16, Dtype::F16] {
            let finite: Vec<f32> = [0.0, -0.0, 1.5, -60_000.0, 1e-7].repeat(4000);
            assert_eq!(first(&finite, dtype), None);
            assert_eq!(first(&[], dtype), None);
            for index in [0, 1, 4095, 4096, 8191, 8192, finite.len() - 1] {
                for value in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                    let mut broken = finite.clone();
                    broken[index] = value;
                    *broken.last_mut().unwrap() = f32::NAN;
                    assert_eq!(first(&broken, dtype), Some(index), "{dtype:?} {value}");
                }
            }
        }
    }

    #[test]
    fn the_first_is_found_where_several_threads_look() {
        let mut weights = vec![0x3f; 9 << 20];
        for at in [(9 << 20) - 1, (5 << 20) + 7, 4 << 20, 3] {
            weights[at] = 0x7f;
            assert_eq!(first_byte(&weights, |code| code == 0x7f), Some(at));
            weights[at - at % 2..][..2].copy_from_slice(&bf16::NAN.to_le_bytes());
            let found = first_that_is_not(&weights, Dtype::Bf16);
            assert_eq!(found.map(|(index, _)| index), Some(at / 2));
        }
    }
}
