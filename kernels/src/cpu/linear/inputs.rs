//! x, as the weights of a call want it: as it is, in bf16, or in eight bits.

use std::ops::Range;

use half::bf16;

use super::Group;
use crate::cpu::Cpu;
use crate::cpu::isa::Kernel;
use crate::cpu::lanes::dots::{Dots, PAIRS};
use crate::cpu::matrix::{Elements, Matrix};
use crate::cpu::output::Output;
use crate::cpu::quantized::QuantizedRows;

/// Rows of x of one call; rounded ones only where a part wants them.
#[derive(Debug)]
pub(super) struct LinearInputs<'a> {
    x: &'a [f32],
    k: usize,
    pairs: Vec<bf16>,
    quantized: Option<QuantizedRows>,
}

/// Some of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct InputRows<'a> {
    /// `[rows, k]`.
    pub(super) x: &'a [f32],
    /// Rows of `k`, or nothing; they begin `pairs_stride` from each other.
    pub(super) pairs: &'a [bf16],
    pub(super) pairs_stride: usize,
    /// Of all rows; these begin at `first`.
    pub(super) quantized: Option<&'a QuantizedRows>,
    pub(super) first: usize,
}

impl<'a> LinearInputs<'a> {
    /// Rounds what has to be rounded.
    pub(super) fn new(cpu: &Cpu, x: &'a [f32], k: usize, groups: &[Group<'_>]) -> Self {
        let parts = || groups.iter().flat_map(|group| &group.parts);
        let pairs = if parts().any(Matrix::takes_pairs) { rounded(cpu, x, k) } else { Vec::new() };
        let quantized = parts()
            .any(|part| matches!(part.elements(), Elements::Quantized(_)))
            .then(|| QuantizedRows::new(cpu, x, k));
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

/// Elements from one rounded row to the next: a cache line more than the row has, since rows a power of two apart would all
/// want the same few places of the first-level cache.
fn pairs_stride(k: usize) -> usize {
    k.next_multiple_of(PAIRS) + PAIRS
}

fn rounded(cpu: &Cpu, x: &[f32], k: usize) -> Vec<bf16> {
    let (rows, stride) = (x.len() / k, pairs_stride(k));
    let mut all = vec![bf16::ZERO; rows * stride];
    let out = Output::new(&mut all);
    cpu.share(rows, x.len() * 2, |row| {
        #[expect(unsafe_code, reason = "each task its row")]
        // SAFETY: a task is a row, and has it alone.
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

/// To the nearest bf16, halves to even; what isn't a number stays so.
#[inline(always)]
fn round(bits: u32) -> u16 {
    let upper = (bits >> 16) as u16;
    let rounded = (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16;
    if bits & 0x7fff_ffff > 0x7f80_0000 { upper | 0x40 } else { rounded }
}
