//! Inputs of quantised layers: eight bits each, with a scale for each group of a row,
//! `x ≈ scale * code`.

use super::GROUP;
use crate::cpu::Cpu;
use crate::cpu::isa::Kernel;
use crate::cpu::lanes::dots::Dots;
use crate::cpu::output::Output;

/// Number of steps in a group, of four neighbours each.
const STEPS: usize = GROUP / 4;

/// Codes of a group.
pub(in crate::cpu) type GroupCodes = [[i8; 4]; STEPS];

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
    pub(in crate::cpu) codes: Vec<GroupCodes>,
    /// `[rows, groups]`; the scale is NaN if one of the group's inputs isn't finite.
    pub(in crate::cpu) factors: Vec<GroupFactors>,
}

/// Scale and sums of a group's codes.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::cpu) struct GroupFactors {
    /// Value of a code of one.
    pub(in crate::cpu) scale: f32,
    /// Sum of all codes.
    pub(in crate::cpu) sum: i32,
    /// Sum of the first sixteen codes.
    pub(in crate::cpu) first_half: i32,
    /// Sum of all codes, times the scale.
    pub(in crate::cpu) total: f32,
}

impl QuantizedRows {
    /// Rounds rows of x `[rows, k]`.
    pub(in crate::cpu) fn new(cpu: &Cpu, x: &[f32], k: usize) -> Self {
        let (rows, groups) = (x.len() / k, k.div_ceil(GROUP).next_multiple_of(PADDED_GROUPS));
        let mut all = Self {
            groups,
            codes: vec![[[0; 4]; STEPS]; rows * groups],
            factors: vec![GroupFactors::default(); rows * groups],
        };
        let (codes, factors) = (Output::new(&mut all.codes), Output::new(&mut all.factors));
        cpu.parallel_for(rows, x.len() * 4, |row| {
            #[expect(unsafe_code, reason = "each task its row")]
            // SAFETY: a task is one row, and no other task has that row's groups.
            let (codes, factors) =
                unsafe { (codes.part(row * groups, groups), factors.part(row * groups, groups)) };
            cpu.isa().run(Row { x: &x[row * k..][..k], codes, factors });
        });
        all
    }
}

struct Row<'a> {
    x: &'a [f32],
    codes: &'a mut [GroupCodes],
    factors: &'a mut [GroupFactors],
}

impl Kernel for Row<'_> {
    #[inline(always)]
    fn run<L: Dots>(self, _: L) {
        for ((x, codes), factors) in self.x.chunks(GROUP).zip(self.codes).zip(self.factors) {
            let mut group = [0.0; GROUP];
            group[..x.len()].copy_from_slice(x);
            *factors = round(&group, codes);
        }
    }
}

/// Rounds a group. The loops are plain, so that the compiler vectorises them.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "whole numbers of at most 127")]
fn round(group: &[f32; GROUP], codes: &mut GroupCodes) -> GroupFactors {
    let mut lanes = [0.0f32; 8];
    // Zero, or NaN if one of the inputs isn't finite, which the greatest magnitude alone would
    // hide.
    let mut odd = [0.0f32; 8];
    for chunk in group.as_chunks::<8>().0 {
        for i in 0..8 {
            lanes[i] = if chunk[i].abs() > lanes[i] { chunk[i].abs() } else { lanes[i] };
            odd[i] += chunk[i] * 0.0;
        }
    }
    let most = lanes.iter().fold(0.0f32, |a, b| a.max(*b));
    let factor = if most > 0.0 { 127.0 / most } else { 0.0 };
    let mut sums = [0; 2];
    let (halves, xs) = (codes.as_flattened_mut().chunks_mut(GROUP / 2), group.chunks(GROUP / 2));
    for ((codes, xs), sum) in halves.zip(xs).zip(&mut sums) {
        for (code, x) in codes.iter_mut().zip(xs) {
            let rounded = (x * factor).round_ties_even() as i32;
            *sum += rounded;
            *code = rounded as i8;
        }
    }
    let scale = most / 127.0 + odd.iter().sum::<f32>();
    let sum = sums[0] + sums[1];
    GroupFactors { scale, sum, first_half: sums[0], total: scale * sum as f32 }
}
