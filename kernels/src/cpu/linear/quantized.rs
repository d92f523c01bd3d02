//! Tile kernel of quantised weights with x in eight bits: codes are multiplied and added in
//! integers, group by group, then scaled.

use std::marker::PhantomData;
use std::ops::Range;

use super::panels::{PanelRows, multiply_panels};
use super::tile::Tiles;
use crate::cpu::lanes::dots::Dots;
use crate::cpu::lanes::{Pass, Prefetch};
use crate::cpu::quantized::{
    CodeLine, Format, GroupCodes, GroupFactors, Mxfp4Panels, PanelFormat, PanelRow, Q4Panels, Q8Panels,
    QuantizedMatrix, QuantizedRows,
};

/// Multiplies the rows `cols` of a weight with all rows of x.
#[inline(always)]
pub(super) fn quantized<L: Dots>(lanes: L, tiles: &Tiles<'_>, weight: &QuantizedMatrix, cols: &Range<usize>) {
    match weight.format() {
        Format::Q8 => of_format::<L, Q8Panels>(lanes, tiles, weight, cols),
        Format::Q4 => of_format::<L, Q4Panels>(lanes, tiles, weight, cols),
        Format::Mxfp4 => of_format::<L, Mxfp4Panels>(lanes, tiles, weight, cols),
    }
}

#[inline(always)]
fn of_format<L: Dots, F: PanelFormat>(
    lanes: L,
    tiles: &Tiles<'_>,
    weight: &QuantizedMatrix,
    cols: &Range<usize>,
) {
    let x = tiles.x.quantized.expect("inputs are rounded for quantised weights");
    let rows = QuantizedPanels::<L, F> { lanes, x, first: tiles.x.first, weight, format: PhantomData };
    if L::WIDE {
        multiply_panels::<L, _, 4, 3>(lanes, tiles, cols, &rows);
    } else {
        multiply_panels::<L, _, 2, 1>(lanes, tiles, cols, &rows);
    }
}

/// Rows of x from row `first` of the call on, and a weight.
struct QuantizedPanels<'a, L, F> {
    lanes: L,
    x: &'a QuantizedRows,
    first: usize,
    weight: &'a QuantizedMatrix,
    format: PhantomData<F>,
}

impl<L: Dots, F: PanelFormat> PanelRows<L> for QuantizedPanels<'_, L, F> {
    #[inline(always)]
    fn sums<const M: usize, const N: usize>(&self, row: usize, panel: usize, pass: Pass) -> [[L::V; N]; M] {
        let (lanes, groups) = (self.lanes, self.weight.groups());
        let panels = panel..panel + N;
        let first = (self.first + row) * groups;
        let operands = Operands::<F, M, N> {
            weights: self.weight.panel_lines(panels.clone()),
            scales: self.weight.panel_scales(panels.clone()),
            minimum: self.weight.panel_minimum(panels),
            x: &self.x.codes[first..][..M * groups],
            factors: &self.x.factors[first..][..M * groups],
            groups,
            format: PhantomData,
        };
        operands.check();
        let mut next = Prefetch::behind_tile::<N, _>(operands.weights, pass, groups * F::LINES);
        let mut sums = [[lanes.splat(0.0); N]; M];
        for group in 0..groups {
            #[expect(unsafe_code, reason = "no bounds checks on loads that `check` has checked")]
            // SAFETY: `group < groups`, and the sizes were checked.
            unsafe {
                let mut whole = operands.start(lanes, group);
                for line in 0..F::LINES {
                    next.step();
                    operands.add_line(lanes, group, line, &mut whole);
                }
                operands.add_scaled(lanes, group, &whole, &mut sums);
            }
        }
        sums
    }
}

