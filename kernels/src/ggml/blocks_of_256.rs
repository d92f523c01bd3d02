//! Blocks of 256 values: an integer scale for each 16 or 32 of them, and a minimum in some types.

use super::{Block, BlockType, half, halves};

/// Decodes a block of one of these types.
pub(super) fn decode(kind: BlockType, bytes: &[u8], to: &mut Block) {
    match kind {
        BlockType::Q2_K => q2(bytes, to),
        BlockType::Q3_K => q3(bytes, to),
        BlockType::Q4_K => q4(bytes, to),
        BlockType::Q5_K => q5(bytes, to),
        BlockType::Q6_K => q6(bytes, to),
        BlockType::IQ4_XS => iq4(bytes, to),
        BlockType::TQ1_0 => tq1(bytes, to),
        BlockType::TQ2_0 => {
            quarters(&bytes[..64], &mut to.codes);
            to.scales.fill(1);
            (to.factor, to.minimum_factor) = (half(bytes, 64), 0.0);
        }
        _ => unreachable!("{} has blocks of another size", kind.name()),
    }
}

/// Scales and minimums of four bits for each 16 (16 bytes), codes of two bits (64), factors (2, 2).
fn q2(bytes: &[u8], to: &mut Block) {
    for (i, byte) in bytes[..16].iter().enumerate() {
        (to.scales[i], to.minimums[i]) = ((byte & 15).cast_signed(), byte >> 4);
    }
    quarters(&bytes[16..80], &mut to.codes);
    (to.factor, to.minimum_factor) = (half(bytes, 80), -half(bytes, 82));
}

/// Third bits (32 bytes), codes of two bits (64), scales of six bits for each 16 (12), factor (2).
fn q3(bytes: &[u8], to: &mut Block) {
    quarters(&bytes[32..96], &mut to.codes);
    for (group, codes) in to.codes.chunks_mut(32).enumerate() {
        for (code, bits) in codes.iter_mut().zip(&bytes[..32]) {
            *code |= (bits >> group & 1) << 2;
        }
    }
    let scales = &bytes[96..108];
    for (i, scale) in to.scales.iter_mut().enumerate() {
        let lower = scales[i % 8] >> (i / 8 * 4) & 15;
        let upper = scales[8 + i % 4] >> (i / 4 * 2) & 3;
        *scale = (lower | upper << 4).cast_signed() - 32;
    }
    (to.factor, to.minimum_factor) = (half(bytes, 108), 0.0);
}

/// Factors (2, 2), scales and minimums (12), codes of four bits (128).
fn q4(bytes: &[u8], to: &mut Block) {
    scales_and_minimums(bytes, to);
    for (bytes, codes) in bytes[16..144].chunks(32).zip(to.codes.chunks_mut(64)) {
        halves(bytes, codes);
    }
}

/// Factors (2, 2), scales and minimums (12), fifth bits (32), codes of four bits (128).
fn q5(bytes: &[u8], to: &mut Block) {
    scales_and_minimums(bytes, to);
    for (bytes, codes) in bytes[48..176].chunks(32).zip(to.codes.chunks_mut(64)) {
        halves(bytes, codes);
    }
    for (group, codes) in to.codes.chunks_mut(32).enumerate() {
        for (code, bits) in codes.iter_mut().zip(&bytes[16..48]) {
            *code |= (bits >> group & 1) << 4;
        }
    }
}

/// Lower four bits of codes (128 bytes), upper two (64), scales of eight bits for each 16 (16),
/// factor (2).
fn q6(bytes: &[u8], to: &mut Block) {
    let mut upper = [0; 256];
    quarters(&bytes[128..192], &mut upper);
    for (bytes, codes) in bytes[..128].chunks(64).zip(to.codes.chunks_mut(128)) {
        halves(bytes, codes);
    }
    for (code, upper) in to.codes.iter_mut().zip(upper) {
        *code |= upper << 4;
    }
    for (scale, byte) in to.scales.iter_mut().zip(&bytes[192..208]) {
        *scale = byte.cast_signed();
    }
    (to.factor, to.minimum_factor) = (half(bytes, 208), 0.0);
}

/// Factor (2 bytes), upper two bits of scales (2), lower four (4), codes (128); a scale for each 32.
fn iq4(bytes: &[u8], to: &mut Block) {
    let upper = u16::from_le_bytes([bytes[2], bytes[3]]);
    for (group, scales) in to.scales.chunks_mut(2).enumerate() {
        let lower = bytes[4 + group / 2] >> (group % 2 * 4) & 15;
        let upper = (upper >> (2 * group) & 3) as u8;
        scales.fill((lower | upper << 4).cast_signed() - 32);
    }
    for (bytes, codes) in bytes[8..136].chunks(16).zip(to.codes.chunks_mut(32)) {
        halves(bytes, codes);
    }
    (to.factor, to.minimum_factor) = (half(bytes, 0), 0.0);
}

/// Codes to the base of three (52 bytes), factor (2). 32 bytes have five codes each, then 16 have
/// five, then 4 have four. A byte is a fraction of 256; three times it has a code above the point.
fn tq1(bytes: &[u8], to: &mut Block) {
    let mut rest = &mut to.codes[..];
    for (bytes, digits) in [(&bytes[..32], 5), (&bytes[32..48], 5), (&bytes[48..52], 4)] {
        let mut power = 1u8;
        for _ in 0..digits {
            let (codes, behind) = rest.split_at_mut(bytes.len());
            for (code, byte) in codes.iter_mut().zip(bytes) {
                *code = (u16::from(byte.wrapping_mul(power)) * 3).to_be_bytes()[0];
            }
            power = power.wrapping_mul(3);
            rest = behind;
        }
    }
    to.scales.fill(1);
    (to.factor, to.minimum_factor) = (half(bytes, 52), 0.0);
}

/// Reads codes of two bits: 32 bytes have 128 of them, those of the lowest bits first.
fn quarters(bytes: &[u8], to: &mut [u8; 256]) {
    for (bytes, codes) in bytes.chunks(32).zip(to.chunks_mut(128)) {
        for (quarter, codes) in codes.chunks_mut(32).enumerate() {
            for (code, byte) in codes.iter_mut().zip(bytes) {
                *code = byte >> (2 * quarter) & 3;
            }
        }
    }
}

/// Reads the factors, and scales and minimums of six bits for each 32, of `Q4_K` and `Q5_K`. The
/// upper two bits of the last four are in the upper bits of the first four.
fn scales_and_minimums(bytes: &[u8], to: &mut Block) {
    (to.factor, to.minimum_factor) = (half(bytes, 0), -half(bytes, 2));
    let (scales, rest) = bytes[4..16].split_at(4);
    let (minimums, lower) = rest.split_at(4);
    for i in 0..4 {
        let (scale, minimum, lower) = (scales[i], minimums[i], lower[i]);
        to.scales[2 * i..2 * i + 2].fill((scale & 63).cast_signed());
        to.minimums[2 * i..2 * i + 2].fill(minimum & 63);
        to.scales[2 * i + 8..2 * i + 10].fill((lower & 15 | scale >> 6 << 4).cast_signed());
        to.minimums[2 * i + 8..2 * i + 10].fill(lower >> 4 | minimum >> 6 << 4);
    }
}
