//! Blocks of 256 values that are looked up, four or eight at a time, in tables of the format (grids).
//!
//! `grids.bin` has them one after the other, an entry in sixteen bits: eight codes of two bits, or four
//! of four, the first in the lowest bits. Bit 3 of a code is the sign.

use half::f16;

use super::{Block, BlockType, half};

/// Grid: its place among all entries.
#[derive(Clone, Copy)]
struct Grid(usize);

const IQ2_XXS: Grid = Grid(0);
const IQ2_XS: Grid = Grid(256);
const IQ2_S: Grid = Grid(768);
const IQ1: Grid = Grid(1792);
const IQ3_XXS: Grid = Grid(3840);
const IQ3_S: Grid = Grid(4096);

static ENTRIES: &[u8; 4608 * 2] = include_bytes!("grids.bin");

/// Decodes a block of one of these types.
pub(super) fn decode(kind: BlockType, bytes: &[u8], to: &mut Block) {
    to.codes.fill(0);
    to.minimum_factor = 0.0;
    match kind {
        BlockType::IQ2_XXS => iq2_xxs(bytes, to),
        BlockType::IQ2_XS => iq2_xs(bytes, to),
        BlockType::IQ2_S => iq2_s(bytes, to),
        BlockType::IQ3_XXS => iq3_xxs(bytes, to),
        BlockType::IQ3_S => iq3_s(bytes, to),
        BlockType::IQ1_S => iq1_s(bytes, to),
        BlockType::IQ1_M => iq1_m(bytes, to),
        _ => unreachable!("{} has no grid", kind.name()),
    }
}

impl Grid {
    fn entry(self, index: usize) -> u16 {
        let at = (self.0 + index) * 2;
        u16::from_le_bytes([ENTRIES[at], ENTRIES[at + 1]])
    }

    /// Adds eight codes of an entry.
    fn eight(self, index: usize, codes: &mut [u8]) {
        let entry = self.entry(index);
        for (i, code) in codes.iter_mut().enumerate() {
            *code |= (entry >> (2 * i) & 3) as u8;
        }
    }

    /// Adds four codes of an entry.
    fn four(self, index: usize, codes: &mut [u8]) {
        let entry = self.entry(index);
        for (i, code) in codes.iter_mut().enumerate() {
            *code |= (entry >> (4 * i) & 7) as u8;
        }
    }
}

/// Sets the signs of eight codes.
fn set_signs(signs: u8, codes: &mut [u8]) {
    for (i, code) in codes.iter_mut().enumerate() {
        *code |= (signs >> i & 1) << 3;
    }
}

/// Completes seven signs, so that an even number of all eight are set.
fn even(signs: u32) -> u8 {
    let seven = (signs & 127) as u8;
    seven | ((seven.count_ones() & 1) as u8) << 7
}

/// Odd scale of a stored one.
fn odd(scale: u8) -> i8 {
    (2 * scale + 1).cast_signed()
}

