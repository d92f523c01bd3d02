//! Embedding: row `token` of the table, widened to f32. Fuses the gather with the widening; nothing
//! is accumulated.

use super::Cpu;
use super::isa::Kernel;
use super::lanes::dots::Dots;
use super::lanes::{Element, LANES, Lanes};
use super::matrix::{Elements, Matrix};
use super::packed::PackedRows;

/// Copies `out[i] = table[tokens[i]]`, for `out` `[tokens, table.cols]`.
///
/// # Panics
/// If a token is not below the table's rows, or `out` has another size.
pub fn embed(cpu: &Cpu, table: Matrix<'_>, tokens: &[u32], out: &mut [f32]) {
    assert_eq!(out.len(), tokens.len() * table.cols(), "output of embed");
    cpu.isa().run(Embed { table, tokens, out });
}

struct Embed<'a> {
    table: Matrix<'a>,
    tokens: &'a [u32],
    out: &'a mut [f32],
}

impl Kernel for Embed<'_> {
    #[inline(always)]
    fn run<L: Dots>(self, lanes: L) {
        let cols = self.table.cols();
        for (token, out) in self.tokens.iter().zip(self.out.chunks_exact_mut(cols)) {
            widen_row(lanes, &self.table, *token as usize, out);
        }
    }
}

/// Widens one row of a matrix to f32.
#[inline(always)]
pub(super) fn widen_row<L: Dots>(lanes: L, matrix: &Matrix<'_>, row: usize, out: &mut [f32]) {
    let at = row * matrix.cols()..(row + 1) * matrix.cols();
    match matrix.elements() {
        Elements::F32(all) => out.copy_from_slice(&all[at]),
        Elements::Bf16(all) => widen(lanes, &all[at], out),
        Elements::Repacked(all) => all.widen(row, out),
        Elements::F16(all) => widen(lanes, &all[at], out),
        Elements::Fp8(all) => all.widen(lanes, row, out),
        Elements::Mxfp4(all) => all.widen(lanes, row, out),
        Elements::FileBlocks(all) => all.widen(lanes, row, out),
        Elements::Quantized(all) => all.widen(row, out),
    }
}

#[inline(always)]
fn widen<L: Lanes, W: Element>(lanes: L, from: &[W], to: &mut [f32]) {
    let (from, from_rest) = from.as_chunks::<LANES>();
    let (to, to_rest) = to.as_chunks_mut::<LANES>();
    for (from, to) in from.iter().zip(to) {
        lanes.store(W::load(lanes, from), to);
    }
    lanes.store_part(lanes.load_part(from_rest), to_rest);
}
