//! Tile kernel of quantised weights with x in eight bits: codes are multiplied and added in
//! integers, group by group, then scaled. Sixteen bits of x are two rows of eight.

use std::marker::PhantomData;
use std::ops::Range;

use super::panels::{PanelRows, multiply_panels};
use super::tile::Tiles;
use crate::cpu::isa::{Isa, Kernel};
use crate::cpu::lanes::dots::Dots;
use crate::cpu::lanes::{Pass, Prefetch};
use crate::cpu::quantized::{CodeLine, Format, InputGroup, Layout, QuantizedMatrix, QuantizedRows, ScaleRow};

/// Number of pairs of steps in a group: a pair is the same step of both halves.
const PAIRS: usize = 4;

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

        /// Multiplies the rows `cols` of a weight with all rows of x. Each format's kernel is a function
        /// of its own.
        pub(super) fn quantized(
            isa: Isa,
            tiles: &Tiles<'_>,
            weight: &QuantizedMatrix,
            cols: &Range<usize>,
        ) {
            match weight.format() {
                $(Format::$name => isa.run(OfFormat::<$name>::new(tiles, weight, cols)),)*
            }
        }
    };
}

panel_formats!(Q8, Q8WithMinimum, Q4, Mxfp4, Table, K4, K5, K6, TableOf32, TableOf16, K4Of16, Nvfp4);

/// Kernel of a task whose weight has format `F`.
struct OfFormat<'a, F> {
    tiles: &'a Tiles<'a>,
    weight: &'a QuantizedMatrix,
    cols: &'a Range<usize>,
    format: PhantomData<F>,
}

impl<'a, F> OfFormat<'a, F> {
    fn new(tiles: &'a Tiles<'a>, weight: &'a QuantizedMatrix, cols: &'a Range<usize>) -> Self {
        Self { tiles, weight, cols, format: PhantomData }
    }
}

impl<F: PanelFormat> Kernel for OfFormat<'_, F> {
    const MULTIPLIES_CODES: bool = true;

    #[inline(always)]
    fn run<L: Dots>(self, lanes: L) {
        let Self { tiles, weight, cols, format } = self;
        let x = tiles.x.quantized.expect("inputs are rounded for quantised weights");
        let rows = QuantizedPanels::<L, F> { lanes, x, first: tiles.x.first, weight, format };
        if !L::WIDE {
            multiply_panels::<L, _, 2, 1>(lanes, tiles, cols, &rows);
        } else if F::LAYOUT.scales.of_halves() {
            // Twice as many integer sums.
            multiply_panels::<L, _, 4, 2>(lanes, tiles, cols, &rows);
        } else if F::LAYOUT.bits == 5 {
            // Unpacking a fifth bit takes long, and is done once for eight rows.
            multiply_panels::<L, _, 8, 1>(lanes, tiles, cols, &rows);
        } else {
            multiply_panels::<L, _, 4, 3>(lanes, tiles, cols, &rows);
        }
    }
}

/// Rows of codes from row `first` of x on, and a weight.
struct QuantizedPanels<'a, L, F> {
    lanes: L,
    x: &'a QuantizedRows,
    first: usize,
    weight: &'a QuantizedMatrix,
    format: PhantomData<F>,
}

impl<L: Dots, F: PanelFormat> PanelRows<L> for QuantizedPanels<'_, L, F> {
    #[inline(always)]
    fn planes(&self) -> usize {
        self.x.planes
    }

    #[inline(always)]
    fn sums<const M: usize, const N: usize>(&self, row: usize, panel: usize, pass: Pass) -> [[L::V; N]; M] {
        let (lanes, blocks, groups) = (self.lanes, self.weight.blocks(), self.x.groups);
        let first = (self.first * self.x.planes + row) * groups;
        let operands = Operands::<F, M, N> {
            weights: self.weight.panel_lines(panel..panel + N),
            table: self.weight.table(),
            factor: self.weight.factor(),
            blocks,
            x: &self.x.all[first..][..M * groups],
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
    /// Factor of the whole matrix.
    factor: f32,
    blocks: usize,
    /// `[M, groups]`.
    x: &'a [InputGroup],
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

    fn check(&self) {
        let Self { weights, blocks, x, groups, .. } = self;
        assert!(weights.len() == N * blocks * F::LAYOUT.block_lines(), "lines of panels");
        assert!(blocks * F::LAYOUT.groups() <= *groups, "groups of a row");
        assert!(x.len() == M * groups, "rows of a tile");
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

    /// Group of row `m` of x.
    #[inline(always)]
    unsafe fn inputs(&self, m: usize, (block, group): (usize, usize)) -> &InputGroup {
        unsafe { self.x.get_unchecked(m * self.groups + block * F::LAYOUT.groups() + group) }
    }

    /// Returns the factors that a block's integer scales are multiplied with.
    #[inline(always)]
    unsafe fn factors<L: Dots>(&self, lanes: L, block: usize) -> [ScaleRow<L::V>; N] {
        let zero = lanes.splat(0.0);
        let mut all = [ScaleRow { scale: zero, minimum: zero }; N];
        for n in 0..N {
            all[n] = F::LAYOUT.scales.factors(lanes, unsafe { self.scale_lines(n, block) }, self.factor);
        }
        all
    }

    /// Returns the sums that a group begins with: the negative of what raising its codes adds.
    #[inline(always)]
    unsafe fn start<L: Dots>(&self, lanes: L, at: (usize, usize)) -> GroupSums<L::Sums, M, N> {
        let mut sums = [[[lanes.splat_sum(0); 2]; N]; M];
        if F::FORMAT.offset() != 0 {
            for m in 0..M {
                let [first, second] = unsafe { self.inputs(m, at) }.lowered::<F>();
                sums[m] = [[lanes.splat_sum(first), lanes.splat_sum(second)]; N];
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
                let x = unsafe { self.inputs(m, (block, group)) };
                sums[m][n][0] = lanes.dot_codes(first, x.codes[PAIR], sums[m][n][0]);
                let sum = sums[m][n][second_sum];
                sums[m][n][second_sum] = lanes.dot_codes(second, x.codes[PAIR + PAIRS], sum);
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
                    let x = unsafe { self.inputs(m, (block, group)) };
                    let scale = lanes.mul(row.scale, lanes.splat(x.scale));
                    sums[m][n] = lanes.fma(lanes.to_f32(whole[m][n][half]), scale, sums[m][n]);
                }
                if !F::LAYOUT.scales.has_minimum() {
                    continue;
                }
                for m in 0..M {
                    let total = unsafe { self.inputs(m, (block, group)) }.total_of::<F>(half);
                    sums[m][n] = lanes.fma(row.minimum, lanes.splat(total), sums[m][n]);
                }
            }
        }
    }
}

impl InputGroup {
    /// Sums of the codes of both halves, or of all and nothing, times the negative of what the
    /// format's codes are raised by.
    #[inline(always)]
    fn lowered<F: PanelFormat>(&self) -> [i32; 2] {
        match (F::LAYOUT.scales.of_halves(), F::FORMAT.offset()) {
            (true, 32) => self.lowered_by_32,
            (true, offset) => self.sums.map(|sum| -i32::from(offset) * sum),
            (false, 128) => [self.lowered_by_128, 0],
            (false, offset) => [-i32::from(offset) * (self.sums[0] + self.sums[1]), 0],
        }
    }

    /// Sum of the codes that share a minimum, times the scale.
    #[inline(always)]
    fn total_of<F: PanelFormat>(&self, half: usize) -> f32 {
        if F::LAYOUT.scales.of_halves() { self.scale * self.sums[half] as f32 } else { self.total }
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