/// Sets the scales of each 16 by eight bytes of two, the lower half first.
fn set_scales(bytes: &[u8], to: &mut Block) {
    for (scales, byte) in to.scales.chunks_mut(2).zip(bytes) {
        (scales[0], scales[1]) = (odd(byte & 15), odd(byte >> 4));
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// Sets four times eight signs, and the scale of 32, by one word: four times seven bits, and four.
fn signs_and_scale(word: u32, codes: &mut [u8], scales: &mut [i8]) {
    for (i, codes) in codes.chunks_mut(8).enumerate() {
        set_signs(even(word >> (7 * i)), codes);
    }
    scales.fill(odd((word >> 28) as u8));
}

/// Factor (2 bytes); for each 32, four indices of a byte, and a word of signs and scale (8).
fn iq2_xxs(bytes: &[u8], to: &mut Block) {
    to.factor = half(bytes, 0) / 8.0;
    let groups = bytes[2..].chunks(8).zip(to.codes.chunks_mut(32)).zip(to.scales.chunks_mut(2));
    for ((bytes, codes), scales) in groups {
        signs_and_scale(word(&bytes[4..]), codes, scales);
        for (index, codes) in bytes[..4].iter().zip(codes.chunks_mut(8)) {
            IQ2_XXS.eight(usize::from(*index), codes);
        }
    }
}

/// Factor (2 bytes); for each eight, nine bits of index and seven of signs (64); scales (8).
fn iq2_xs(bytes: &[u8], to: &mut Block) {
    to.factor = half(bytes, 0) / 8.0;
    set_scales(&bytes[66..74], to);
    for (bytes, codes) in bytes[2..66].chunks(2).zip(to.codes.chunks_mut(8)) {
        let entry = u16::from_le_bytes([bytes[0], bytes[1]]);
        set_signs(even(u32::from(entry >> 9)), codes);
        IQ2_XS.eight(usize::from(entry & 511), codes);
    }
}

/// Factor (2 bytes), lower bits of indices (32), signs (32), upper two bits of indices (8), scales (8).
fn iq2_s(bytes: &[u8], to: &mut Block) {
    to.factor = half(bytes, 0) / 8.0;
    set_scales(&bytes[74..82], to);
    for (i, codes) in to.codes.chunks_mut(8).enumerate() {
        let upper = usize::from(bytes[66 + i / 4] >> (i % 4 * 2) & 3);
        set_signs(bytes[34 + i], codes);
        IQ2_S.eight(usize::from(bytes[2 + i]) | upper << 8, codes);
    }
}

/// Factor (2 bytes), an index for each four (64), a word of signs and scale for each 32 (32).
fn iq3_xxs(bytes: &[u8], to: &mut Block) {
    to.factor = half(bytes, 0) / 4.0;
    let groups = bytes[66..98].chunks(4).zip(to.codes.chunks_mut(32)).zip(to.scales.chunks_mut(2));
    for ((bytes, codes), scales) in groups {
        signs_and_scale(word(bytes), codes, scales);
    }
    for (index, codes) in bytes[2..66].iter().zip(to.codes.chunks_mut(4)) {
        IQ3_XXS.four(usize::from(*index), codes);
    }
}

/// Factor (2 bytes), lower bits of an index for each four (64), upper bits (8), signs (32), scales of
/// each 32 (4).
fn iq3_s(bytes: &[u8], to: &mut Block) {
    to.factor = half(bytes, 0);
    for (i, scales) in to.scales.chunks_mut(2).enumerate() {
        scales.fill(odd(bytes[106 + i / 2] >> (i % 2 * 4) & 15));
    }
    for (signs, codes) in bytes[74..106].iter().zip(to.codes.chunks_mut(8)) {
        set_signs(*signs, codes);
    }
    for (i, codes) in to.codes.chunks_mut(4).enumerate() {
        let upper = usize::from(bytes[66 + i / 8] >> (i % 8) & 1);
        IQ3_S.four(usize::from(bytes[2 + i]) | upper << 8, codes);
    }
}

/// Factor (2 bytes), lower bits of indices (32); for each 32, four times three upper bits, three of
/// scale, and the sign of the eighth (16).
fn iq1_s(bytes: &[u8], to: &mut Block) {
    to.factor = half(bytes, 0) / 8.0;
    let groups = to.codes.chunks_mut(32).zip(to.scales.chunks_mut(2)).enumerate();
    for (group, (codes, scales)) in groups {
        let upper = u16::from_le_bytes([bytes[34 + 2 * group], bytes[35 + 2 * group]]);
        scales.fill(odd((upper >> 12 & 7) as u8));
        codes.fill((upper >> 15) as u8 * 8);
        for (i, codes) in codes.chunks_mut(8).enumerate() {
            let index = usize::from(bytes[2 + 4 * group + i]) | usize::from(upper >> (3 * i) & 7) << 8;
            IQ1.eight(index, codes);
        }
    }
}

/// Lower bits of indices (32 bytes); for each eight, three upper bits and the sign of the eighth (16);
/// four times three bits of scales and four of the factor (8).
fn iq1_m(bytes: &[u8], to: &mut Block) {
    to.factor = scattered_factor(bytes) / 8.0;
    for (i, scale) in to.scales.iter_mut().enumerate() {
        let four = u16::from_le_bytes([bytes[48 + i / 4 * 2], bytes[49 + i / 4 * 2]]);
        *scale = odd((four >> (i % 4 * 3) & 7) as u8);
    }
    for (i, codes) in to.codes.chunks_mut(8).enumerate() {
        let upper = bytes[32 + i / 2] >> (i % 2 * 4);
        codes.fill(upper & 8);
        IQ1.eight(usize::from(bytes[i]) | usize::from(upper & 7) << 8, codes);
    }
}

/// Factor of a block of `IQ1_M`: a half float whose four digits are in the upper bits of four words.
pub(super) fn scattered_factor(bytes: &[u8]) -> f32 {
    let digit = |i: usize| u16::from(bytes[49 + 2 * i] >> 4) << (4 * i);
    f16::from_bits(digit(0) | digit(1) | digit(2) | digit(3)).to_f32()
}
