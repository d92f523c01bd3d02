//! Causal attention over the paged cache, for decode and prefill chunks alike: scores, softmax and the sum of values in one
//! pass over the keys, all in f32.
//!
//! A task is one key head, with its group of query heads, of some neighbouring tokens of a sequence. Keys come in spans of
//! 128 that begin at multiples of 128 positions: after each, running maximum, sum and output are rescaled. Spans depend on
//! positions alone, so a row's result depends neither on how its prompt was cut into chunks nor on where its blocks lie.
//! A value that a row doesn't see is never multiplied, not even by zero: its slot may hold what isn't finite.

use std::ops::Range;

use super::Cpu;
use super::isa::Kernel;
use super::kv::{BLOCK_SIZE, KvLayer};
use super::lanes::{LANES, Lanes};
use super::linear::dot_tile;
use super::output::Output;
use super::rope::QkvShape;

/// Keys between two rescalings.
const SPAN: usize = 128;
/// Query rows (tokens × heads of a group) that a task aims at.
const TASK_ROWS: usize = 32;

/// One sequence's rows of a batch.
#[derive(Debug, Clone, Copy)]
pub struct Sequence<'a> {
    /// Its first row.
    pub first_row: usize,
    /// Its number of rows, for consecutive positions up to `context - 1`.
    pub rows: usize,
    /// Tokens that are in the cache, those of this step among them.
    pub context: usize,
    /// Its blocks in order, at least `context` tokens' worth.
    pub blocks: &'a [u32],
}

/// Attention of the queries in `qkv` `[rows, shape.width()]` to the cached keys of their sequences up to their own position;
/// `out` is `[rows, heads * head_dim]`.
///
/// # Panics
/// Where the sizes don't fit each other or a block is not in the cache.
pub fn attention(
    cpu: &Cpu,
    shape: QkvShape,
    qkv: &[f32],
    sequences: &[Sequence<'_>],
    cache: &KvLayer,
    out: &mut [f32],
) {
    let rows = qkv.len() / shape.width();
    assert_eq!(out.len(), rows * shape.heads * shape.head_dim, "rows of attention");
    assert!(
        shape.kv_heads == cache.shape.kv_heads && shape.head_dim == cache.shape.head_dim,
        "heads of the cache"
    );
    let tiles = tiles(shape, sequences);
    let cost: usize =
        tiles.iter().map(|t| t.rows * t.sequence.context * shape.heads * shape.head_dim * 2).sum();
    let out = Output::new(out);
    cpu.share(tiles.len() * shape.kv_heads, cost, |task| {
        let (tile, head) = (tiles[task / shape.kv_heads], task % shape.kv_heads);
        cpu.isa().run(TileOfHead { shape, qkv, tile, head, cache, out: &out });
    });
}

/// Some neighbouring tokens of a sequence.
#[derive(Debug, Clone, Copy)]
struct Tile<'a> {
    sequence: Sequence<'a>,
    first_row: usize,
    rows: usize,
    /// Position of the first of them.
    position: usize,
}

fn tiles<'a>(shape: QkvShape, sequences: &[Sequence<'a>]) -> Vec<Tile<'a>> {
    let height = (TASK_ROWS / shape.group()).max(1);
    let mut tiles = Vec::new();
    for sequence in sequences {
        for first in (0..sequence.rows).step_by(height) {
            tiles.push(Tile {
                sequence: *sequence,
                first_row: sequence.first_row + first,
                rows: height.min(sequence.rows - first),
                position: sequence.context - sequence.rows + first,
            });
        }
    }
    tiles
}

struct TileOfHead<'a> {
    shape: QkvShape,
    qkv: &'a [f32],
    tile: Tile<'a>,
    head: usize,
    cache: &'a KvLayer,
    out: &'a Output<'a, f32>,
}

/// Running softmax of `rows` query rows: row `i` is head `i % group` of token `i / group`.
struct Running {
    /// `[rows, stride]`, scaled by `1 / sqrt(head_dim)`.
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
    fn run<L: Lanes>(self, lanes: L) {
        let mut running = self.start();
        let end = self.tile.position + self.tile.rows;
        for start in (0..end).step_by(SPAN) {
            let keys = SPAN.min(end - start);
            self.scores(lanes, &mut running, start, keys);
            self.softmax(lanes, &mut running, start, keys);
            self.values(lanes, &mut running, start, keys);
        }
        self.finish(&running);
    }
}

