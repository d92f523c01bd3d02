//! Quantising a matrix, and putting it into panels.

use half::{bf16, f16};

use super::format::Format;
use super::{CodeLine, GROUP, PanelRow, QuantizeError, QuantizeTo, QuantizedMatrix};
use crate::cpu::embed::widen_row;
use crate::cpu::isa::Kernel;
use crate::cpu::lanes::LANES;
use crate::cpu::lanes::dots::Dots;
use crate::cpu::output::Output;
use crate::cpu::packed::power_of_two;
use crate::cpu::{Cpu, Elements, Matrix};

impl QuantizedMatrix {
    /// Quantises a matrix. MXFP4 stays what it is, in other places.
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
        let Self { lines, scales, least, .. } = &mut packed;
        let (lines, scales, least) = (Output::new(lines), Output::new(scales), Output::new(least));
        let least_size = if format == Format::Q4 { size } else { 0 };
        cpu.share(matrix.rows().div_ceil(LANES), usize::MAX, |panel| {
            #[expect(unsafe_code, reason = "each task its panel")]
            // SAFETY: a task is a panel, and has its groups alone.
            let panel_of = unsafe {
                Panel {
                    lines: lines.part(panel * size * format.lines(), size * format.lines()),
                    scales: scales.part(panel * size, size),
                    least: least.part(panel * least_size, least_size),
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
        let error = |()| QuantizeError::Memory((rows * cols) as u64);
        let least = if format == Format::Q4 { groups } else { 0 };
        Ok(Self {
            format,
            rows,
            cols,
            lines: bytemuck::allocation::try_zeroed_vec(groups * format.lines()).map_err(error)?,
            scales: bytemuck::allocation::try_zeroed_vec(groups).map_err(error)?,
            least: bytemuck::allocation::try_zeroed_vec(least).map_err(error)?,
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
        self.scales.iter().enumerate().find_map(row).or_else(|| self.least.iter().enumerate().find_map(row))
    }
}

struct Panel<'a> {
    lines: &'a mut [CodeLine],
    scales: &'a mut [PanelRow],
    least: &'a mut [PanelRow],
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
        let mut row = vec![0.0; self.matrix.cols()];
        for lane in 0..LANES.min(self.matrix.rows() - first) {
            if let Elements::Mxfp4(all) = self.matrix.elements() {
                let (codes, scales) = all.row(first + lane);
                self.copy(lane, codes, scales);
                continue;
            }
            widen_row(lanes, &self.matrix, first + lane, &mut row);
            for (group, values) in row.chunks(GROUP).enumerate() {
                self.quantize(lane, group, values);
            }
        }
    }
}

impl Pack<'_> {
    #[inline(always)]
    fn quantize(&mut self, lane: usize, group: usize, values: &[f32]) {
        let (scale, least, codes) = match self.format {
            Format::Q8 => q8(values),
            _ => q4(values),
        };
        self.to.scales[group][lane] = scale.to_bits();
        if self.format == Format::Q4 {
            self.to.least[group][lane] = least.to_bits();
        }
        self.put(lane, group, &codes);
    }

    /// Codes as they are stored, two in a byte.
    #[inline(always)]
    fn copy(&mut self, lane: usize, codes: &[u8], scales: &[u8]) {
        for (group, (codes, scale)) in codes.as_chunks::<{ GROUP / 2 }>().0.iter().zip(scales).enumerate() {
            let mut unpacked = [0; GROUP];
            for (pair, byte) in unpacked.as_chunks_mut::<2>().0.iter_mut().zip(codes) {
                *pair = [byte & 15, byte >> 4];
            }
            // Values are doubled.
            self.to.scales[group][lane] = bf16::from_f32(power_of_two(*scale) * 0.5).to_bits();
            self.put(lane, group, &unpacked);
        }
    }

    #[inline(always)]
    fn put(&mut self, lane: usize, group: usize, codes: &[u8; GROUP]) {
        let lines = &mut self.to.lines[group * self.format.lines()..][..self.format.lines()];
        for (step, codes) in codes.as_chunks::<4>().0.iter().enumerate() {
            let (at, shift, _) = self.format.place(step);
            for (byte, code) in lines[at].0[lane * 4..][..4].iter_mut().zip(codes) {
                *byte |= code << shift;
            }
        }
    }
}

/// Scale, nothing, and codes.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 255")]
fn q8(values: &[f32]) -> (f16, f16, [u8; GROUP]) {
    let most = values.iter().fold(0.0f32, |most, x| most.max(x.abs()));
    let scale = f16::from_f32(most / 127.0);
    let factor = reciprocal(scale);
    let mut codes = [128; GROUP];
    for (code, x) in codes.iter_mut().zip(values) {
        *code = ((x * factor).round_ties_even().clamp(-127.0, 127.0) + 128.0) as u8;
    }
    (scale, f16::ZERO, codes)
}

/// Scale, least value and codes: the scale that spans all values, and some that span less, each fitted to the codes that it makes;
/// the least squared error wins.
#[inline(always)]
fn q4(values: &[f32]) -> (f16, f16, [u8; GROUP]) {
    const TRIES: u8 = 8;
    let (low, high) = range(values);
    let mut best = q4_with(values, (high - low) / 15.0, low);
    for shrink in 0..TRIES {
        let margin = (high - low) * 0.01 * f32::from(shrink);
        let first = q4_with(values, (high - low - 2.0 * margin) / 15.0, low + margin);
        let (scale, least) = fit(values, &first.codes);
        let fitted = q4_with(values, scale, least);
        for tried in [first, fitted] {
            if tried.error < best.error {
                best = tried;
            }
        }
    }
    (best.scale, best.least, best.codes)
}

#[derive(Clone, Copy)]
struct Q4 {
    error: f32,
    scale: f16,
    least: f16,
    codes: [u8; GROUP],
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 15")]
fn q4_with(values: &[f32], scale: f32, least: f32) -> Q4 {
    let (scale, least) = (f16::from_f32(scale), f16::from_f32(least));
    let (factor, step, first) = (reciprocal(scale), scale.to_f32(), least.to_f32());
    let mut codes = [0; GROUP];
    let mut error = 0.0;
    for (code, x) in codes.iter_mut().zip(values) {
        let rounded = ((x - first) * factor).round_ties_even().clamp(0.0, 15.0);
        let off = x - (rounded * step + first);
        error += off * off;
        *code = rounded as u8;
    }
    Q4 { error, scale, least, codes }
}

/// Scale and least value by least squares, for these codes.
#[inline(always)]
fn fit(values: &[f32], codes: &[u8; GROUP]) -> (f32, f32) {
    let n = values.len() as f32;
    let (mut c, mut cc, mut x, mut cx) = (0.0, 0.0, 0.0, 0.0);
    for (code, value) in codes.iter().zip(values) {
        let code = f32::from(*code);
        c += code;
        cc += code * code;
        x += value;
        cx += code * value;
    }
    let spread = n * cc - c * c;
    let scale = if spread > 0.0 { ((n * cx - c * x) / spread).max(0.0) } else { 0.0 };
    (scale, (x - scale * c) / n)
}

#[inline(always)]
fn range(values: &[f32]) -> (f32, f32) {
    let mut range = (f32::INFINITY, f32::NEG_INFINITY);
    for value in values {
        range = (range.0.min(*value), range.1.max(*value));
    }
    range
}

/// Zero for zero.
#[inline(always)]
fn reciprocal(scale: f16) -> f32 {
    let scale = scale.to_f32();
    if scale > 0.0 { 1.0 / scale } else { 0.0 }
}
