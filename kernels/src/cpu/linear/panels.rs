//! Tiles over panels: sixteen rows of a weight are interleaved, so that each lane accumulates one
//! of them.

use std::ops::Range;

use super::tile::{RowTile, Tiles, by_rows};
use crate::cpu::lanes::dots::Dots;
use crate::cpu::lanes::{LANES, Pass};

/// Rows of x and panels of a weight, whose products a tile sums up.
pub(super) trait PanelRows<L: Dots> {
    /// Number of neighbouring rows, one or two, whose results are those of one row of x when they are
    /// added. Heights of tiles are multiples of it.
    #[inline(always)]
    fn planes(&self) -> usize {
        1
    }

    /// Returns the sixteen sums of each of `M` rows from `row` on with each of `N` panels from
    /// `panel` on, as one pass over the same panels. `#[inline(always)]` in every
    /// implementation.
    fn sums<const M: usize, const N: usize>(&self, row: usize, panel: usize, pass: Pass) -> [[L::V; N]; M];
}

/// Multiplies all panels of the rows `cols` of a weight, `N` at a time, with all rows of x, `M` at
/// a time. Both ends of `cols` are ends of panels or of the weight.
#[inline(always)]
pub(super) fn multiply_panels<L: Dots, R: PanelRows<L>, const M: usize, const N: usize>(
    lanes: L,
    tiles: &Tiles<'_>,
    cols: &Range<usize>,
    weight: &R,
) {
    debug_assert!(cols.start.is_multiple_of(LANES), "panels");
    let (panels, planes) = (cols.start / LANES..cols.end.div_ceil(LANES), weight.planes());
    let tile = |panel| PanelTile { lanes, tiles, weight, panel, cols };
    for rows in tiles.blocks() {
        // For one row of x, panels are taken one by one, so that memory is read in one go.
        let together = if rows.len() > 1 { panels.len() / N * N } else { 0 };
        let (grouped, single) = (panels.start..panels.start + together, panels.start + together..panels.end);
        let rows = rows.start * planes..rows.end * planes;
        for panel in grouped.step_by(N) {
            by_rows::<M, _>(rows.clone(), &PanelTileOf::<L, R, N>(tile(panel)));
        }
        for panel in single {
            by_rows::<M, _>(rows.clone(), &PanelTileOf::<L, R, 1>(tile(panel)));
        }
    }
}

/// Panels of a weight, to be multiplied with rows of x.
struct PanelTile<'a, L, R> {
    lanes: L,
    tiles: &'a Tiles<'a>,
    weight: &'a R,
    /// Index of the first panel.
    panel: usize,
    cols: &'a Range<usize>,
}

/// Tile of `N` neighbouring panels.
struct PanelTileOf<'a, L, R, const N: usize>(PanelTile<'a, L, R>);

impl<L: Dots, R: PanelRows<L>, const N: usize> RowTile for PanelTileOf<'_, L, R, N> {
    #[inline(always)]
    fn run<const M: usize>(&self, row: usize, pass: Pass) {
        let tile = &self.0;
        let (sums, planes) = (tile.weight.sums::<M, N>(row, tile.panel, pass), tile.weight.planes());
        for m in (0..M).step_by(planes) {
            for n in 0..N {
                let col = (tile.panel + n) * LANES;
                let width = LANES.min(tile.cols.end - col);
                let sums = match planes {
                    1 => sums[m][n],
                    _ => tile.lanes.add(sums[m][n], sums[m + 1][n]),
                };
                tile.tiles.store(tile.lanes, (row + m) / planes, col - tile.cols.start, width, sums);
            }
        }
    }
}