impl TileOfHead<'_> {
    fn start(&self) -> Running {
        let (group, d, stride) = (self.shape.group(), self.shape.head_dim, self.cache.shape.stride());
        let rows = self.tile.rows * group;
        let scale = 1.0 / (d as f32).sqrt();
        let mut queries = vec![0.0; rows * stride];
        for (i, to) in queries.chunks_exact_mut(stride).enumerate() {
            let row = self.tile.first_row + i / group;
            let from = &self.qkv[row * self.shape.width() + (self.head * group + i % group) * d..][..d];
            to.iter_mut().zip(from).for_each(|(to, x)| *to = x * scale);
        }
        let state = vec![(f32::NEG_INFINITY, 0.0); rows];
        Running { queries, weights: vec![0.0; rows * SPAN], sums: vec![0.0; rows * stride], state }
    }

    /// Where the blocks that hold `keys` keys from position `start` on begin in the cache.
    fn blocks(&self, start: usize, keys: usize) -> impl Iterator<Item = usize> {
        let first = start / BLOCK_SIZE;
        let blocks = &self.tile.sequence.blocks[first..first + keys.div_ceil(BLOCK_SIZE)];
        blocks.iter().map(|block| self.cache.shape.block_at(*block as usize, self.head))
    }

    #[inline(always)]
    fn scores<L: Lanes>(&self, lanes: L, running: &mut Running, start: usize, keys: usize) {
        let stride = self.cache.shape.stride();
        let rows = running.state.len();
        for (i, at) in self.blocks(start, keys).enumerate() {
            let block = &self.cache.keys[at..at + BLOCK_SIZE * stride];
            let mut row = 0;
            while row + 4 <= rows {
                scores_of::<L, 4>(lanes, running, row, i, block, stride);
                row += 4;
            }
            while row < rows {
                scores_of::<L, 1>(lanes, running, row, i, block, stride);
                row += 1;
            }
        }
    }

    #[inline(always)]
    fn softmax<L: Lanes>(&self, lanes: L, running: &mut Running, start: usize, keys: usize) {
        let stride = self.cache.shape.stride();
        let padded = keys.next_multiple_of(BLOCK_SIZE);
        for (i, (greatest, total)) in running.state.iter_mut().enumerate() {
            let weights = &mut running.weights[i * SPAN..][..padded];
            let visible = self.visible(i).saturating_sub(start).min(keys);
            weights[visible..].fill(f32::NEG_INFINITY);
            if visible == 0 {
                weights.fill(0.0);
                continue;
            }
            let new = maximum(lanes, weights).max(*greatest);
            let fade = exp(lanes, *greatest - new);
            *total = *total * fade + exponentials(lanes, weights, visible, new);
            *greatest = new;
            scale(lanes, &mut running.sums[i * stride..][..stride], fade);
        }
    }

    #[inline(always)]
    fn values<L: Lanes>(&self, lanes: L, running: &mut Running, start: usize, keys: usize) {
        let stride = self.cache.shape.stride();
        let rows = running.state.len();
        for (i, at) in self.blocks(start, keys).enumerate() {
            let block = &self.cache.values[at..at + BLOCK_SIZE * stride];
            let mut row = 0;
            while row + 4 <= rows {
                self.values_of::<L, 4>(lanes, running, row, (start, i), block);
                row += 4;
            }
            while row < rows {
                self.values_of::<L, 1>(lanes, running, row, (start, i), block);
                row += 1;
            }
        }
    }

    /// Adds the weighted values of block `i` of the span from `start` on to `M` rows, those that a row sees only: what lies behind
    /// them was another sequence's, and may not be finite.
    #[inline(always)]
    fn values_of<L: Lanes, const M: usize>(
        &self,
        lanes: L,
        running: &mut Running,
        row: usize,
        (start, i): (usize, usize),
        block: &[f32],
    ) {
        let stride = self.cache.shape.stride();
        let seen = |row: usize| self.visible(row).saturating_sub(start + i * BLOCK_SIZE).min(BLOCK_SIZE);
        // Later rows see as much or more.
        let (all, most) = (seen(row), seen(row + M - 1));
        add_values::<L, M>(lanes, running, row, (i, 0..all), block, stride);
        if all < most {
            for row in row + 1..row + M {
                add_values::<L, 1>(lanes, running, row, (i, all..seen(row)), block, stride);
            }
        }
    }

    /// Keys that a query row sees: those up to its own position.
    fn visible(&self, row: usize) -> usize {
        self.tile.position + row / self.shape.group() + 1
    }

    fn finish(&self, running: &Running) {
        let (group, d, stride) = (self.shape.group(), self.shape.head_dim, self.cache.shape.stride());
        for (i, (_, total)) in running.state.iter().enumerate() {
            let row = self.tile.first_row + i / group;
            let at = (row * self.shape.heads + self.head * group + i % group) * d;
            #[expect(unsafe_code, reason = "each task its rows and heads")]
            // SAFETY: tasks differ in their rows or in their heads, and a task has one part alive at a time.
            let out = unsafe { self.out.part(at, d) };
            out.iter_mut().zip(&running.sums[i * stride..]).for_each(|(out, sum)| *out = sum / total);
        }
    }
}

