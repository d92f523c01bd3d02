//! Scales of panels: what a block has of them, and where they are in its first lines.
//!
//! `weight = scale * value of the code + minimum`, with one scale and minimum for each group of 32
//! columns or for each half of it. They are either numbers of sixteen bits, or integers that one or
//! two factors of the block are multiplied with; these products are exact in f32.

use half::{bf16, f16};

use super::CodeLine;
use crate::cpu::lanes::LANES;
use crate::cpu::lanes::dots::Dots;

/// Largest value of a code of MXFP4.
const LARGEST_DOUBLED_E2M1: f32 = 12.0;

/// Kind of scales of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum ScaleKind {
    /// An f16 for each of two groups.
    F16,
    /// A bf16 for each of two groups, of codes up to [`LARGEST_DOUBLED_E2M1`].
    Bf16,
    /// A scale and a minimum in f16 for one group.
    F16WithMinimum,
    /// Integers of eight groups: scales and minimums. Two factors in f16.
    Of32,
    /// Signed integers of eight groups. A factor in f32.
    SignedOf32,
    /// Signed integers of the halves of eight groups. A factor in f32.
    Of16,
    /// Integers of the halves of eight groups: scales and minimums. Two factors in f16.
    Of16WithMinimum,
}

/// Scale and minimum of sixteen rows.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct ScaleRow<V> {
    pub(in crate::cpu) scale: V,
    /// Zero in formats without minimums.
    pub(in crate::cpu) minimum: V,
}

/// Scales of one row of a block, to be written.
pub(super) struct RowScales<'a> {
    /// Scale of each group, or factor of the block's scales, and the same of minimums.
    pub(super) factors: (f32, f32),
    /// Integers of each 16 columns.
    pub(super) integers: (&'a [i8], &'a [u8]),
}

impl ScaleKind {
    /// Number of groups in a block.
    pub(in crate::cpu) const fn groups(self) -> usize {
        match self {
            Self::F16WithMinimum => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::Of32 | Self::SignedOf32 | Self::Of16 | Self::Of16WithMinimum => 8,
        }
    }

    /// Number of lines.
    pub(in crate::cpu) const fn lines(self) -> usize {
        match self {
            Self::F16WithMinimum | Self::F16 | Self::Bf16 => 1,
            Self::SignedOf32 => 3,
            Self::Of32 | Self::Of16 => 5,
            Self::Of16WithMinimum => 9,
        }
    }

    /// Whether scales are integers, which factors of the block are multiplied with.
    pub(in crate::cpu) const fn have_factors(self) -> bool {
        matches!(self, Self::Of32 | Self::SignedOf32 | Self::Of16 | Self::Of16WithMinimum)
    }

    /// Whether each half of a group has a scale of its own.
    pub(in crate::cpu) const fn of_halves(self) -> bool {
        matches!(self, Self::Of16 | Self::Of16WithMinimum)
    }

    pub(in crate::cpu) const fn has_minimum(self) -> bool {
        matches!(self, Self::F16WithMinimum | Self::Of32 | Self::Of16WithMinimum)
    }

    /// Place of a signed integer scale among those of its block.
    #[inline(always)]
    const fn place(self, group: usize, half: usize) -> usize {
        if self.of_halves() { 2 * group + half } else { group }
    }

    /// Returns the factors of a block's rows. Kinds without factors have ones.
    #[inline(always)]
    pub(in crate::cpu) fn factors<L: Dots>(self, lanes: L, first: &[CodeLine]) -> ScaleRow<L::V> {
        let zero = lanes.splat(0.0);
        match self {
            Self::F16 | Self::Bf16 | Self::F16WithMinimum => ScaleRow { scale: zero, minimum: zero },
            Self::SignedOf32 | Self::Of16 => {
                ScaleRow { scale: lanes.load(bytemuck::cast_ref(&first[0])), minimum: zero }
            }
            Self::Of32 | Self::Of16WithMinimum => {
                let [scale, minimum]: &[[f16; LANES]; 2] = bytemuck::cast_ref(&first[0]);
                ScaleRow { scale: lanes.load_f16(scale), minimum: lanes.load_f16(minimum) }
            }
        }
    }

    /// Returns the scales of a group, or of one half of it, for the block's `factors`.
    #[inline(always)]
    pub(in crate::cpu) fn of_group<L: Dots>(
        self,
        lanes: L,
        factors: ScaleRow<L::V>,
        first: &[CodeLine],
        (group, half): (usize, usize),
    ) -> ScaleRow<L::V> {
        let zero = lanes.splat(0.0);
        match self {
            Self::F16 => {
                let all: &[[f16; LANES]; 2] = bytemuck::cast_ref(&first[0]);
                ScaleRow { scale: lanes.load_f16(&all[group]), minimum: zero }
            }
            Self::Bf16 => {
                let all: &[[bf16; LANES]; 2] = bytemuck::cast_ref(&first[0]);
                ScaleRow { scale: lanes.load_bf16(&all[group]), minimum: zero }
            }
            Self::F16WithMinimum => {
                let [scale, minimum]: &[[f16; LANES]; 2] = bytemuck::cast_ref(&first[0]);
                ScaleRow { scale: lanes.load_f16(scale), minimum: lanes.load_f16(minimum) }
            }
            Self::Of32 => ScaleRow {
                scale: lanes.mul(factors.scale, lanes.load_u8(integers(first, group))),
                minimum: lanes.mul(factors.minimum, lanes.load_u8(integers(first, 8 + group))),
            },
            Self::SignedOf32 | Self::Of16 => {
                let scale = bytemuck::cast_ref(integers(first, self.place(group, half)));
                ScaleRow { scale: lanes.mul(factors.scale, lanes.load_i8(scale)), minimum: zero }
            }
            Self::Of16WithMinimum => {
                let (scale, minimum) = (2 * group + half, 16 + 2 * group + half);
                ScaleRow {
                    scale: lanes.mul(factors.scale, lanes.load_u8(integers(first, scale))),
                    minimum: lanes.mul(factors.minimum, lanes.load_u8(integers(first, minimum))),
                }
            }
        }
    }

