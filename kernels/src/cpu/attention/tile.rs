//! The tile kernel: one key head, with some query heads of its group, of some neighbouring tokens.

use std::ops::Range;

use super::softmax::{exp, exponentials, maximum, scale};
use super::{AttentionParams, SPAN, Tile};
use crate::cpu::isa::Kernel;
use crate::cpu::kv::{BLOCK_SIZE, KvData, KvLayer};
use crate::cpu::lanes::dots::Dots;
use crate::cpu::lanes::{Element, LANES, Lanes, Prefetch};
use crate::cpu::linear::dot_tile;
use crate::cpu::output::Output;

/// One key head's part of a tile.
pub(super) struct TileOfHead<'a> {
    pub(super) params: AttentionParams<'a>,
    pub(super) queries: &'a [f32],
    pub(super) tile: Tile<'a>,
    /// The key head.
    pub(super) head: usize,
    /// Its query heads.
    pub(super) of_queries: Range<usize>,
    pub(super) cache: &'a KvLayer,
    pub(super) out: &'a Output<'a, f32>,
}

/// The same, with the cache's keys and values in their type.
struct TypedTile<'a, W> {
    tile: &'a TileOfHead<'a>,
    keys: &'a [W],
    values: &'a [W],
}

/// Running softmax of `rows` query rows: row `i` is head `i % heads` of token `i / heads`.
struct RunningSoftmax {
    /// `[rows, stride]`, scaled.
    queries: Vec<f32>,
    /// `[rows, SPAN]`: scores, then weights.
    weights: Vec<f32>,
    /// `[rows, stride]`.
    sums: Vec<f32>,
    /// `[rows]`: greatest score, and the sum of weights relative to it.
    state: Vec<(f32, f32)>,
}

impl Kernel for TileOfHead<'_> {
    #[inline(always)]
    fn run<L: Dots>(self, lanes: L) {
        match (&self.cache.keys, self.cache.value_rows()) {
            (KvData::F16(keys), KvData::F16(values)) => TypedTile { tile: &self, keys, values }.run(lanes),
            (KvData::F32(keys), KvData::F32(values)) => TypedTile { tile: &self, keys, values }.run(lanes),
            _ => unreachable!("a layer is of one type"),
        }
    }
}

impl<W: Element> TypedTile<'_, W> {
    #[inline(always)]
    fn run<L: Lanes>(&self, lanes: L) {
        let Self { tile, .. } = self;
        let mut running = tile.start();
        let end = tile.tile.position + tile.tile.rows;
        // Spans before the window of the first row are nobody's.
        let first = tile.visible(0).start / SPAN * SPAN;
        for start in (first..end).step_by(SPAN) {
            let keys = SPAN.min(end - start);
            self.scores(lanes, &mut running, start, keys);
            tile.softmax(lanes, &mut running, start, keys);
            self.values(lanes, &mut running, start, keys);
        }
        tile.finish(&running);
    }

    #[inline(always)]
    fn scores<L: Lanes>(&self, lanes: L, running: &mut RunningSoftmax, start: usize, keys: usize) {
        let stride = self.tile.cache.shape.stride();
        let rows = running.state.len();
        for (i, at) in self.tile.blocks(start, keys).enumerate() {
            let block = &self.keys[at..at + BLOCK_SIZE * stride];
            let mut row = 0;
            while row + 4 <= rows {
                scores_of::<L, W, 4>(lanes, running, row, i, block, stride);
                row += 4;
            }
            while row + 2 <= rows {
                scores_of::<L, W, 2>(lanes, running, row, i, block, stride);
                row += 2;
            }
            if row < rows {
                scores_of::<L, W, 1>(lanes, running, row, i, block, stride);
            }
        }
    }

    #[inline(always)]
    fn values<L: Lanes>(&self, lanes: L, running: &mut RunningSoftmax, start: usize, keys: usize) {
        let stride = self.tile.cache.shape.stride();
        let rows = running.state.len();
        for (i, at) in self.tile.blocks(start, keys).enumerate() {
            let block = &self.values[at..at + BLOCK_SIZE * stride];
            let mut row = 0;
            while row + 4 <= rows {
                self.values_of::<L, 4>(lanes, running, row, (start, i), block);
                row += 4;
            }
            while row + 2 <= rows {
                self.values_of::<L, 2>(lanes, running, row, (start, i), block);
                row += 2;
            }
            if row < rows {
                self.values_of::<L, 1>(lanes, running, row, (start, i), block);
            }
        }
    }

    /// Adds the weighted values of block `i` of the span from `start` on to `M` rows, those that a row sees only: what lies behind
    /// them was another sequence's, and may not be finite.
    #[inline(always)]
    fn values_of<L: Lanes, const M: usize>(
        &self,
        lanes: L,
        running: &mut RunningSoftmax,
        row: usize,
        (start, i): (usize, usize),
        block: &[W],
    ) {
        let tile = self.tile;
        let widths = (tile.params.value_dim, tile.cache.shape.stride());
        let seen = |row: usize| within(tile.visible(row), start + i * BLOCK_SIZE, BLOCK_SIZE);
        // Later rows begin and end later: this is what all of them see.
        let all = seen(row + M - 1).start..seen(row).end;
        if all == seen(row) && all == seen(row + M - 1) {
            return add_values::<L, W, M>(lanes, running, row, (i, all), block, widths);
        }
        for row in row..row + M {
            add_values::<L, W, 1>(lanes, running, row, (i, seen(row)), block, widths);
        }
    }
}

