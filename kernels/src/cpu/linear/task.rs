//! Kernel of one task of a linear layer: the choice of a tile kernel by the weight's elements.

use std::ops::Range;

use super::few_mxfp4::FewMxfp4;
use super::fp8::{Fp8Pairs, StoredCodes};
use super::pairs::Pairs;
use super::plain::Plain;
use super::quantized::quantized;
use super::repacked::repacked;
use super::tile::Tiles;
use super::widened::{WidenedCodes, WidenedToBf16, WidenedToF32};
use crate::cpu::isa::{Isa, Kernel};
use crate::cpu::lanes::Element;
use crate::cpu::lanes::dots::Dots;
use crate::cpu::matrix::{Elements, Matrix};

/// Maximum number of rows of x for which MXFP4 and FP8 codes are widened in registers, again for
/// each tile of rows. For more rows it pays to widen a tile into memory.
const WIDEN_IN_REGISTERS_ROWS: usize = 8;

/// Kernel of one task: some rows of a weight, which are columns of the output, with all rows of x.
pub(super) struct TaskKernel<'a> {
    pub(super) tiles: Tiles<'a>,
    pub(super) weight: Matrix<'a>,
    pub(super) cols: Range<usize>,
}

impl TaskKernel<'_> {
    pub(super) fn run(self, isa: Isa) {
        if self.weight.rounds_inputs_to_bf16() {
            isa.run(PairKernel(self));
        } else if let Elements::Quantized(weight) = self.weight.elements() {
            quantized(isa, &self.tiles, weight, &self.cols);
        } else {
            isa.run(PlainKernel(self));
        }
    }
}

/// Kernel for weights that are multiplied with x rounded to bf16, two products at a time.
struct PairKernel<'a>(TaskKernel<'a>);

/// Kernel for all other weights.
struct PlainKernel<'a>(TaskKernel<'a>);

impl Kernel for PairKernel<'_> {
    const ADDS_PAIRS: bool = true;

    #[inline(always)]
    fn run<L: Dots>(self, lanes: L) {
        let TaskKernel { tiles, weight, cols } = self.0;
        match weight.elements() {
            Elements::Bf16(all) => {
                let all = &all[cols.start * tiles.k..cols.end * tiles.k];
                tiles.all::<L, _>(&Pairs::new(lanes, &tiles, all), cols.len());
            }
            Elements::Fp8(all) if tiles.rows <= WIDEN_IN_REGISTERS_ROWS => {
                let x = (tiles.x.pairs, tiles.x.pairs_stride);
                let (first, codes) = (cols.start, StoredCodes(all));
                let rows = Fp8Pairs { lanes, x, weight: all, first, k: tiles.k, codes };
                tiles.all::<L, _>(&rows, cols.len());
            }
            Elements::Fp8(all) => tiles.all_widened(lanes, &WidenedCodes(all), cols),
            Elements::Mxfp4(all) if tiles.rows <= WIDEN_IN_REGISTERS_ROWS => {
                let x = (tiles.x.pairs, tiles.x.pairs_stride);
                let rows = FewMxfp4 { lanes, x, weight: all, first: cols.start, k: tiles.k };
                tiles.all::<L, _>(&rows, cols.len());
            }
            Elements::Mxfp4(all) => tiles.all_widened(lanes, &WidenedToBf16(&all), cols),
            Elements::Repacked(all) => repacked(lanes, &tiles, all, &cols),
            Elements::F32(_) | Elements::F16(_) | Elements::FileBlocks(_) | Elements::Quantized(_) => {
                unreachable!("`rounds_inputs_to_bf16` is false for these")
            }
        }
    }
}

impl Kernel for PlainKernel<'_> {
    #[inline(always)]
    fn run<L: Dots>(self, lanes: L) {
        let TaskKernel { tiles, weight, cols } = self.0;
        let elements = cols.start * tiles.k..cols.end * tiles.k;
        match weight.elements() {
            Elements::F32(all) => tiles.plain(lanes, &all[elements], cols.len()),
            Elements::Bf16(all) => tiles.plain(lanes, &all[elements], cols.len()),
            Elements::F16(all) => tiles.plain(lanes, &all[elements], cols.len()),
            Elements::Fp8(all) => tiles.all_widened(lanes, &WidenedToF32(&all), cols),
            Elements::Mxfp4(all) => tiles.all_widened(lanes, &WidenedToF32(&all), cols),
            Elements::FileBlocks(all) => tiles.all_widened(lanes, &WidenedToF32(&all), cols),
            Elements::Repacked(_) | Elements::Quantized(_) => unreachable!("other kernels are for these"),
        }
    }
}

impl Tiles<'_> {
    #[inline(always)]
    fn plain<L: Dots, W: Element>(&self, lanes: L, weight: &[W], cols: usize) {
        self.all::<L, _>(&Plain { lanes, x: self.x.x, weight, k: self.k }, cols);
    }
}