/// Operands of a tile: `N` panels, and `M` rows of x.
struct Operands<'a, F, const M: usize, const N: usize> {
    /// `[N, groups, LINES]`.
    weights: &'a [CodeLine],
    /// `[N, groups]`.
    scales: &'a [PanelRow],
    /// `[N, groups]` if the format has minimums.
    minimum: &'a [PanelRow],
    /// `[M, groups]`.
    x: &'a [GroupCodes],
    /// `[M, groups]`.
    factors: &'a [GroupFactors],
    groups: usize,
    format: PhantomData<F>,
}

/// # Safety
/// For every function but `check`: `check` has returned, `group < groups` and `line < LINES`.
#[expect(unsafe_code, reason = "the innermost loops; one contract for all, above")]
#[expect(clippy::undocumented_unsafe_blocks, reason = "places below the sizes that `check` compares")]
#[expect(clippy::needless_range_loop, reason = "m and n index several arrays of registers")]
impl<F: PanelFormat, const M: usize, const N: usize> Operands<'_, F, M, N> {
    fn check(&self) {
        let Self { weights, scales, minimum, x, factors, groups, .. } = self;
        assert!(weights.len() == N * groups * F::LINES && scales.len() == N * groups, "codes of panels");
        assert!(!F::HAS_MINIMUM || minimum.len() == N * groups, "minimums of panels");
        assert!(x.len() == M * groups && factors.len() == M * groups, "rows of a tile");
    }

    /// Returns the sums that a group begins with: the negative of the sum that raising its codes
    /// adds.
    #[inline(always)]
    unsafe fn start<L: Dots>(&self, lanes: L, group: usize) -> [[L::Sums; N]; M] {
        let mut sums = [[lanes.splat_sum(0); N]; M];
        if F::OFFSET != 0 {
            for m in 0..M {
                let sum = unsafe { self.factors.get_unchecked(m * self.groups + group) }.sum;
                sums[m] = [lanes.splat_sum(-F::OFFSET * sum); N];
            }
        }
        sums
    }

    /// Adds the products of the steps of one line.
    #[inline(always)]
    unsafe fn add_line<L: Dots>(&self, lanes: L, group: usize, line: usize, sums: &mut [[L::Sums; N]; M]) {
        for n in 0..N {
            let codes = unsafe { self.weights.get_unchecked((n * self.groups + group) * F::LINES + line) };
            let [first, second] = F::unpack(lanes, lanes.load_codes(&codes.0));
            for m in 0..M {
                let x = unsafe { *self.x.get_unchecked(m * self.groups + group).get_unchecked(line) };
                sums[m][n] = lanes.dot_codes(first, x, sums[m][n]);
            }
            if F::PER_LINE == 1 {
                continue;
            }
            let line = F::LINES + line;
            for m in 0..M {
                let x = unsafe { *self.x.get_unchecked(m * self.groups + group).get_unchecked(line) };
                sums[m][n] = lanes.dot_codes(second, x, sums[m][n]);
            }
        }
    }

    /// Scales a group's sums and adds them to `sums`.
    #[inline(always)]
    unsafe fn add_scaled<L: Dots>(
        &self,
        lanes: L,
        group: usize,
        whole: &[[L::Sums; N]; M],
        sums: &mut [[L::V; N]; M],
    ) {
        for n in 0..N {
            let scale = F::scale(lanes, unsafe { self.scales.get_unchecked(n * self.groups + group) });
            for m in 0..M {
                let factors = unsafe { self.factors.get_unchecked(m * self.groups + group) };
                let scale = lanes.mul(scale, lanes.splat(factors.scale));
                sums[m][n] = lanes.fma(lanes.to_f32(whole[m][n]), scale, sums[m][n]);
            }
            if !F::HAS_MINIMUM {
                continue;
            }
            let minimum = F::scale(lanes, unsafe { self.minimum.get_unchecked(n * self.groups + group) });
            for m in 0..M {
                let factors = unsafe { self.factors.get_unchecked(m * self.groups + group) };
                sums[m][n] = lanes.fma(minimum, lanes.splat(factors.total), sums[m][n]);
            }
        }
    }
}