/// Scores of `M` rows with the sixteen keys of block `i` of the span.
#[inline(always)]
fn scores_of<L: Lanes, const M: usize>(
    lanes: L,
    running: &mut Running,
    row: usize,
    i: usize,
    keys: &[f32],
    stride: usize,
) {
    for key in (0..BLOCK_SIZE).step_by(4) {
        let queries = &running.queries[row * stride..];
        let scores = dot_tile::<L, f32, M, 4>(lanes, queries, &keys[key * stride..], stride);
        for (m, scores) in scores.iter().enumerate() {
            running.weights[(row + m) * SPAN + i * BLOCK_SIZE + key..][..4].copy_from_slice(scores);
        }
    }
}

/// Adds the weighted values of some keys of block `i` of the span to `M` rows, key after key.
#[inline(always)]
fn add_values<L: Lanes, const M: usize>(
    lanes: L,
    running: &mut Running,
    row: usize,
    (i, keys): (usize, Range<usize>),
    values: &[f32],
    stride: usize,
) {
    let values = &values[keys.start * stride..keys.end * stride];
    let first = i * BLOCK_SIZE + keys.start;
    let mut dim = 0;
    while dim + 4 * LANES <= stride {
        values_tile::<L, M, 4>(lanes, running, row, first, values, (dim, stride));
        dim += 4 * LANES;
    }
    while dim < stride {
        values_tile::<L, M, 1>(lanes, running, row, first, values, (dim, stride));
        dim += LANES;
    }
}

/// `values`: those of the span's keys from `first` on.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "m and d index several arrays of registers")]
fn values_tile<L: Lanes, const M: usize, const D: usize>(
    lanes: L,
    running: &mut Running,
    row: usize,
    first: usize,
    values: &[f32],
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
            loaded[d] = lanes.load(&value[d]);
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

#[inline(always)]
fn maximum<L: Lanes>(lanes: L, scores: &[f32]) -> f32 {
    let mut greatest = lanes.splat(f32::NEG_INFINITY);
    for chunk in scores.as_chunks::<LANES>().0 {
        greatest = lanes.max(greatest, lanes.load(chunk));
    }
    let mut all = [0.0; LANES];
    lanes.store(greatest, &mut all);
    all.into_iter().fold(f32::NEG_INFINITY, f32::max)
}

/// Replaces the first `visible` scores by `exp(score - greatest)`, the others by zero; returns their sum.
#[inline(always)]
fn exponentials<L: Lanes>(lanes: L, scores: &mut [f32], visible: usize, greatest: f32) -> f32 {
    let greatest = lanes.splat(greatest);
    for chunk in scores.as_chunks_mut::<LANES>().0 {
        let weight = lanes.exp(lanes.sub(lanes.load(chunk), greatest));
        lanes.store(weight, chunk);
    }
    scores[visible..].fill(0.0);
    let mut total = lanes.splat(0.0);
    for chunk in scores.as_chunks::<LANES>().0 {
        total = lanes.add(total, lanes.load(chunk));
    }
    lanes.sum(total)
}

#[inline(always)]
fn scale<L: Lanes>(lanes: L, row: &mut [f32], by: f32) {
    for chunk in row.as_chunks_mut::<LANES>().0 {
        let scaled = lanes.mul(lanes.load(chunk), lanes.splat(by));
        lanes.store(scaled, chunk);
    }
}

#[inline(always)]
fn exp<L: Lanes>(lanes: L, x: f32) -> f32 {
    let mut all = [0.0; LANES];
    lanes.store(lanes.exp(lanes.splat(x)), &mut all);
    all[0]
}

/// What it means, in f64, for one query `[d]` and the keys and values `[n, d]` that it sees.
pub fn attention_reference(query: &[f32], keys: &[f32], values: &[f32]) -> Vec<f64> {
    let d = query.len();
    let dot =
        |key: &[f32]| -> f64 { query.iter().zip(key).map(|(q, k)| f64::from(*q) * f64::from(*k)).sum() };
    let scores: Vec<f64> = keys.chunks_exact(d).map(|key| dot(key) / (d as f64).sqrt()).collect();
    let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|s| (s - greatest).exp()).collect();
    let total: f64 = weights.iter().sum();
    let value = |i: usize| -> f64 {
        weights.iter().zip(values.chunks_exact(d)).map(|(w, v)| w * f64::from(v[i])).sum()
    };
    (0..d).map(|i| value(i) / total).collect()
}
