//! Formats of quantised codes: their layout in a panel, and their values.
//!
//! A group is eight steps of four columns. With eight bits, a step is a line; with four, line `i`
//! has step `i` in the lower halves of its bytes and step `i + 4` in the upper ones.

use half::{bf16, f16};

use super::PanelRow;
use crate::cpu::lanes::LANES;
use crate::cpu::lanes::dots::Dots;

/// Format of codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum Format {
    /// Eight bits: the code is the value plus 128.
    Q8,
    /// Four bits: the code is the value.
    Q4,
    /// E2M1 in four bits: the value is twice that of E2M1, and the scale is half the stored one, so
    /// that values are integers.
    Mxfp4,
}

/// Twice the value of each E2M1 code.
const E2M1: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];
/// Twice the value of each E2M1 code, plus 12, so that none is negative.
const E2M1_PLUS_OFFSET: [u8; 16] = {
    let mut values = [0; 16];
    let mut code = 0;
    while code < 16 {
        values[code] = (E2M1[code] + 12).cast_unsigned();
        code += 1;
    }
    values
};

impl Format {
    /// Number of lines in a group.
    pub(super) fn lines(self) -> usize {
        match self {
            Self::Q8 => Q8Panels::LINES,
            Self::Q4 | Self::Mxfp4 => Q4Panels::LINES,
        }
    }

    /// Returns where the codes of a step are: line, shift and mask.
    pub(super) fn place(self, step: usize) -> (usize, u32, u8) {
        match (self, step) {
            (Self::Q8, step) => (step, 0, 0xff),
            (_, 0..4) => (step, 0, 15),
            (_, step) => (step - 4, 4, 15),
        }
    }

    /// Returns the value of a code.
    pub(super) fn value(self, code: u8) -> i8 {
        match self {
            Self::Q8 => code.wrapping_sub(128).cast_signed(),
            Self::Q4 => code.cast_signed(),
            Self::Mxfp4 => E2M1[usize::from(code)],
        }
    }
}

/// Format that the tile kernel is compiled for. All functions are `#[inline(always)]`.
pub(in crate::cpu) trait PanelFormat {
    /// Number of lines in a group.
    const LINES: usize;
    /// Number of steps in a line.
    const PER_LINE: usize;
    /// Number that unsigned codes are above their values.
    const OFFSET: i32;
    /// Whether groups have a minimum.
    const HAS_MINIMUM: bool;

    /// Returns the unsigned codes of each step of a line; the second ones are used only if a line
    /// has two steps.
    fn unpack<L: Dots>(lanes: L, line: L::Codes) -> [L::Codes; 2];
    fn scale<L: Dots>(lanes: L, scale: &PanelRow) -> L::V;
}

pub(in crate::cpu) struct Q8Panels;
pub(in crate::cpu) struct Q4Panels;
pub(in crate::cpu) struct Mxfp4Panels;

impl PanelFormat for Q8Panels {
    const LINES: usize = 8;
    const PER_LINE: usize = 1;
    const OFFSET: i32 = 128;
    const HAS_MINIMUM: bool = false;

    #[inline(always)]
    fn unpack<L: Dots>(_: L, line: L::Codes) -> [L::Codes; 2] {
        [line; 2]
    }

    #[inline(always)]
    fn scale<L: Dots>(lanes: L, scale: &PanelRow) -> L::V {
        lanes.load_f16(bytemuck::cast_ref::<PanelRow, [f16; LANES]>(scale))
    }
}

impl PanelFormat for Q4Panels {
    const LINES: usize = 4;
    const PER_LINE: usize = 2;
    const OFFSET: i32 = 0;
    const HAS_MINIMUM: bool = true;

    #[inline(always)]
    fn unpack<L: Dots>(lanes: L, line: L::Codes) -> [L::Codes; 2] {
        lanes.halves(line)
    }

    #[inline(always)]
    fn scale<L: Dots>(lanes: L, scale: &PanelRow) -> L::V {
        Q8Panels::scale(lanes, scale)
    }
}

impl PanelFormat for Mxfp4Panels {
    const LINES: usize = 4;
    const PER_LINE: usize = 2;
    const OFFSET: i32 = 12;
    const HAS_MINIMUM: bool = false;

    #[inline(always)]
    fn unpack<L: Dots>(lanes: L, line: L::Codes) -> [L::Codes; 2] {
        let [lower, upper] = lanes.halves(line);
        [lanes.look_up(&E2M1_PLUS_OFFSET, lower), lanes.look_up(&E2M1_PLUS_OFFSET, upper)]
    }

    #[inline(always)]
    fn scale<L: Dots>(lanes: L, scale: &PanelRow) -> L::V {
        lanes.load_bf16(bytemuck::cast_ref::<PanelRow, [bf16; LANES]>(scale))
    }
}
