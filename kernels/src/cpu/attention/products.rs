//! Tiles of registers: products of some query rows with a block of keys, and of their weights with
//! a block of values.

use std::ops::Range;

use super::SPAN;
use super::running_softmax::RunningSoftmax;
use crate::cpu::kv::BLOCK_SIZE;
use crate::cpu::lanes::{Element, LANES, Lanes, Prefetch};
use crate::cpu::linear::dot_tile;

/// Block `i` of a span's keys, and in `prefetch` its values, if they are to be prefetched.
#[derive(Clone, Copy)]
pub(super) struct KeyBlock<'a, W> {
    pub(super) i: usize,
    pub(super) keys: &'a [W],
    pub(super) stride: usize,
    pub(super) prefetch: &'a [W],
}

/// Computes the scores of `M` rows with the sixteen keys of block `i` of the span.
#[inline(always)]
pub(super) fn scores_of<L: Lanes, W: Element, const M: usize>(
    lanes: L,
    running: &mut RunningSoftmax,
    row: usize,
    KeyBlock { i, keys, stride, prefetch }: KeyBlock<'_, W>,
) {
    for key in (0..BLOCK_SIZE).step_by(4) {
        let queries = &running.queries[row * stride..];
        let quarter = &prefetch[(key * stride).min(prefetch.len())..((key + 4) * stride).min(prefetch.len())];
        let next = Prefetch::of(quarter, stride / LANES);
        let scores = dot_tile::<L, W, M, 4>(lanes, queries, &keys[key * stride..], stride, next);
        for (m, scores) in scores.iter().enumerate() {
            running.weights[(row + m) * SPAN + i * BLOCK_SIZE + key..][..4].copy_from_slice(scores);
        }
    }
}

/// Returns the number of tiles in which [`add_values`] takes values of this width.
#[inline(always)]
pub(super) fn tiles_of(width: usize) -> usize {
    width / (4 * LANES) + (width % (4 * LANES)).div_ceil(LANES)
}

/// Adds the weighted values of some keys of block `i` of the span to `M` rows, key after key.
#[inline(always)]
pub(super) fn add_values<L: Lanes, W: Element, const M: usize>(
    lanes: L,
    running: &mut RunningSoftmax,
    row: usize,
    (i, keys): (usize, Range<usize>),
    values: &[W],
    (width, stride): (usize, usize),
    prefetch: &mut Prefetch,
) {
    let values = &values[keys.start * stride..keys.end * stride];
    let first = i * BLOCK_SIZE + keys.start;
    let mut dim = 0;
    // Whole vectors are added; what they hold beyond the width is never read.
    while dim + 4 * LANES <= width {
        values_tile::<L, W, M, 4>(lanes, running, row, first, values, (dim, stride), prefetch);
        dim += 4 * LANES;
    }
    while dim < width {
        values_tile::<L, W, M, 1>(lanes, running, row, first, values, (dim, stride), prefetch);
        dim += LANES;
    }
}

/// Adds a tile of the weighted `values`, which belong to the span's keys from `first` on.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "m and d index several arrays of registers")]
fn values_tile<L: Lanes, W: Element, const M: usize, const D: usize>(
    lanes: L,
    running: &mut RunningSoftmax,
    row: usize,
    first: usize,
    values: &[W],
    (dim, stride): (usize, usize),
    prefetch: &mut Prefetch,
) {
    let mut sums = [[lanes.splat(0.0); D]; M];
    for m in 0..M {
        let from = running.partial.sums[(row + m) * stride + dim..].as_chunks::<LANES>().0;
        for d in 0..D {
            sums[m][d] = lanes.load(&from[d]);
        }
    }
    for (j, value) in values.chunks_exact(stride).enumerate() {
        prefetch.step();
        let value = value[dim..].as_chunks::<LANES>().0;
        let mut loaded = [lanes.splat(0.0); D];
        for d in 0..D {
            loaded[d] = W::load(lanes, &value[d]);
        }
        for m in 0..M {
            let weight = lanes.splat(running.weights[(row + m) * SPAN + first + j]);
            for d in 0..D {
                sums[m][d] = lanes.fma(weight, loaded[d], sums[m][d]);
            }
        }
    }
    for m in 0..M {
        let to = running.partial.sums[(row + m) * stride + dim..].as_chunks_mut::<LANES>().0;
        for d in 0..D {
            lanes.store(sums[m][d], &mut to[d]);
        }
    }
}
