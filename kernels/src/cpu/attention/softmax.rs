//! Steps of a running softmax, in vectors.

use std::ops::Range;

use crate::cpu::lanes::{LANES, Lanes};

#[inline(always)]
pub(super) fn maximum<L: Lanes>(lanes: L, scores: &[f32]) -> f32 {
    let mut greatest = lanes.splat(f32::NEG_INFINITY);
    for chunk in scores.as_chunks::<LANES>().0 {
        greatest = lanes.max(greatest, lanes.load(chunk));
    }
    let mut all = [0.0; LANES];
    lanes.store(greatest, &mut all);
    all.into_iter().fold(f32::NEG_INFINITY, f32::max)
}

/// Replaces the visible scores by `exp(score - greatest)`, the others by zero; returns their sum.
#[inline(always)]
pub(super) fn exponentials<L: Lanes>(
    lanes: L,
    scores: &mut [f32],
    visible: Range<usize>,
    greatest: f32,
) -> f32 {
    let greatest = lanes.splat(greatest);
    for chunk in scores.as_chunks_mut::<LANES>().0 {
        let weight = lanes.exp(lanes.sub(lanes.load(chunk), greatest));
        lanes.store(weight, chunk);
    }
    scores[visible.end..].fill(0.0);
    scores[..visible.start].fill(0.0);
    let mut total = lanes.splat(0.0);
    for chunk in scores.as_chunks::<LANES>().0 {
        total = lanes.add(total, lanes.load(chunk));
    }
    lanes.sum(total)
}

#[inline(always)]
pub(super) fn scale<L: Lanes>(lanes: L, row: &mut [f32], by: f32) {
    for chunk in row.as_chunks_mut::<LANES>().0 {
        let scaled = lanes.mul(lanes.load(chunk), lanes.splat(by));
        lanes.store(scaled, chunk);
    }
}

#[inline(always)]
pub(super) fn exp<L: Lanes>(lanes: L, x: f32) -> f32 {
    let mut all = [0.0; LANES];
    lanes.store(lanes.exp(lanes.splat(x)), &mut all);
    all[0]
}
