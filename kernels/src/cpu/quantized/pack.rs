//! Quantisation of a matrix: rounds it to codes, or takes a file's codes, and puts them into panels.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::format::Format;
use super::groups::{Quantized, Values};
use super::scales::RowScales;
use super::{CodeLine, GROUP, QuantizeError, QuantizeTo, QuantizedMatrix};
use crate::cpu::embed::widen_row;
use crate::cpu::isa::Kernel;
use crate::cpu::lanes::LANES;
use crate::cpu::lanes::dots::Dots;
use crate::cpu::memory::ZeroedMemory;
use crate::cpu::output::Output;
use crate::cpu::packed::{FileBlocks, Mxfp4, power_of_two};
use crate::cpu::{Cpu, Elements, Matrix};
use crate::ggml::{Block, BlockType, CodeValues};

impl QuantizedMatrix {
    /// Quantises a matrix. MXFP4 and the blocks of GGUF files keep their codes and scales, which are
    /// only moved into panels.
    ///
    /// # Errors
    /// The system doesn't grant the memory, or a scale doesn't fit.
    pub fn new(cpu: &Cpu, matrix: Matrix<'_>, to: QuantizeTo) -> Result<Self, QuantizeError> {
        let (format, type_name) = match (matrix.elements(), to) {
            (Elements::Mxfp4(_), _) => (Format::Mxfp4, "mxfp4 with inputs of 8 bits"),
            (Elements::FileBlocks(blocks), _) => (format_of(blocks.kind()), blocks.kind().name()),
            (_, QuantizeTo::Q8) => (Format::Q8, "q8"),
            (_, QuantizeTo::Q4) => (Format::Q4, "q4"),
        };
        let mut packed = Self::zeros(format, type_name, matrix.rows(), matrix.cols())?;
        if let Some(values) = table_of(matrix.elements()) {
            packed.table = values.map(|value| value.cast_unsigned().wrapping_add(format.offset()));
        }
        let size = packed.blocks() * format.layout().block_lines();
        let lines = Output::new(&mut packed.lines);
        let first_bad = AtomicUsize::new(usize::MAX);
        cpu.parallel_for(matrix.rows().div_ceil(LANES), usize::MAX, |panel| {
            #[expect(unsafe_code, reason = "each task its panel")]
            // SAFETY: a task is one panel, and no other task has that panel's lines.
            let to = unsafe { lines.part(panel * size, size) };
            cpu.isa().run(Pack { matrix, format, panel, to, first_bad: &first_bad });
        });
        match first_bad.into_inner() {
            usize::MAX => Ok(packed),
            row => Err(QuantizeError::Range(row)),
        }
    }

    fn zeros(
        format: Format,
        type_name: &'static str,
        rows: usize,
        cols: usize,
    ) -> Result<Self, QuantizeError> {
        let layout = format.layout();
        let blocks = rows.div_ceil(LANES) * cols.div_ceil(GROUP).div_ceil(layout.groups());
        let lines = ZeroedMemory::new(blocks * layout.block_lines())
            .ok_or(QuantizeError::Memory((rows * cols) as u64))?;
        Ok(Self { type_name, format, rows, cols, table: [0; 16], lines })
    }
}

/// Format that keeps the codes of a type exactly.
fn format_of(kind: BlockType) -> Format {
    match kind {
        BlockType::Q4_0 | BlockType::Q4_1 => Format::Q4,
        BlockType::Q5_0 | BlockType::Q8_0 => Format::Q8,
        BlockType::Q5_1 => Format::Q8WithMinimum,
        BlockType::Q2_K => Format::K4Of16,
        BlockType::Q4_K => Format::K4,
        BlockType::Q5_K => Format::K5,
        BlockType::Q6_K => Format::K6,
        BlockType::Q1_0 | BlockType::IQ4_NL => Format::Table,
        BlockType::MXFP4 => Format::Mxfp4,
        // Codes of four bits or less, by tables.
        BlockType::IQ1_S
        | BlockType::IQ2_XXS
        | BlockType::IQ3_XXS
        | BlockType::IQ3_S
        | BlockType::IQ4_XS
        | BlockType::TQ1_0
        | BlockType::TQ2_0 => Format::TableOf32,
        BlockType::Q3_K | BlockType::IQ1_M | BlockType::IQ2_XS | BlockType::IQ2_S => Format::TableOf16,
    }
}

fn table_of(elements: Elements<'_>) -> Option<&'static [i8; 16]> {
    let kind = match elements {
        Elements::Mxfp4(_) => BlockType::MXFP4,
        Elements::FileBlocks(blocks) => blocks.kind(),
        _ => return None,
    };
    match kind.code_values() {
        CodeValues::Table(values) => Some(values),
        CodeValues::Offset(_) => None,
    }
}

struct Pack<'a> {
    matrix: Matrix<'a>,
    format: Format,
    panel: usize,
    /// Lines of the panel.
    to: &'a mut [CodeLine],
    /// Index of the first row with a scale that isn't finite.
    first_bad: &'a AtomicUsize,
}

