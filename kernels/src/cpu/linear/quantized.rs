//! Tile kernel of quantised weights with x in eight bits: codes are multiplied and added in
//! integers, group by group, then scaled.

use std::marker::PhantomData;
use std::ops::Range;

use super::panels::{PanelRows, multiply_panels};
use super::tile::Tiles;
use crate::cpu::lanes::dots::Dots;
use crate::cpu::lanes::{Pass, Prefetch};
use crate::cpu::quantized::{
    CodeLine, Format, GroupCodes, GroupFactors, Layout, QuantizedMatrix, QuantizedRows, ScaleRow,
};

/// Number of pairs of steps in a group: a pair is the same step of both halves.
const PAIRS: usize = 4;

/// Multiplies the rows `cols` of a weight with all rows of x.
#[inline(always)]
pub(super) fn quantized<L: Dots>(lanes: L, tiles: &Tiles<'_>, weight: &QuantizedMatrix, cols: &Range<usize>) {
    match weight.format() {
        Format::Q8 => of_format::<L, Q8>(lanes, tiles, weight, cols),
        Format::Q8WithMinimum => of_format::<L, Q8WithMinimum>(lanes, tiles, weight, cols),
        Format::Q4 => of_format::<L, Q4>(lanes, tiles, weight, cols),
        Format::Mxfp4 => of_format::<L, Mxfp4>(lanes, tiles, weight, cols),
        Format::Table => of_format::<L, Table>(lanes, tiles, weight, cols),
        Format::K4 => of_format::<L, K4>(lanes, tiles, weight, cols),
        Format::K5 => of_format::<L, K5>(lanes, tiles, weight, cols),
        Format::K6 => of_format::<L, K6>(lanes, tiles, weight, cols),
        Format::TableOf32 => of_format::<L, TableOf32>(lanes, tiles, weight, cols),
        Format::TableOf16 => of_format::<L, TableOf16>(lanes, tiles, weight, cols),
        Format::K4Of16 => of_format::<L, K4Of16>(lanes, tiles, weight, cols),
    }
}

/// Format that a tile kernel is compiled for.
trait PanelFormat {
    const FORMAT: Format;
    const LAYOUT: Layout = Self::FORMAT.layout();
}

macro_rules! panel_formats {
    ($($name:ident),*) => {
        $(struct $name;

        impl PanelFormat for $name {
            const FORMAT: Format = Format::$name;
        })*
    };
}

panel_formats!(Q8, Q8WithMinimum, Q4, Mxfp4, Table, K4, K5, K6, TableOf32, TableOf16, K4Of16);

#[inline(always)]
fn of_format<L: Dots, F: PanelFormat>(
    lanes: L,
    tiles: &Tiles<'_>,
    weight: &QuantizedMatrix,
    cols: &Range<usize>,
) {
    let x = tiles.x.quantized.expect("inputs are rounded for quantised weights");
    let rows = QuantizedPanels::<L, F> { lanes, x, first: tiles.x.first, weight, format: PhantomData };
    if !L::WIDE {
        multiply_panels::<L, _, 2, 1>(lanes, tiles, cols, &rows);
    } else if F::LAYOUT.scales.of_halves() {
        // Twice as many integer sums.
        multiply_panels::<L, _, 4, 2>(lanes, tiles, cols, &rows);
    } else {
        multiply_panels::<L, _, 4, 3>(lanes, tiles, cols, &rows);
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
        let (lanes, blocks, groups) = (self.lanes, self.weight.blocks(), self.x.groups);
        let first = (self.first + row) * groups;
        let operands = Operands::<F, M, N> {
            weights: self.weight.panel_lines(panel..panel + N),
            table: self.weight.table(),
            blocks,
            x: &self.x.codes[first..][..M * groups],
            factors: &self.x.factors[first..][..M * groups],
            groups,
            format: PhantomData,
        };
        operands.check();
        // A single panel is read in one go, which the processor prefetches well enough with simple
        // scales. With blocks of eight groups a panel prefetched ahead measured 5 to 30 % faster.
        let steps = blocks * F::LAYOUT.groups();
        let mut next = match (N, F::LAYOUT.groups()) {
            (1, 8) => Prefetch::behind(operands.weights, size_of_val(operands.weights), pass, steps),
            _ => Prefetch::behind_tile::<N, _>(operands.weights, pass, steps),
        };
        let mut sums = [[lanes.splat(0.0); N]; M];
        for block in 0..blocks {
            #[expect(unsafe_code, reason = "no bounds checks on loads that `check` has checked")]
            // SAFETY: `block < blocks`, `group` is below the number of groups in a block, and the
            // sizes were checked.
            unsafe {
                let factors = operands.factors(lanes, block);
                for group in 0..F::LAYOUT.groups() {
                    let mut whole = operands.start(lanes, (block, group));
                    next.step();
                    operands.add_pair::<L, 0>(lanes, (block, group), &mut whole);
                    operands.add_pair::<L, 1>(lanes, (block, group), &mut whole);
                    operands.add_pair::<L, 2>(lanes, (block, group), &mut whole);
                    operands.add_pair::<L, 3>(lanes, (block, group), &mut whole);
                    operands.add_scaled(lanes, (block, group), &factors, &whole, &mut sums);
                }
            }
        }
        sums
    }
}