impl TileOfHead<'_> {
    fn start(&self) -> RunningSoftmax {
        let (heads, d, stride) =
            (self.of_queries.len(), self.params.shape.head_dim, self.cache.shape.stride());
        let rows = self.tile.rows * heads;
        let scale = self.params.scale;
        let mut queries = vec![0.0; rows * stride];
        for (i, to) in queries.chunks_exact_mut(stride).enumerate() {
            let row = self.tile.first_row + i / heads;
            let from = &self.queries
                [row * self.params.query_stride + (self.of_queries.start + i % heads) * d..][..d];
            to.iter_mut().zip(from).for_each(|(to, x)| *to = x * scale);
        }
        let state = vec![(f32::NEG_INFINITY, 0.0); rows];
        RunningSoftmax { queries, weights: vec![0.0; rows * SPAN], sums: vec![0.0; rows * stride], state }
    }

    /// Where the blocks that hold `keys` keys from position `start` on begin in the cache.
    fn blocks(&self, start: usize, keys: usize) -> impl Iterator<Item = usize> {
        let first = start / BLOCK_SIZE;
        let blocks = &self.tile.sequence.blocks[first..first + keys.div_ceil(BLOCK_SIZE)];
        blocks.iter().map(|block| self.cache.shape.block_at(*block as usize, self.head))
    }

    #[inline(always)]
    fn softmax<L: Lanes>(&self, lanes: L, running: &mut RunningSoftmax, start: usize, keys: usize) {
        let stride = self.cache.shape.stride();
        let padded = keys.next_multiple_of(BLOCK_SIZE);
        for (i, (greatest, total)) in running.state.iter_mut().enumerate() {
            let weights = &mut running.weights[i * SPAN..][..padded];
            let visible = within(self.visible(i), start, keys);
            if visible.is_empty() {
                weights.fill(0.0);
                continue;
            }
            weights[visible.end..].fill(f32::NEG_INFINITY);
            weights[..visible.start].fill(f32::NEG_INFINITY);
            let new = maximum(lanes, weights).max(*greatest);
            let fade = exp(lanes, *greatest - new);
            *total = *total * fade + exponentials(lanes, weights, visible, new);
            *greatest = new;
            scale(lanes, &mut running.sums[i * stride..][..stride], fade);
        }
    }

    /// Positions that a query row sees: those up to its own, as far as the window goes back.
    fn visible(&self, row: usize) -> Range<usize> {
        let end = self.tile.position + row / self.of_queries.len() + 1;
        self.params.window.map_or(0, |window| end.saturating_sub(window.max(1)))..end
    }

    fn finish(&self, running: &RunningSoftmax) {
        let (heads, d, stride) = (self.of_queries.len(), self.params.value_dim, self.cache.shape.stride());
        for (i, (greatest, total)) in running.state.iter().enumerate() {
            let row = self.tile.first_row + i / heads;
            let head = self.of_queries.start + i % heads;
            let at = (row * self.params.shape.heads + head) * d;
            #[expect(unsafe_code, reason = "each task its rows and heads")]
            // SAFETY: tasks differ in their rows or in their heads, and a task has one part alive at a time.
            let out = unsafe { self.out.part(at, d) };
            let sums = &running.sums[i * stride..];
            match self.params.sinks {
                None => out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum / total),
                Some(sinks) => {
                    let sink = sinks[head];
                    // Relative to the greater of the two, so that neither overflows.
                    let most = greatest.max(sink);
                    let (fade, weight) = ((greatest - most).exp(), (sink - most).exp());
                    let total = total * fade + weight;
                    out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum * fade / total);
                }
            }
        }
    }
}

