//! Inputs of quantised layers: eight bits each, with a scale for each group of a row,
//! `x ≈ scale * code`.

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

/// Rows of x in eight bits. The last group of each is padded with zeros, and a group of zeros follows
/// if their number is odd.
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
#[derive(Debug, Clone, Copy, Default)]
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
        let (rows, groups) = (x.len() / k, k.div_ceil(GROUP).next_multiple_of(PADDED_GROUPS));
        let mut all = vec![InputGroup::default(); rows * groups];
        let parts = Output::new(&mut all);
        cpu.parallel_for(rows, x.len() * 4, |row| {
            #[expect(unsafe_code, reason = "each task its row")]
            // SAFETY: a task is one row, and no other task has that row's groups.
            let to = unsafe { parts.part(row * groups, groups) };
            cpu.isa().run(Row { x: &x[row * k..][..k], to });
        });
        Self { groups, all }
    }
}

struct Row<'a> {
    x: &'a [f32],
    to: &'a mut [InputGroup],
}

impl Kernel for Row<'_> {
    #[inline(always)]
    fn run<L: Dots>(self, lanes: L) {
        for (x, to) in self.x.chunks(GROUP).zip(self.to) {
            if let Some(group) = x.first_chunk() {
                round(lanes, group, to);
            } else {
                let mut group = [0.0; GROUP];
                group[..x.len()].copy_from_slice(x);
                round(lanes, &group, to);
            }
        }
    }
}

/// Rounds a group.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "whole numbers of at most 127")]
fn round<L: Dots>(lanes: L, group: &[f32; GROUP], to: &mut InputGroup) {
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
    let mut sums = [0.0; 2];
    for (half, codes) in to.codes.as_flattened_mut().as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let shifted = lanes.add(lanes.mul(x[half], factor), shift);
        sums[half] = lanes.sum(lanes.sub(shifted, shift));
        lanes.store_lowest(shifted, codes);
    }
    to.sums = sums.map(|sum| sum as i32);
    let sum = to.sums[0] + to.sums[1];
    to.scale = most / 127.0 + odd;
    to.total = to.scale * sum as f32;
    to.lowered_by_32 = to.sums.map(|sum| -32 * sum);
    to.lowered_by_128 = -128 * sum;
}
