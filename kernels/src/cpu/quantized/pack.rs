//! Quantisation of a matrix: rounds it to codes and puts them into panels.

use half::{bf16, f16};

use super::format::Format;
use super::groups::{Quantized, Values};
use super::{CodeLine, GROUP, PanelRow, QuantizeError, QuantizeTo, QuantizedMatrix};
use crate::cpu::embed::widen_row;
use crate::cpu::isa::Kernel;
use crate::cpu::lanes::LANES;
use crate::cpu::lanes::dots::Dots;
use crate::cpu::memory::ZeroedMemory;
use crate::cpu::output::Output;
use crate::cpu::packed::power_of_two;
use crate::cpu::{Cpu, Elements, Matrix};

impl QuantizedMatrix {
    /// Quantises a matrix. An MXFP4 matrix keeps its codes and scales, which are only moved into
    /// panels.
    ///
    /// # Errors
    /// The system doesn't grant the memory, or a scale doesn't fit.
    pub fn new(cpu: &Cpu, matrix: Matrix<'_>, to: QuantizeTo) -> Result<Self, QuantizeError> {
        let format = match (matrix.elements(), to) {
            (Elements::Mxfp4(_), _) => Format::Mxfp4,
            (_, QuantizeTo::Q8) => Format::Q8,
            (_, QuantizeTo::Q4) => Format::Q4,
        };
        let mut packed = Self::zeros(format, matrix.rows(), matrix.cols())?;
        let size = packed.groups();
        let Self { lines, scales, minimum, .. } = &mut packed;
        let (lines, scales, minimum) = (Output::new(lines), Output::new(scales), Output::new(minimum));
        let minimum_size = if format == Format::Q4 { size } else { 0 };
        cpu.parallel_for(matrix.rows().div_ceil(LANES), usize::MAX, |panel| {
            #[expect(unsafe_code, reason = "each task its panel")]
            // SAFETY: a task is one panel, and no other task has that panel's groups.
            let panel_of = unsafe {
                Panel {
                    lines: lines.part(panel * size * format.lines(), size * format.lines()),
                    scales: scales.part(panel * size, size),
                    minimum: minimum.part(panel * minimum_size, minimum_size),
                }
            };
            cpu.isa().run(Pack { matrix, format, panel, to: panel_of });
        });
        match packed.first_beyond_range() {
            None => Ok(packed),
            Some(row) => Err(QuantizeError::Range(row)),
        }
    }

    fn zeros(format: Format, rows: usize, cols: usize) -> Result<Self, QuantizeError> {
        let groups = rows.div_ceil(LANES) * cols.div_ceil(GROUP);
        let error = || QuantizeError::Memory((rows * cols) as u64);
        let minimums = if format == Format::Q4 { groups } else { 0 };
        Ok(Self {
            format,
            rows,
            cols,
            lines: ZeroedMemory::new(groups * format.lines()).ok_or_else(error)?,
            scales: ZeroedMemory::new(groups).ok_or_else(error)?,
            minimum: ZeroedMemory::new(minimums).ok_or_else(error)?,
        })
    }

    fn first_beyond_range(&self) -> Option<usize> {
        let finite = |bits: &u16| match self.format {
            Format::Mxfp4 => bf16::from_bits(*bits).is_finite(),
            Format::Q8 | Format::Q4 => f16::from_bits(*bits).is_finite(),
        };
        let groups = self.groups();
        let bad = |panel: &PanelRow| panel.iter().position(|bits| !finite(bits));
        let row = |(i, panel)| bad(panel).map(|lane| i / groups * LANES + lane);
        self.scales.iter().enumerate().find_map(row).or_else(|| self.minimum.iter().enumerate().find_map(row))
    }
}

struct Panel<'a> {
    lines: &'a mut [CodeLine],
    scales: &'a mut [PanelRow],
    minimum: &'a mut [PanelRow],
}

struct Pack<'a> {
    matrix: Matrix<'a>,
    format: Format,
    panel: usize,
    to: Panel<'a>,
}

impl Kernel for Pack<'_> {
    #[inline(always)]
    fn run<L: Dots>(mut self, lanes: L) {
        let first = self.panel * LANES;
        let count = LANES.min(self.matrix.rows() - first);
        if let Elements::Mxfp4(all) = self.matrix.elements() {
            for lane in 0..count {
                let (codes, scales) = all.row(first + lane);
                self.copy(lane, codes, scales);
            }
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
        self.to.scales[group] = halves(lanes, quantized.scale);
        if self.format == Format::Q4 {
            self.to.minimum[group] = halves(lanes, quantized.minimum);
        }
        let to = &mut self.to.lines[group * self.format.lines()..][..self.format.lines()];
        for (i, codes) in quantized.codes.iter().enumerate() {
            let (at, shift, _) = self.format.place(i / 4);
            let mut all = [0.0; LANES];
            lanes.store(*codes, &mut all);
            for (lane, code) in all.iter().enumerate() {
                to[at].0[lane * 4 + i % 4] |= (*code as u8) << shift;
            }
        }
    }

    /// Copies the codes and scales of an MXFP4 row, whose bytes hold two codes each.
    #[inline(always)]
    fn copy(&mut self, lane: usize, codes: &[u8], scales: &[u8]) {
        for (group, (codes, scale)) in codes.as_chunks::<{ GROUP / 2 }>().0.iter().zip(scales).enumerate() {
            // Half the stored scale, since the format's values are twice those of E2M1.
            self.to.scales[group][lane] = bf16::from_f32(power_of_two(*scale) * 0.5).to_bits();
            let lines = &mut self.to.lines[group * self.format.lines()..][..self.format.lines()];
            for i in 0..GROUP {
                let (at, shift, _) = self.format.place(i / 4);
                lines[at].0[lane * 4 + i % 4] |= (codes[i / 2] >> (i % 2 * 4) & 15) << shift;
            }
        }
    }
}

/// Returns the bits of `values` as f16, which represents them exactly (or as infinity or NaN).
#[inline(always)]
fn halves<L: Dots>(lanes: L, values: L::V) -> PanelRow {
    let mut all = [0.0; LANES];
    lanes.store(values, &mut all);
    let mut bits = [0; LANES];
    for (bits, value) in bits.iter_mut().zip(all) {
        *bits = f16::from_f32(value).to_bits();
    }
    bits
}
