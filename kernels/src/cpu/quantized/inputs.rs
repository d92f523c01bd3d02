//! Inputs of quantised layers: eight bits each, with a scale for each group of a row,
//! `x ≈ scale * code`.

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

/// Rows of x in eight bits. Groups of zeros follow those of a row. One does in any case, since rows a
/// power of two apart would all map to the same few sets of the first-level cache.
#[derive(Debug)]
pub(in crate::cpu) struct QuantizedRows {
    /// Number of groups in a row.
    pub(in crate::cpu) groups: usize,
    /// `[rows, groups]`.
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
    /// Rounds rows of x `[rows, k]`.
    pub(in crate::cpu) fn new(cpu: &Cpu, x: &[f32], k: usize) -> Self {
        let rows = x.len() / k;
        let groups = k.div_ceil(GROUP).next_multiple_of(PADDED_GROUPS) + 1;
        let mut all = Vec::with_capacity(rows * groups);
        let parts = Output::new(&mut all.spare_capacity_mut()[..rows * groups]);
        cpu.parallel_for(rows, x.len() * 4, |row| {
            #[expect(unsafe_code, reason = "each task its row")]
            // SAFETY: a task is one row, and no other task has that row's groups.
            let to = unsafe { parts.part(row * groups, groups) };
            cpu.isa().run(Row { x: &x[row * k..][..k], to });
        });
        #[expect(unsafe_code, reason = "one thread would zero them, while the others wait")]
        // SAFETY: each row's task has written all of its groups.
        unsafe {
            all.set_len(rows * groups);
        }
        Self { groups, all }
    }
}

struct Row<'a> {
    x: &'a [f32],
    to: &'a mut [MaybeUninit<InputGroup>],
}

impl Kernel for Row<'_> {
    #[inline(always)]
    fn run<L: Dots>(self, lanes: L) {
        let (whole, rest) = self.x.as_chunks::<GROUP>();
        let (first, last) = self.to.split_at_mut(whole.len());
        for (x, to) in whole.iter().zip(first) {
            to.write(round(lanes, x));
        }
        let mut group = [0.0; GROUP];
        group[..rest.len()].copy_from_slice(rest);
        for to in last {
            to.write(round(lanes, &group));
            group.fill(0.0);
        }
    }
}

/// Rounds a group.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "whole numbers of at most 127")]
fn round<L: Dots>(lanes: L, group: &[f32; GROUP]) -> InputGroup {
    /// 1.5 · 2²³: adding it rounds to a whole number, halves to even, whose lowest bits are the sum's.
    const SHIFT: f32 = 12_582_912.0;
    let (zero, shift) = (lanes.splat(0.0), lanes.splat(SHIFT));
    let halves = group.as_chunks::<LANES>().0;
    let x = [lanes.load(&halves[0]), lanes.load(&halves[1])];
    let magnitudes = [lanes.max(x[0], lanes.sub(zero, x[0])), lanes.max(x[1], lanes.sub(zero, x[1]))];
    let most = lanes.greatest(lanes.max(magnitudes[0], magnitudes[1]));
    // Zero, or NaN if one of the inputs isn't finite, which the greatest magnitude alone would hide.
    let odd = lanes.sum(lanes.add(lanes.mul(x[0], zero), lanes.mul(x[1], zero)));
    let factor = lanes.splat(if most > 0.0 { 127.0 / most } else { 0.0 });
    let (mut codes, mut sums) = ([[0; 4]; STEPS], [0.0; 2]);
    for (half, codes) in codes.as_flattened_mut().as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let shifted = lanes.add(lanes.mul(x[half], factor), shift);
        sums[half] = lanes.sum(lanes.sub(shifted, shift));
        lanes.store_lowest(shifted, codes);
    }
    let (scale, sums) = (most / 127.0 + odd, sums.map(|sum| sum as i32));
    let sum = sums[0] + sums[1];
    InputGroup {
        codes,
        scale,
        total: scale * sum as f32,
        sums,
        lowered_by_32: sums.map(|sum| -32 * sum),
        lowered_by_128: -128 * sum,
    }
}
