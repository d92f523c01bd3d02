//! The rule itself, on columns of a head's matrix: for each token the matrix decays, the value that
//! it has for the key is read, the difference to the token's value is written, and the result is
//! read.
//!
//! Sums run over the key's dimensions in order, one for each column, so columns are independent. A
//! tile of columns stays in the first-level cache for all rows of a piece.

use super::group::GroupShape;
use crate::cpu::lanes::{LANES, Lanes};

/// Number of vectors in a tile: 128 rows of a matrix are 32 KiB.
const TILE: usize = 4;

/// Rows of one value head.
pub(super) struct HeadRows<'a> {
    pub(super) group: GroupShape,
    pub(super) key_dim: usize,
    /// Index of the head in its group.
    pub(super) member: usize,
    /// `[rows, channels]`: query and key of length one, the query divided by the root of its width;
    /// values.
    pub(super) mixed: &'a [f32],
    /// `[rows, heads]`: factors of the matrix, and rates of the update.
    pub(super) kept: &'a [f32],
    pub(super) rates: &'a [f32],
}

impl HeadRows<'_> {
    /// Advances the head's matrix by all rows; `results` are `[rows, value]`.
    #[inline(always)]
    pub(super) fn advance<L: Lanes>(&self, lanes: L, matrix: &mut [f32], results: &mut [f32]) {
        let mut column = 0;
        while column + TILE * LANES <= self.group.value {
            self.columns::<L, TILE>(lanes, matrix, column, results);
            column += TILE * LANES;
        }
        while column < self.group.value {
            self.columns::<L, 1>(lanes, matrix, column, results);
            column += LANES;
        }
    }

    #[inline(always)]
    fn columns<L: Lanes, const T: usize>(
        &self,
        lanes: L,
        matrix: &mut [f32],
        at: usize,
        results: &mut [f32],
    ) {
        let GroupShape { key, value, channels, heads, .. } = self.group;
        let rows = self.mixed.chunks_exact(channels).zip(results.chunks_exact_mut(value)).enumerate();
        for (row, (mixed, result)) in rows {
            let (query, keys) = (&mixed[..self.key_dim], &mixed[key..key + self.key_dim]);
            let values = &mixed[2 * key + self.member * value + at..][..T * LANES];
            let kept = lanes.splat(self.kept[row * heads + self.member]);
            let rate = lanes.splat(self.rates[row * heads + self.member]);
            let mut known = [lanes.splat(0.0); T];
            for (line, k) in matrix.chunks_exact(value).zip(keys) {
                let (line, k) = (line[at..at + T * LANES].as_chunks::<LANES>().0, lanes.splat(*k));
                for t in 0..T {
                    known[t] = lanes.fma(lanes.load(&line[t]), k, known[t]);
                }
            }
            let mut change = [lanes.splat(0.0); T];
            let values = values.as_chunks::<LANES>().0;
            for t in 0..T {
                let apart = lanes.sub(lanes.load(&values[t]), lanes.mul(kept, known[t]));
                change[t] = lanes.mul(apart, rate);
            }
            let mut read = [lanes.splat(0.0); T];
            for ((line, k), q) in matrix.chunks_exact_mut(value).zip(keys).zip(query) {
                let line = line[at..at + T * LANES].as_chunks_mut::<LANES>().0;
                let (k, q) = (lanes.splat(*k), lanes.splat(*q));
                for t in 0..T {
                    let x = lanes.fma(k, change[t], lanes.mul(kept, lanes.load(&line[t])));
                    lanes.store(x, &mut line[t]);
                    read[t] = lanes.fma(x, q, read[t]);
                }
            }
            let result = result[at..at + T * LANES].as_chunks_mut::<LANES>().0;
            for t in 0..T {
                lanes.store(read[t], &mut result[t]);
            }
        }
    }
}
