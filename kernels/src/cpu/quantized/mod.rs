//! Weights of eight bits or less for integer dot products, quantised at load or kept as a file's
//! blocks have them: sixteen rows (a panel) are interleaved, so that each lane accumulates one row.
//!
//! 32 neighbours of a row are a group, and one, two or eight groups a block, which has its scales
//! before its codes ([`format`], [`scales`]). Inputs of linear layers with such weights are rounded
//! to eight or sixteen bits, too ([`inputs`]). Integer sums are exact, and groups are added in their order, so
//! a result doesn't depend on what is computed beside it.

mod format;
mod groups;
mod inputs;
mod pack;
mod scales;

pub(super) use format::{Format, Layout};
pub(super) use inputs::{InputGroup, QuantizedRows};
pub(super) use scales::ScaleRow;

use super::lanes::LANES;
use super::lanes::dots::CODES;
use super::memory::ZeroedMemory;

/// Number of neighbours in a row that are multiplied before their sum is scaled.
pub(super) const GROUP: usize = 32;

/// Format that weights are quantised to, except MXFP4 and the blocks of GGUF files, which keep their
/// codes.
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

/// Four neighbouring codes of sixteen rows, or scales: a line of the processor's cache.
#[derive(Debug, Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(64))]
pub(super) struct CodeLine(pub(super) [u8; CODES]);

/// Quantised matrix `[rows, cols]` in panels; rows and columns beyond the last are zero.
#[derive(Debug)]
pub struct QuantizedMatrix {
    type_name: &'static str,
    format: Format,
    rows: usize,
    cols: usize,
    /// Values of codes plus the format's offset, for formats with tables.
    table: [u8; 16],
    /// Factor of all scales; one but in formats whose files have it beside the blocks.
    factor: f32,
    /// `[panels, blocks, lines of a block]`.
    lines: ZeroedMemory<CodeLine>,
}

impl QuantizedMatrix {
    /// Name of the element type, for people.
    pub fn type_name(&self) -> &'static str {
        self.type_name
    }

    /// Size of the matrix in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.lines)
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    pub(super) fn table(&self) -> &[u8; 16] {
        &self.table
    }

    pub(super) fn factor(&self) -> f32 {
        self.factor
    }

    pub(super) fn len(&self) -> usize {
        self.rows * self.cols
    }

    /// Number of blocks in a row.
    pub(super) fn blocks(&self) -> usize {
        self.cols.div_ceil(GROUP).div_ceil(self.format.layout().groups())
    }

    pub(super) fn get(&self, i: usize) -> f32 {
        let (row, col) = (i / self.cols, i % self.cols);
        let mut group = [0.0; GROUP];
        self.widen_group(row, col / GROUP, &mut group);
        group[col % GROUP]
    }

    /// Widens row `row` to f32.
    pub(super) fn widen(&self, row: usize, to: &mut [f32]) {
        for (group, to) in to.chunks_mut(GROUP).enumerate() {
            self.widen_group(row, group, to);
        }
    }

    /// Widens the first columns of a group. Products are exact, so each value is rounded once at
    /// most.
    fn widen_group(&self, row: usize, group: usize, to: &mut [f32]) {
        let (panel, lane, layout) = (row / LANES, row % LANES, self.format.layout());
        let (scales, groups) = (layout.scales, layout.groups());
        let block = &self.lines[(panel * self.blocks() + group / groups) * layout.block_lines()..];
        let (scale_lines, codes) = block[..layout.block_lines()].split_at(scales.lines());
        let group = group % groups;
        let codes = &codes[group * layout.lines()..][..layout.lines()];
        for (half, to) in to.chunks_mut(GROUP / 2).enumerate() {
            let (scale, minimum) = scales.of_row(scale_lines, lane, (group, half));
            let scale = scale * self.factor;
            for (i, to) in to.iter_mut().enumerate() {
                let value = scale * f32::from(self.value(layout.code(codes, lane, half * GROUP / 2 + i)));
                *to = if scales.has_minimum() { value + minimum } else { value };
            }
        }
    }

    fn value(&self, code: u8) -> i16 {
        let raised = if self.format.has_table() { self.table[usize::from(code)] } else { code };
        i16::from(raised) - i16::from(self.format.offset())
    }

    /// Blocks of the panels `panels`.
    #[inline(always)]
    pub(super) fn panel_lines(&self, panels: std::ops::Range<usize>) -> &[CodeLine] {
        let size = self.blocks() * self.format.layout().block_lines();
        &self.lines[panels.start * size..panels.end * size]
    }
}