/// The part of `visible` within the `count` positions from `start` on, counted from there.
fn within(visible: Range<usize>, start: usize, count: usize) -> Range<usize> {
    let at = |position: usize| position.saturating_sub(start).min(count);
    at(visible.start)..at(visible.end)
}

/// Scores of `M` rows with the sixteen keys of block `i` of the span.
#[inline(always)]
fn scores_of<L: Lanes, W: Element, const M: usize>(
    lanes: L,
    running: &mut RunningSoftmax,
    row: usize,
    i: usize,
    keys: &[W],
    stride: usize,
) {
    for key in (0..BLOCK_SIZE).step_by(4) {
        let queries = &running.queries[row * stride..];
        let scores = dot_tile::<L, W, M, 4>(lanes, queries, &keys[key * stride..], stride, Prefetch::none());
        for (m, scores) in scores.iter().enumerate() {
            running.weights[(row + m) * SPAN + i * BLOCK_SIZE + key..][..4].copy_from_slice(scores);
        }
    }
}

/// Adds the weighted values of some keys of block `i` of the span to `M` rows, key after key.
#[inline(always)]
fn add_values<L: Lanes, W: Element, const M: usize>(
    lanes: L,
    running: &mut RunningSoftmax,
    row: usize,
    (i, keys): (usize, Range<usize>),
    values: &[W],
    (width, stride): (usize, usize),
) {
    let values = &values[keys.start * stride..keys.end * stride];
    let first = i * BLOCK_SIZE + keys.start;
    let mut dim = 0;
    // Beyond the width, whole vectors are added that nobody reads.
    while dim + 4 * LANES <= width {
        values_tile::<L, W, M, 4>(lanes, running, row, first, values, (dim, stride));
        dim += 4 * LANES;
    }
    while dim < width {
        values_tile::<L, W, M, 1>(lanes, running, row, first, values, (dim, stride));
        dim += LANES;
    }
}

/// `values`: those of the span's keys from `first` on.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "m and d index several arrays of registers")]
fn values_tile<L: Lanes, W: Element, const M: usize, const D: usize>(
    lanes: L,
    running: &mut RunningSoftmax,
    row: usize,
    first: usize,
    values: &[W],
    (dim, stride): (usize, usize),
) {
    let mut sums = [[lanes.splat(0.0); D]; M];
    for m in 0..M {
        let from = running.sums[(row + m) * stride + dim..].as_chunks::<LANES>().0;
        for d in 0..D {
            sums[m][d] = lanes.load(&from[d]);
        }
    }
    for (j, value) in values.chunks_exact(stride).enumerate() {
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
        let to = running.sums[(row + m) * stride + dim..].as_chunks_mut::<LANES>().0;
        for d in 0..D {
            lanes.store(sums[m][d], &mut to[d]);
        }
    }
}