/// Operands of a tile: `N` panels, and `M` rows of x.
struct Operands<'a, F, const M: usize, const N: usize> {
    /// `[N, blocks, lines of a block]`.
    weights: &'a [CodeLine],
    table: &'a [u8; 16],
    blocks: usize,
    /// `[M, groups]`.
    x: &'a [GroupCodes],
    /// `[M, groups]`.
    factors: &'a [GroupFactors],
    /// Number of groups in a row of x, at least those of all blocks.
    groups: usize,
    format: PhantomData<F>,
}

/// Sums of a group's products: of both halves if these have scales of their own, else the first
/// element has the sum of all.
type GroupSums<S, const M: usize, const N: usize> = [[[S; 2]; N]; M];

/// # Safety
/// For every function but `check`: `check` has returned, `block < blocks`, `group` is below the number
/// of groups in a block, and `PAIR < PAIRS`.
#[expect(unsafe_code, reason = "the innermost loops; one contract for all, above")]
#[expect(clippy::undocumented_unsafe_blocks, reason = "places below the sizes that `check` compares")]
#[expect(clippy::needless_range_loop, reason = "m and n index several arrays of registers")]
impl<F: PanelFormat, const M: usize, const N: usize> Operands<'_, F, M, N> {
    const LINES: usize = F::LAYOUT.lines();
    const SCALE_LINES: usize = F::LAYOUT.scales.lines();
    const HALVES: bool = F::LAYOUT.scales.of_halves();
    const OFFSET: i32 = F::FORMAT.offset() as i32;

    fn check(&self) {
        let Self { weights, blocks, x, factors, groups, .. } = self;
        assert!(weights.len() == N * blocks * F::LAYOUT.block_lines(), "lines of panels");
        assert!(blocks * F::LAYOUT.groups() <= *groups, "groups of a row");
        assert!(x.len() == M * groups && factors.len() == M * groups, "rows of a tile");
    }

    /// Lines of a block of panel `n` from `first` on.
    #[inline(always)]
    unsafe fn lines(&self, n: usize, block: usize, first: usize, count: usize) -> &[CodeLine] {
        let at = (n * self.blocks + block) * F::LAYOUT.block_lines() + first;
        unsafe { self.weights.get_unchecked(at..at + count) }
    }

    #[inline(always)]
    unsafe fn scale_lines(&self, n: usize, block: usize) -> &[CodeLine] {
        unsafe { self.lines(n, block, 0, Self::SCALE_LINES) }
    }

    #[inline(always)]
    unsafe fn factors_of(&self, m: usize, (block, group): (usize, usize)) -> &GroupFactors {
        unsafe { self.factors.get_unchecked(m * self.groups + block * F::LAYOUT.groups() + group) }
    }

    /// Returns the factors that a block's integer scales are multiplied with.
    #[inline(always)]
    unsafe fn factors<L: Dots>(&self, lanes: L, block: usize) -> [ScaleRow<L::V>; N] {
        let zero = lanes.splat(0.0);
        let mut all = [ScaleRow { scale: zero, minimum: zero }; N];
        for n in 0..N {
            all[n] = F::LAYOUT.scales.factors(lanes, unsafe { self.scale_lines(n, block) });
        }
        all
    }

    /// Returns the sums that a group begins with: the negative of what raising its codes adds.
    #[inline(always)]
    unsafe fn start<L: Dots>(&self, lanes: L, at: (usize, usize)) -> GroupSums<L::Sums, M, N> {
        let mut sums = [[[lanes.splat_sum(0); 2]; N]; M];
        if Self::OFFSET != 0 {
            for m in 0..M {
                let GroupFactors { sum, first_half, .. } = *unsafe { self.factors_of(m, at) };
                let [first, second] = if Self::HALVES { [first_half, sum - first_half] } else { [sum, 0] };
                let first = lanes.splat_sum(-Self::OFFSET * first);
                sums[m] = [[first, lanes.splat_sum(-Self::OFFSET * second)]; N];
            }
        }
        sums
    }

    /// Adds the products of a pair of steps. Its number is a constant, and so are all shifts, whatever the
    /// compiler unrolls.
    #[inline(always)]
    unsafe fn add_pair<L: Dots, const PAIR: usize>(
        &self,
        lanes: L,
        (block, group): (usize, usize),
        sums: &mut GroupSums<L::Sums, M, N>,
    ) {
        let second_sum = usize::from(Self::HALVES);
        for n in 0..N {
            let first_line = Self::SCALE_LINES + group * Self::LINES;
            let codes = unsafe { self.lines(n, block, first_line, Self::LINES) };
            let [first, second] = codes_of_pair::<L, F, PAIR>(lanes, codes, self.table);
            for m in 0..M {
                let row = m * self.groups + block * F::LAYOUT.groups() + group;
                let x = unsafe { self.x.get_unchecked(row) };
                sums[m][n][0] = lanes.dot_codes(first, x[PAIR], sums[m][n][0]);
                let sum = sums[m][n][second_sum];
                sums[m][n][second_sum] = lanes.dot_codes(second, x[PAIR + PAIRS], sum);
            }
        }
    }

    /// Scales a group's sums and adds them to `sums`.
    #[inline(always)]
    unsafe fn add_scaled<L: Dots>(
        &self,
        lanes: L,
        (block, group): (usize, usize),
        factors: &[ScaleRow<L::V>; N],
        whole: &GroupSums<L::Sums, M, N>,
        sums: &mut [[L::V; N]; M],
    ) {
        for half in 0..=usize::from(Self::HALVES) {
            for n in 0..N {
                let stored = unsafe { self.scale_lines(n, block) };
                let row = F::LAYOUT.scales.of_group(lanes, factors[n], stored, (group, half));
                for m in 0..M {
                    let factors = unsafe { self.factors_of(m, (block, group)) };
                    let scale = lanes.mul(row.scale, lanes.splat(factors.scale));
                    sums[m][n] = lanes.fma(lanes.to_f32(whole[m][n][half]), scale, sums[m][n]);
                }
                if !F::LAYOUT.scales.has_minimum() {
                    continue;
                }
                for m in 0..M {
                    let total = unsafe { self.factors_of(m, (block, group)) }.total_of::<F>(half);
                    sums[m][n] = lanes.fma(row.minimum, lanes.splat(total), sums[m][n]);
                }
            }
        }
    }
}

