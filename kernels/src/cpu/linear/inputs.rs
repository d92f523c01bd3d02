//! Inputs of a linear layer in the types that the weights of a call take: f32, bf16, or eight or
//! sixteen bits.

use std::ops::Range;

use half::bf16;

use super::Group;
use crate::cpu::Cpu;
use crate::cpu::isa::Kernel;
use crate::cpu::lanes::dots::{Dots, PAIRS};
use crate::cpu::matrix::{Elements, Matrix};
use crate::cpu::output::Output;
use crate::cpu::quantized::QuantizedRows;

/// Rows of x of one call, with rounded copies if a part takes them.
#[derive(Debug)]
pub(super) struct LinearInputs<'a> {
    x: &'a [f32],
    k: usize,
    pairs: Vec<bf16>,
    quantized: Option<QuantizedRows>,
}

/// Some rows of [`LinearInputs`].
#[derive(Debug, Clone, Copy)]
pub(super) struct InputRows<'a> {
    /// `[rows, k]`.
    pub(super) x: &'a [f32],
    /// Rows rounded to bf16, `pairs_stride` elements apart; empty if no part takes them.
    pub(super) pairs: &'a [bf16],
    pub(super) pairs_stride: usize,
    /// All rows of the call as codes; these rows begin at row `first`.
    pub(super) quantized: Option<&'a QuantizedRows>,
    pub(super) first: usize,
}

impl<'a> LinearInputs<'a> {
    /// Rounds x to the types that the parts of `groups` take.
    pub(super) fn new(cpu: &Cpu, x: &'a [f32], k: usize, groups: &[Group<'_>]) -> Self {
        let parts = || groups.iter().flat_map(|group| &group.parts);
        let pairs = if parts().any(Matrix::rounds_inputs_to_bf16) { rounded(cpu, x, k) } else { Vec::new() };
        let quantized = parts()
            .filter(|part| matches!(part.elements(), Elements::Quantized(_)))
            .map(Matrix::planes_of_inputs)
            .max()
            .map(|planes| QuantizedRows::new(cpu, x, k, planes));
        Self { x, k, pairs, quantized }
    }

    pub(super) fn rows(&self, rows: Range<usize>) -> InputRows<'_> {
        let elements = rows.start * self.k..rows.end * self.k;
        let stride = pairs_stride(self.k);
        let pairs =
            if self.pairs.is_empty() { &[] } else { &self.pairs[rows.start * stride..rows.end * stride] };
        InputRows {
            x: &self.x[elements],
            pairs,
            pairs_stride: stride,
            quantized: self.quantized.as_ref(),
            first: rows.start,
        }
    }
}

/// Stride of rounded rows in elements: a cache line more than the row has, since rows a power of
/// two apart would all map to the same few sets of the first-level cache.
fn pairs_stride(k: usize) -> usize {
    k.next_multiple_of(PAIRS) + PAIRS
}

fn rounded(cpu: &Cpu, x: &[f32], k: usize) -> Vec<bf16> {
    let (rows, stride) = (x.len() / k, pairs_stride(k));
    let mut all = vec![bf16::ZERO; rows * stride];
    let out = Output::new(&mut all);
    cpu.parallel_for(rows, x.len() * 2, |row| {
        #[expect(unsafe_code, reason = "each task its row")]
        // SAFETY: a task is one row, and no other task has that row.
        let to = unsafe { out.part(row * stride, k) };
        cpu.isa().run(Round { x: &x[row * k..][..k], to });
    });
    all
}

struct Round<'a> {
    x: &'a [f32],
    to: &'a mut [bf16],
}

impl Kernel for Round<'_> {
    #[inline(always)]
    fn run<L: Dots>(self, _: L) {
        for (x, to) in self.x.iter().zip(self.to) {
            *to = bf16::from_bits(round(x.to_bits()));
        }
    }
}

/// Rounds to the nearest bf16, halves to even; NaN stays NaN.
#[inline(always)]
fn round(bits: u32) -> u16 {
    let upper = (bits >> 16) as u16;
    let rounded = (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16;
    if bits & 0x7fff_ffff > 0x7f80_0000 { upper | 0x40 } else { rounded }
}
