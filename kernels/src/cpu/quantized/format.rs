//! Formats of panels: where codes and scales are, and what codes stand for.
//!
//! A block of a panel has lines of scales, then the codes of its groups. A group is eight steps of
//! four columns. With eight bits, a step is a line; with less, line `i` has the lower four bits of
//! step `i` in the lower halves of its bytes and those of step `i + 4` in the upper ones. Lines
//! behind these have the upper bits.

use super::scales::ScaleKind;
use super::{CodeLine, GROUP};
use crate::cpu::lanes::LANES;

/// Format of codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum Format {
    /// Eight bits: the code is the value plus 128.
    Q8,
    /// Eight bits: the code is the value, and groups have minimums.
    Q8WithMinimum,
    /// Four bits: the code is the value, and groups have minimums.
    Q4,
    /// E2M1 in four bits: the value is twice that of E2M1, and the scale, a bf16, is half the stored
    /// one, so that values are integers.
    Mxfp4,
    /// Four bits that a table has the values of.
    Table,
    /// Four bits: the code is the value; integer scales and minimums for each 32.
    K4,
    /// As `K4`, with five bits.
    K5,
    /// Six bits: the code is the value plus 32; an integer scale for each 16.
    K6,
    /// Four bits that a table has the values of; an integer scale for each 32.
    TableOf32,
    /// As `TableOf32`, with a scale for each 16.
    TableOf16,
    /// Four bits: the code is the value; an integer scale and minimum for each 16.
    K4Of16,
}

/// Lines of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) struct Layout {
    pub(in crate::cpu) scales: ScaleKind,
    /// Number of bits of a code: 4, 5, 6 or 8.
    pub(in crate::cpu) bits: u32,
}

impl Layout {
    /// Number of groups in a block.
    pub(in crate::cpu) const fn groups(self) -> usize {
        self.scales.groups()
    }

    /// Number of lines of codes in a group.
    pub(in crate::cpu) const fn lines(self) -> usize {
        self.bits as usize
    }

    /// Number of lines in a block.
    pub(in crate::cpu) const fn block_lines(self) -> usize {
        self.scales.lines() + self.groups() * self.lines()
    }

    /// Returns where the lower bits of a step's codes are: line, shift and mask.
    fn lower(self, step: usize) -> (usize, u32, u8) {
        match (self.bits, step) {
            (8, step) => (step, 0, 0xff),
            (_, 0..4) => (step, 0, 15),
            (_, step) => (step - 4, 4, 15),
        }
    }

    /// Returns where the bits above the lowest four are: line, shift and mask. It is zero for codes
    /// that have none.
    pub(in crate::cpu) const fn upper(self, step: usize) -> (usize, u32, u8) {
        match self.bits {
            5 => (4, [0, 1, 2, 3, 4, 5, 6, 7][step], 1),
            6 => (4 + step % 2, [0, 0, 4, 4, 2, 2, 6, 6][step], 3),
            _ => (0, 0, 0),
        }
    }

    /// Returns the code of a panel's row in a column of a group.
    pub(super) fn code(self, group: &[CodeLine], row: usize, col: usize) -> u8 {
        let (step, place) = (col / 4, row * 4 + col % 4);
        let (line, shift, mask) = self.lower(step);
        let (upper_line, upper_shift, upper_mask) = self.upper(step);
        group[line].0[place] >> shift & mask | (group[upper_line].0[place] >> upper_shift & upper_mask) << 4
    }

    /// Sets the codes of a panel's row in a group, which are zero.
    pub(super) fn set_codes(self, group: &mut [CodeLine], row: usize, codes: &[u8; GROUP]) {
        for (step, codes) in codes.as_chunks::<4>().0.iter().enumerate() {
            let (line, shift, mask) = self.lower(step);
            let (upper_line, upper_shift, upper_mask) = self.upper(step);
            // Four bytes at once: no shift moves a bit into another byte.
            let codes = u32::from_ne_bytes(*codes);
            words(&mut group[line])[row] |= (codes & in_each_byte(mask)) << shift;
            words(&mut group[upper_line])[row] |= (codes >> 4 & in_each_byte(upper_mask)) << upper_shift;
        }
    }
}

fn words(line: &mut CodeLine) -> &mut [u32; LANES] {
    bytemuck::cast_mut(line)
}

fn in_each_byte(mask: u8) -> u32 {
    u32::from_ne_bytes([mask; 4])
}

impl Format {
    pub(in crate::cpu) const fn layout(self) -> Layout {
        let (scales, bits) = match self {
            Self::Q8 => (ScaleKind::F16, 8),
            Self::Q8WithMinimum => (ScaleKind::F16WithMinimum, 8),
            Self::Q4 => (ScaleKind::F16WithMinimum, 4),
            Self::Mxfp4 => (ScaleKind::Bf16, 4),
            Self::Table => (ScaleKind::F16, 4),
            Self::K4 => (ScaleKind::Of32, 4),
            Self::K5 => (ScaleKind::Of32, 5),
            Self::K6 => (ScaleKind::Of16, 6),
            Self::TableOf32 => (ScaleKind::SignedOf32, 4),
            Self::TableOf16 => (ScaleKind::Of16, 4),
            Self::K4Of16 => (ScaleKind::Of16WithMinimum, 4),
        };
        Layout { scales, bits }
    }

    /// Number that unsigned codes, or a table's entries, are above their values.
    pub(in crate::cpu) const fn offset(self) -> u8 {
        match self {
            Self::Q8 | Self::Table | Self::TableOf32 | Self::TableOf16 | Self::Mxfp4 => 128,
            Self::K6 => 32,
            Self::Q8WithMinimum | Self::Q4 | Self::K4 | Self::K5 | Self::K4Of16 => 0,
        }
    }

    /// Whether a table has the values of codes.
    pub(in crate::cpu) const fn has_table(self) -> bool {
        matches!(self, Self::Table | Self::TableOf32 | Self::TableOf16 | Self::Mxfp4)
    }
}