impl GroupFactors {
    /// Sum of the codes that share a minimum, times the scale.
    #[inline(always)]
    fn total_of<F: PanelFormat>(&self, half: usize) -> f32 {
        match (F::LAYOUT.scales.of_halves(), half) {
            (false, _) => self.total,
            (true, 0) => self.scale * self.first_half as f32,
            (true, _) => self.scale * (self.sum - self.first_half) as f32,
        }
    }
}

/// Returns the unsigned codes of the same step in both halves of a group.
#[inline(always)]
fn codes_of_pair<L: Dots, F: PanelFormat, const PAIR: usize>(
    lanes: L,
    group: &[CodeLine],
    table: &[u8; 16],
) -> [L::Codes; 2] {
    let line = lanes.load_codes(&group[PAIR].0);
    if F::LAYOUT.bits == 8 {
        return [line, lanes.load_codes(&group[PAIR + PAIRS].0)];
    }
    let [first, second] = lanes.halves(line);
    if F::FORMAT.has_table() {
        return [lanes.look_up(table, first), lanes.look_up(table, second)];
    }
    if F::LAYOUT.bits == 4 {
        return [first, second];
    }
    let places = const { [F::LAYOUT.upper(PAIR), F::LAYOUT.upper(PAIR + PAIRS)] };
    [insert_upper(lanes, group, places[0], first), insert_upper(lanes, group, places[1], second)]
}

/// Adds the bits above the lowest four, which are at a place (line, shift and mask), to codes.
#[inline(always)]
fn insert_upper<L: Dots>(
    lanes: L,
    group: &[CodeLine],
    (line, shift, mask): (usize, u32, u8),
    codes: L::Codes,
) -> L::Codes {
    lanes.insert_bits(codes, lanes.load_codes(&group[line].0), 4 - shift.cast_signed(), mask << 4)
}
