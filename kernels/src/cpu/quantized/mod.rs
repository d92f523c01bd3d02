//! Weights of eight or four bits, quantised at load for integer dot products: sixteen rows (a
//! panel) are interleaved, so that each lane accumulates one row.
//!
//! 32 neighbours of a row (a group) share a scale: `weight = scale * code + minimum`. Inputs of
//! linear layers with such weights are rounded to eight bits, too ([`inputs`]). Integer sums are
//! exact, and groups are added in their order, so a result doesn't depend on what is computed
//! beside it.

mod format;
mod groups;
mod inputs;
mod pack;

use half::{bf16, f16};

pub(super) use format::{Format, Mxfp4Panels, PanelFormat, Q4Panels, Q8Panels};
pub(super) use inputs::{GroupCodes, GroupFactors, QuantizedRows};

use super::lanes::LANES;
use super::lanes::dots::CODES;
use super::memory::ZeroedMemory;

/// Number of neighbours in a row that share a scale.
pub(super) const GROUP: usize = 32;

/// Format that weights are quantised to, except MXFP4, which keeps its codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuantizeTo {
    /// Eight bits, and half a bit for scales.
    Q8,
    /// Four bits, and one bit for scales and minimums.
    Q4,
}

/// Error of quantising a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuantizeError {
    /// The system doesn't grant the memory: about this many bytes.
    Memory(u64),
    /// A group of this row has a scale or a minimum that isn't finite in sixteen bits.
    Range(usize),
}

/// Codes of sixteen rows, four neighbours of each: a line of the processor's cache.
#[derive(Debug, Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(64))]
pub(super) struct CodeLine(pub(super) [u8; CODES]);

/// One number of sixteen bits for each row of a panel.
pub(super) type PanelRow = [u16; LANES];

/// Quantised matrix `[rows, cols]` in panels; rows and columns beyond the last are zero.
#[derive(Debug)]
pub struct QuantizedMatrix {
    format: Format,
    rows: usize,
    cols: usize,
    /// `[panels, groups, lines of a group]`.
    lines: ZeroedMemory<CodeLine>,
    /// `[panels, groups]`: f16, or bf16 for MXFP4.
    scales: ZeroedMemory<PanelRow>,
    /// `[panels, groups]`: f16; empty unless the format is Q4.
    minimum: ZeroedMemory<PanelRow>,
}

impl QuantizedMatrix {
    /// Name of the element type, for people.
    pub fn type_name(&self) -> &'static str {
        match self.format {
            Format::Q8 => "q8",
            Format::Q4 => "q4",
            Format::Mxfp4 => "mxfp4 with inputs of 8 bits",
        }
    }

    /// Size of the matrix in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.lines) + size_of_val(&*self.scales) + size_of_val(&*self.minimum)
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    pub(super) fn len(&self) -> usize {
        self.rows * self.cols
    }

    /// Number of groups in a row.
    pub(super) fn groups(&self) -> usize {
        self.cols.div_ceil(GROUP)
    }

    pub(super) fn get(&self, i: usize) -> f32 {
        self.at(i / self.cols, i % self.cols)
    }

    /// Widens row `row` to f32.
    pub(super) fn widen(&self, row: usize, to: &mut [f32]) {
        to.iter_mut().enumerate().for_each(|(col, to)| *to = self.at(row, col));
    }

    fn at(&self, row: usize, col: usize) -> f32 {
        let (panel, lane) = (row / LANES, row % LANES);
        let (group, col) = (panel * self.groups() + col / GROUP, col % GROUP);
        let (at, shift, mask) = self.format.place(col / 4);
        let byte = self.lines[group * self.format.lines() + at].0[lane * 4 + col % 4];
        let code = f32::from(self.format.value(byte >> shift & mask));
        let scale = self.scales[group][lane];
        match self.format {
            Format::Mxfp4 => bf16::from_bits(scale).to_f32() * code,
            Format::Q8 => f16::from_bits(scale).to_f32() * code,
            Format::Q4 => {
                f16::from_bits(scale).to_f32() * code + f16::from_bits(self.minimum[group][lane]).to_f32()
            }
        }
    }

    /// Codes of the panels `panels`.
    #[inline(always)]
    pub(super) fn panel_lines(&self, panels: std::ops::Range<usize>) -> &[CodeLine] {
        let size = self.groups() * self.format.lines();
        &self.lines[panels.start * size..panels.end * size]
    }

    #[inline(always)]
    pub(super) fn panel_scales(&self, panels: std::ops::Range<usize>) -> &[PanelRow] {
        &self.scales[panels.start * self.groups()..panels.end * self.groups()]
    }

    /// Least values of the panels `panels`; empty unless the format is Q4.
    #[inline(always)]
    pub(super) fn panel_minimum(&self, panels: std::ops::Range<usize>) -> &[PanelRow] {
        if self.minimum.is_empty() {
            return &[];
        }
        &self.minimum[panels.start * self.groups()..panels.end * self.groups()]
    }
}