    /// Returns the scale and the minimum of one row.
    pub(super) fn of_row(self, first: &[CodeLine], lane: usize, (group, half): (usize, usize)) -> (f32, f32) {
        let sixteen_bits = |i: usize| bytemuck::cast_ref::<_, [[u16; LANES]; 2]>(&first[0])[i][lane];
        let number = |i: usize| f16::from_bits(sixteen_bits(i)).to_f32();
        let integer = |i: usize| integers(first, i)[lane];
        match self {
            Self::F16 => (number(group), 0.0),
            Self::Bf16 => (bf16::from_bits(sixteen_bits(group)).to_f32(), 0.0),
            Self::F16WithMinimum => (number(0), number(1)),
            Self::Of32 => (number(0) * f32::from(integer(group)), number(1) * f32::from(integer(8 + group))),
            Self::SignedOf32 | Self::Of16 => {
                let factor = bytemuck::cast_ref::<_, [f32; LANES]>(&first[0])[lane];
                (factor * f32::from(integer(self.place(group, half)).cast_signed()), 0.0)
            }
            Self::Of16WithMinimum => {
                let at = 2 * group + half;
                (number(0) * f32::from(integer(at)), number(1) * f32::from(integer(16 + at)))
            }
        }
    }

    /// Writes the scales of one row: those of group `group`, or of all groups if they have factors.
    /// Returns whether they are finite in the numbers that they are kept in.
    pub(super) fn set_row(
        self,
        first: &mut [CodeLine],
        lane: usize,
        group: usize,
        row: &RowScales<'_>,
    ) -> bool {
        let (scale, minimum) = row.factors;
        let halves = [f16::from_f32(scale), f16::from_f32(minimum)];
        let finite = halves.iter().all(|half| half.is_finite());
        match self {
            Self::F16 => {
                bytemuck::cast_mut::<_, [[f16; LANES]; 2]>(&mut first[0])[group][lane] = halves[0];
                finite
            }
            Self::Bf16 => {
                let scale = bf16::from_f32(scale);
                bytemuck::cast_mut::<_, [[bf16; LANES]; 2]>(&mut first[0])[group][lane] = scale;
                (scale.to_f32() * LARGEST_DOUBLED_E2M1).is_finite()
            }
            Self::F16WithMinimum | Self::Of32 | Self::Of16WithMinimum => {
                let to = bytemuck::cast_mut::<_, [[f16; LANES]; 2]>(&mut first[0]);
                (to[0][lane], to[1][lane]) = (halves[0], halves[1]);
                self.set_integers(first, lane, row);
                finite
            }
            Self::SignedOf32 | Self::Of16 => {
                bytemuck::cast_mut::<_, [f32; LANES]>(&mut first[0])[lane] = scale;
                self.set_integers(first, lane, row);
                scale.is_finite()
            }
        }
    }

    fn set_integers(self, first: &mut [CodeLine], lane: usize, row: &RowScales<'_>) {
        // Columns of 16 that share an integer.
        let shared = match self {
            Self::F16 | Self::Bf16 | Self::F16WithMinimum => return,
            Self::Of32 | Self::SignedOf32 => 2,
            Self::Of16 | Self::Of16WithMinimum => 1,
        };
        let (scales, minimums) = row.integers;
        let count = scales.len() / shared;
        for (i, scale) in scales.iter().step_by(shared).enumerate() {
            integers_mut(first, i)[lane] = scale.cast_unsigned();
        }
        if self.has_minimum() {
            for (i, minimum) in minimums.iter().step_by(shared).enumerate() {
                integers_mut(first, count + i)[lane] = *minimum;
            }
        }
    }
}

/// Returns integers `i` of sixteen rows, which begin at the second line.
#[inline(always)]
fn integers(first: &[CodeLine], i: usize) -> &[u8; LANES] {
    &bytemuck::cast_ref::<_, [[u8; LANES]; 4]>(&first[1 + i / 4])[i % 4]
}

fn integers_mut(first: &mut [CodeLine], i: usize) -> &mut [u8; LANES] {
    &mut bytemuck::cast_mut::<_, [[u8; LANES]; 4]>(&mut first[1 + i / 4])[i % 4]
}
