//! Inputs of quantised layers: eight bits each, with a scale for each group of a row,
//! `x ≈ scale * code`; or sixteen bits, as the sum of two such rows.

use std::mem::MaybeUninit;

use super::GROUP;
use crate::cpu::Cpu;
use crate::cpu::isa::Kernel;
use crate::cpu::lanes::LANES;
use crate::cpu::lanes::dots::Dots;
use crate::cpu::output::Output;

/// Number of steps in a group, of four neighbours each.
const STEPS: usize = GROUP / 4;

/// Number that groups of a row are padded to a multiple of: that of all blocks with which the columns
/// needn't be whole blocks.
const PADDED_GROUPS: usize = 2;

/// Rows of x in eight or sixteen bits. Groups of zeros follow those of a row. One does in any case,
/// since rows a power of two apart would all map to the same few sets of the first-level cache.
#[derive(Debug)]
pub(in crate::cpu) struct QuantizedRows {
    /// Number of rows of codes whose sum is a row of x: one, or two, of which the second has the lower
    /// eight of sixteen bits.
    pub(in crate::cpu) planes: usize,
    /// Number of groups in a row of codes.
    pub(in crate::cpu) groups: usize,
    /// `[rows, planes, groups]`.
    pub(in crate::cpu) all: Vec<InputGroup>,
}

/// Group of 32 inputs in eight bits: a line of the processor's cache, so that a tile reads a group of
/// each row at one address. Sums are here times the numbers that weights' codes are raised by, too,
/// since multiplying them for each tile is slow.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(in crate::cpu) struct InputGroup {
    pub(in crate::cpu) codes: [[i8; 4]; STEPS],
    /// Value of a code of one; NaN if one of the inputs isn't finite.
    pub(in crate::cpu) scale: f32,
    /// Sum of all codes, times the scale.
    pub(in crate::cpu) total: f32,
    /// Sums of the first sixteen codes and of the others.
    pub(in crate::cpu) sums: [i32; 2],
    /// The same, times -32.
    pub(in crate::cpu) lowered_by_32: [i32; 2],
    /// Sum of all codes, times -128.
    pub(in crate::cpu) lowered_by_128: i32,
}

impl QuantizedRows {
    /// Rounds rows of x `[rows, k]` to eight bits (one plane) or sixteen (two).
    pub(in crate::cpu) fn new(cpu: &Cpu, x: &[f32], k: usize, planes: usize) -> Self {
        let rows = x.len() / k;
        let groups = k.div_ceil(GROUP).next_multiple_of(PADDED_GROUPS) + 1;
        let of_row = planes * groups;
        let mut all = Vec::with_capacity(rows * of_row);
        let parts = Output::new(&mut all.spare_capacity_mut()[..rows * of_row]);
        cpu.parallel_for(rows, x.len() * 4 * planes, |row| {
            let x = &x[row * k..][..k];
            #[expect(unsafe_code, reason = "each task its row")]
            // SAFETY: a task is one row, and no other task has that row's groups.
            let to = unsafe { parts.part(row * of_row, of_row) };
            match to.split_at_mut(groups) {
                (to, []) => cpu.isa().run(Row { x, to }),
                (upper, lower) => cpu.isa().run(FineRow { x, upper, lower }),
            }
        });
        #[expect(unsafe_code, reason = "one thread would zero them, while the others wait")]
        // SAFETY: each row's task has written all of its groups.
        unsafe {
            all.set_len(rows * of_row);
        }
        Self { planes, groups, all }
    }
}

/// Row to be rounded to eight bits.
struct Row<'a> {
    x: &'a [f32],
    to: &'a mut [MaybeUninit<InputGroup>],
}

/// Row to be rounded to sixteen bits.
struct FineRow<'a> {
    x: &'a [f32],
    upper: &'a mut [MaybeUninit<InputGroup>],
    lower: &'a mut [MaybeUninit<InputGroup>],
}

impl Kernel for Row<'_> {
    #[inline(always)]
    fn run<L: Dots>(self, lanes: L) {
        for (i, to) in self.to.iter_mut().enumerate() {
            to.write(round(lanes, &group(self.x, i)));
        }
    }
}

impl Kernel for FineRow<'_> {
    #[inline(always)]
    fn run<L: Dots>(self, lanes: L) {
        for (i, (upper, lower)) in self.upper.iter_mut().zip(self.lower).enumerate() {
            let groups = round_finely(lanes, &group(self.x, i));
            upper.write(groups[0]);
            lower.write(groups[1]);
        }
    }
}

/// Returns group `i` of a row; what is beyond the row's end is zero.
#[inline(always)]
fn group(x: &[f32], i: usize) -> [f32; GROUP] {
    let rest = x.get(i * GROUP..).unwrap_or_default();
    if let Some(whole) = rest.first_chunk() {
        return *whole;
    }
    let mut padded = [0.0; GROUP];
    padded[..rest.len()].copy_from_slice(rest);
    padded
}

