//! The tile kernel of quantised weights: codes of eight bits are multiplied and added in integers, group by group, then scaled.

use std::ops::Range;

use super::tile::{RowTile, Tiles, by_rows};
use crate::cpu::lanes::dots::Dots;
use crate::cpu::lanes::{LANES, Prefetch};

use crate::cpu::quantized::{
    Format, Mxfp4Panels, PanelFormat, Q4Panels, Q8Panels, QuantizedMatrix, QuantizedRows,
};

/// All panels of the rows `cols` of a weight, with all rows of x. Both ends of `cols` are those of panels or of the weight.
#[inline(always)]
pub(super) fn all_panels<L: Dots>(
    lanes: L,
    tiles: &Tiles<'_>,
    weight: &QuantizedMatrix,
    cols: &Range<usize>,
) {
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
    if L::WIDE {
        each::<L, F, 4, 3>(lanes, tiles, weight, cols);
    } else {
        each::<L, F, 2, 1>(lanes, tiles, weight, cols);
    }
}

#[inline(always)]
fn each<L: Dots, F: PanelFormat, const M: usize, const N: usize>(
    lanes: L,
    tiles: &Tiles<'_>,
    weight: &QuantizedMatrix,
    cols: &Range<usize>,
) {
    debug_assert!(cols.start.is_multiple_of(LANES), "panels");
    let x = tiles.x.quantized.expect("inputs are rounded for quantised weights");
    let panels = cols.start / LANES..cols.end.div_ceil(LANES);
    let tile = |panel| PanelTile { lanes, tiles, x, weight, panel, cols };
    for rows in tiles.blocks() {
        let mut panel = panels.start;
        while panel + N <= panels.end {
            by_rows::<M, _>(rows.clone(), &Several::<L, F, N>(tile(panel), std::marker::PhantomData));
            panel += N;
        }
        while panel < panels.end {
            by_rows::<M, _>(rows.clone(), &Several::<L, F, 1>(tile(panel), std::marker::PhantomData));
            panel += 1;
        }
    }
}

/// Neighbouring panels with rows of x.
struct PanelTile<'a, L> {
    lanes: L,
    tiles: &'a Tiles<'a>,
    x: &'a QuantizedRows,
    weight: &'a QuantizedMatrix,
    /// The first panel.
    panel: usize,
    cols: &'a Range<usize>,
}

struct Several<'a, L, F, const N: usize>(PanelTile<'a, L>, std::marker::PhantomData<F>);

impl<L: Dots, F: PanelFormat, const N: usize> RowTile for Several<'_, L, F, N> {
    #[inline(always)]
    fn run<const M: usize>(&self, row: usize, pass: (usize, usize)) {
        let tile = &self.0;
        let sums = tile.sums::<F, M, N>(row, pass);
        for (m, sums) in sums.into_iter().enumerate() {
            for (n, sums) in sums.into_iter().enumerate() {
                let col = (tile.panel + n) * LANES;
                let width = LANES.min(tile.cols.end - col);
                tile.tiles.store(tile.lanes, row + m, col - tile.cols.start, width, sums);
            }
        }
    }
}

impl<L: Dots> PanelTile<'_, L> {
    /// Sixteen sums of each of `M` rows with each of `N` panels.
    #[inline(always)]
    #[expect(unsafe_code, reason = "the innermost loop: the assertions have checked all loads")]
    #[expect(clippy::needless_range_loop, reason = "m and n index several arrays of registers")]
    fn sums<F: PanelFormat, const M: usize, const N: usize>(
        &self,
        row: usize,
        pass: (usize, usize),
    ) -> [[L::V; N]; M] {
        let (lanes, groups) = (self.lanes, self.weight.groups());
        let panels = self.panel..self.panel + N;
        let weights = self.weight.panel_lines(panels.clone());
        let (scales, least) = (self.weight.panel_scales(panels.clone()), self.weight.panel_least(panels));
        let first = (self.tiles.x.first + row) * groups;
        let (x, factors) = (&self.x.codes[first..][..M * groups], &self.x.factors[first..][..M * groups]);
        assert!(weights.len() == N * groups * F::LINES && scales.len() == N * groups, "codes of panels");
        assert!(!F::LEAST || least.len() == N * groups, "least values of panels");
        let mut next = Prefetch::behind(weights, size_of_val(weights), pass, groups * F::LINES);
        let mut sums = [[lanes.splat(0.0); N]; M];
        for group in 0..groups {
            let mut whole = [[lanes.splat_sum(0); N]; M];
            if F::RAISED != 0 {
                for m in 0..M {
                    // SAFETY: there are M * groups factors.
                    let sum = unsafe { factors.get_unchecked(m * groups + group) }.sum;
                    whole[m] = [lanes.splat_sum(-F::RAISED * sum); N];
                }
            }
            for line in 0..F::LINES {
                next.step();
                for n in 0..N {
                    // SAFETY: there are N * groups * LINES lines.
                    let codes = unsafe { weights.get_unchecked((n * groups + group) * F::LINES + line) };
                    let [first, second] = F::unpack(lanes, lanes.load_codes(&codes.0));
                    for m in 0..M {
                        // SAFETY: there are M * groups codes of eight steps, and a line's are among them.
                        let x = unsafe { *x.get_unchecked(m * groups + group).get_unchecked(line) };
                        whole[m][n] = lanes.dot_codes(first, x, whole[m][n]);
                    }
                    if F::PER_LINE == 2 {
                        for m in 0..M {
                            // SAFETY: as above.
                            let x = unsafe {
                                *x.get_unchecked(m * groups + group).get_unchecked(F::LINES + line)
                            };
                            whole[m][n] = lanes.dot_codes(second, x, whole[m][n]);
                        }
                    }
                }
            }
            for n in 0..N {
                // SAFETY: there are N * groups scales, and least values where there are any.
                let scale = F::scale(lanes, unsafe { scales.get_unchecked(n * groups + group) });
                for m in 0..M {
                    // SAFETY: as above.
                    let factors = unsafe { factors.get_unchecked(m * groups + group) };
                    let scale = lanes.mul(scale, lanes.splat(factors.scale));
                    sums[m][n] = lanes.fma(lanes.to_f32(whole[m][n]), scale, sums[m][n]);
                }
                if F::LEAST {
                    // SAFETY: as above.
                    let least = F::scale(lanes, unsafe { least.get_unchecked(n * groups + group) });
                    for m in 0..M {
                        // SAFETY: as above.
                        let factors = unsafe { factors.get_unchecked(m * groups + group) };
                        sums[m][n] = lanes.fma(least, lanes.splat(factors.total), sums[m][n]);
                    }
                }
            }
        }
        sums
    }
}