impl Kernel for Pack<'_> {
    #[inline(always)]
    fn run<L: Dots>(mut self, lanes: L) {
        let first = self.panel * LANES;
        let count = LANES.min(self.matrix.rows() - first);
        match self.matrix.elements() {
            Elements::Mxfp4(all) => (0..count).for_each(|lane| self.copy_mxfp4(lane, &all)),
            Elements::FileBlocks(all) => (0..count).for_each(|lane| self.copy_blocks(lane, &all)),
            _ => {}
        }
        if matches!(self.matrix.elements(), Elements::Mxfp4(_) | Elements::FileBlocks(_)) {
            return;
        }
        let cols = self.matrix.cols();
        // Rows beyond the last are zero.
        let mut rows = vec![0.0; LANES * cols];
        for (lane, row) in rows.chunks_exact_mut(cols).take(count).enumerate() {
            widen_row(lanes, &self.matrix, first + lane, row);
        }
        for group in 0..cols.div_ceil(GROUP) {
            let values = Values::gather(lanes, &rows, cols, group);
            let quantized = if self.format == Format::Q4 { values.q4() } else { values.q8() };
            self.store(lanes, group, &quantized);
        }
    }
}

impl Pack<'_> {
    /// Writes a group of all rows of the panel.
    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole numbers from 0 to 255"
    )]
    fn store<L: Dots>(&mut self, lanes: L, group: usize, quantized: &Quantized<L>) {
        let (mut scales, mut minimums) = ([0.0; LANES], [0.0; LANES]);
        lanes.store(quantized.scale, &mut scales);
        lanes.store(quantized.minimum, &mut minimums);
        let mut codes = [[0; GROUP]; LANES];
        for (i, column) in quantized.codes.iter().enumerate() {
            let mut all = [0.0; LANES];
            lanes.store(*column, &mut all);
            for (codes, code) in codes.iter_mut().zip(all) {
                codes[i] = code as u8;
            }
        }
        for lane in 0..LANES {
            let scales = RowScales { factors: (scales[lane], minimums[lane]), integers: (&[], &[]) };
            self.set_scales(lane, group, &scales);
            self.set_codes(lane, group, &codes[lane]);
        }
    }

    /// Copies an MXFP4 row, whose bytes hold two neighbours each.
    fn copy_mxfp4(&mut self, lane: usize, from: &Mxfp4<'_>) {
        let (codes, scales) = from.row(self.panel * LANES + lane);
        for (group, (bytes, scale)) in codes.as_chunks::<{ GROUP / 2 }>().0.iter().zip(scales).enumerate() {
            let codes = std::array::from_fn(|i| bytes[i / 2] >> (i % 2 * 4) & 15);
            // Half the stored scale, since the format's values are twice those of E2M1.
            let factors = (power_of_two(*scale) * 0.5, 0.0);
            self.set_scales(lane, group, &RowScales { factors, integers: (&[], &[]) });
            self.set_codes(lane, group, &codes);
        }
    }

    /// Copies a row of blocks as a file has them.
    fn copy_blocks(&mut self, lane: usize, from: &FileBlocks<'_>) {
        let (kind, mut block) = (from.kind(), Block::default());
        let groups = kind.block_len() / GROUP;
        for (at, bytes) in from.row(self.panel * LANES + lane).enumerate() {
            kind.decode(bytes, &mut block);
            let mut minimum = block.minimum_factor;
            if let CodeValues::Offset(offset) = kind.code_values() {
                let raise = self.format.offset();
                // Codes of a format without offset have it in their minimum.
                if raise < offset {
                    minimum -= f32::from(offset) * block.factor;
                } else {
                    block.codes.iter_mut().for_each(|code| *code = code.wrapping_add(raise - offset));
                }
            }
            let factors = (block.factor, minimum);
            let scales = RowScales { factors, integers: (&block.scales, &block.minimums) };
            for (i, codes) in block.codes.as_chunks::<GROUP>().0.iter().take(groups).enumerate() {
                let group = at * groups + i;
                // Scales with factors are those of all groups.
                if i == 0 || !self.format.layout().scales.have_factors() {
                    self.set_scales(lane, group, &scales);
                }
                self.set_codes(lane, group, codes);
            }
        }
    }

    fn set_scales(&mut self, lane: usize, group: usize, scales: &RowScales<'_>) {
        let layout = self.format.layout();
        let block = &mut self.to[group / layout.groups() * layout.block_lines()..];
        if !layout.scales.set_row(block, lane, group % layout.groups(), scales) {
            self.first_bad.fetch_min(self.panel * LANES + lane, Ordering::Relaxed);
        }
    }

    fn set_codes(&mut self, lane: usize, group: usize, codes: &[u8; GROUP]) {
        let layout = self.format.layout();
        let at = group / layout.groups() * layout.block_lines()
            + layout.scales.lines()
            + group % layout.groups() * layout.lines();
        layout.set_codes(&mut self.to[at..][..layout.lines()], lane, codes);
    }
}