/// 1.5 · 2²³: adding it rounds to a whole number, halves to even, whose lowest bits are the sum's.
const SHIFT: f32 = 12_582_912.0;
/// Greatest code of eight bits.
const MOST: f32 = 127.0;
/// Number that an upper code is worth in lower ones.
const UPPER: f32 = 256.0;

/// Rounds a group to eight bits.
#[inline(always)]
fn round<L: Dots>(lanes: L, group: &[f32; GROUP]) -> InputGroup {
    let (x, range) = Range::of(lanes, group);
    let (factor, shift) = (lanes.splat(range.factor(MOST)), lanes.splat(SHIFT));
    let mut codes = GroupCodes::default();
    for (half, x) in x.into_iter().enumerate() {
        codes.set(lanes, half, lanes.add(lanes.mul(x, factor), shift));
    }
    codes.scaled(range.scale(MOST))
}

/// Rounds a group to sixteen bits, `code = 256 * upper + lower`, and returns both as groups of their
/// own.
#[inline(always)]
fn round_finely<L: Dots>(lanes: L, group: &[f32; GROUP]) -> [InputGroup; 2] {
    let (x, range) = Range::of(lanes, group);
    let (factor, shift) = (lanes.splat(range.factor(MOST * UPPER)), lanes.splat(SHIFT));
    let (mut upper, mut lower) = (GroupCodes::default(), GroupCodes::default());
    for (half, x) in x.into_iter().enumerate() {
        let code = lanes.sub(lanes.add(lanes.mul(x, factor), shift), shift);
        // Half a unit of the code more, so that 128 is a unit above -128, and not 128 above zero.
        let raised = lanes.add(lanes.mul(code, lanes.splat(1.0 / UPPER)), lanes.splat(0.5 / UPPER));
        let shifted = lanes.add(raised, shift);
        let rest = lanes.sub(code, lanes.mul(lanes.sub(shifted, shift), lanes.splat(UPPER)));
        upper.set(lanes, half, shifted);
        lower.set(lanes, half, lanes.add(rest, shift));
    }
    let scale = range.scale(MOST * UPPER);
    [upper.scaled(UPPER * scale), lower.scaled(scale)]
}

/// Range of a group's values.
struct Range {
    /// Greatest magnitude; any value if one of the inputs is NaN.
    most: f32,
    /// Zero, or NaN if one of the inputs isn't finite, which the greatest magnitude alone would hide.
    odd: f32,
}

impl Range {
    /// Returns both halves of a group, and its range.
    #[inline(always)]
    fn of<L: Dots>(lanes: L, group: &[f32; GROUP]) -> ([L::V; 2], Self) {
        let zero = lanes.splat(0.0);
        let halves = group.as_chunks::<LANES>().0;
        let x = [lanes.load(&halves[0]), lanes.load(&halves[1])];
        let magnitudes = [lanes.max(x[0], lanes.sub(zero, x[0])), lanes.max(x[1], lanes.sub(zero, x[1]))];
        let most = lanes.greatest(lanes.max(magnitudes[0], magnitudes[1]));
        let odd = lanes.sum(lanes.add(lanes.mul(x[0], zero), lanes.mul(x[1], zero)));
        (x, Self { most, odd })
    }

    /// Returns the factor that makes codes of at most `codes`: zero for values so small that it
    /// wouldn't be finite.
    #[inline(always)]
    fn factor(&self, codes: f32) -> f32 {
        let factor = codes / self.most;
        if factor.is_finite() { factor } else { 0.0 }
    }

    /// Returns the value of a code of one.
    #[inline(always)]
    fn scale(&self, codes: f32) -> f32 {
        self.most / codes + self.odd
    }
}

/// Codes of a group, and the sums of both halves.
#[derive(Default)]
struct GroupCodes {
    codes: [[i8; 4]; STEPS],
    sums: [f32; 2],
}

impl GroupCodes {
    /// Sets the codes of a half, which [`SHIFT`] was added to.
    #[inline(always)]
    fn set<L: Dots>(&mut self, lanes: L, half: usize, shifted: L::V) {
        self.sums[half] = lanes.sum(lanes.sub(shifted, lanes.splat(SHIFT)));
        lanes.store_lowest(shifted, &mut self.codes.as_flattened_mut().as_chunks_mut::<LANES>().0[half]);
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "whole numbers of at most 128 each")]
    fn scaled(self, scale: f32) -> InputGroup {
        let sums = self.sums.map(|sum| sum as i32);
        let sum = sums[0] + sums[1];
        InputGroup {
            codes: self.codes,
            scale,
            total: scale * sum as f32,
            sums,
            lowered_by_32: sums.map(|sum| -32 * sum),
            lowered_by_128: -128 * sum,
        }
    }
}
