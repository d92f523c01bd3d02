//! Blocks of 32 values (64 in `Q2_0` and `NVFP4`, 128 in `Q1_0`) with one factor, and a minimum in some
//! types. Of codes with four bits, the first half of those that share a factor are in the lower halves
//! of the bytes, the others in the upper ones.

use ops::E4M3_VALUES;

use super::{Block, BlockType, SCALE_GROUP, half, halves};

/// Decodes a block of one of these types.
pub(super) fn decode(kind: BlockType, bytes: &[u8], to: &mut Block) {
    let codes = &mut to.codes[..kind.block_len()];
    (to.factor, to.minimum_factor) = (half(bytes, 0), 0.0);
    to.scales.fill(1);
    to.minimums.fill(1);
    match kind {
        BlockType::Q1_0 => {
            for (codes, bits) in codes.chunks_mut(8).zip(&bytes[2..]) {
                for (i, code) in codes.iter_mut().enumerate() {
                    *code = bits >> i & 1;
                }
            }
        }
        BlockType::Q4_0 | BlockType::IQ4_NL => halves(&bytes[2..], codes),
        BlockType::Q4_1 => {
            to.minimum_factor = half(bytes, 2);
            halves(&bytes[4..], codes);
        }
        BlockType::Q5_0 => {
            halves(&bytes[6..], codes);
            add_fifth_bits(&bytes[2..6], codes);
        }
        BlockType::Q5_1 => {
            to.minimum_factor = half(bytes, 2);
            halves(&bytes[8..], codes);
            add_fifth_bits(&bytes[4..8], codes);
        }
        BlockType::Q8_0 => {
            for (code, byte) in codes.iter_mut().zip(&bytes[2..]) {
                *code = byte ^ 0x80;
            }
        }
        BlockType::Q2_0 => {
            for (codes, bits) in codes.chunks_mut(4).zip(&bytes[2..]) {
                for (i, code) in codes.iter_mut().enumerate() {
                    *code = bits >> (2 * i) & 3;
                }
            }
        }
        BlockType::NVFP4 => {
            let (factors, bytes) = bytes.split_at(codes.len() / SCALE_GROUP);
            let groups = codes.chunks_exact_mut(SCALE_GROUP).zip(bytes.chunks_exact(SCALE_GROUP / 2));
            for ((factor, (codes, bytes)), to) in factors.iter().zip(groups).zip(&mut to.factors_of_16) {
                halves(bytes, codes);
                *to = half_of_e4m3(*factor);
            }
        }
        BlockType::MXFP4 => {
            to.factor = half_of_power(bytes[0]);
            halves(&bytes[1..], codes);
        }
        _ => unreachable!("{} has blocks of another size", kind.name()),
    }
}

/// Adds bit `i` of `bits` to code `i`, as its fifth bit.
fn add_fifth_bits(bits: &[u8], codes: &mut [u8]) {
    for (codes, bits) in codes.chunks_mut(8).zip(bits) {
        for (i, code) in codes.iter_mut().enumerate() {
            *code |= (bits >> i & 1) << 4;
        }
    }
}

/// Returns half the value of a code of E4M3 without sign, for values twice those of E2M1; zero for the
/// code that is no number there.
fn half_of_e4m3(code: u8) -> f32 {
    match code {
        0x7f => 0.0,
        // With the sign, which is left out, it is the number that its bits would mean.
        0xff => 240.0,
        _ => 0.5 * E4M3_VALUES[usize::from(code & 0x7f)],
    }
}

/// Returns 2 to the power of `exponent - 128`, for values twice those of E2M1; NaN for 255, which
/// is no number in E8M0.
fn half_of_power(exponent: u8) -> f32 {
    match exponent {
        0 | 1 => f32::from_bits(0x20_0000 << exponent),
        255 => f32::NAN,
        _ => f32::from_bits(u32::from(exponent - 1) << 23),
    }
}
