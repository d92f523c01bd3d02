//! Causal attention over the paged cache, for decode and prefill chunks alike: scores, softmax and the sum of values in one
//! pass over the keys, all in f32.
//!
//! A task is one key head, with some of its query heads, of some neighbouring tokens of a sequence. Keys come in spans of
//! 128 that begin at multiples of 128 positions: after each, running maximum, sum and output are rescaled. Spans depend on
//! positions alone, so a row's result depends neither on how its prompt was cut into chunks nor on where its blocks lie.
//! Long contexts are cut into parts, at positions alone too; each has its own softmax, and they are merged in order. Where there are
//! few tasks, as for one sequence of which one token is computed, parts are tasks of their own.
//! A value that a row doesn't see is never multiplied, not even by zero: its slot may hold what isn't finite.

mod partial;
mod products;
mod softmax;
#[cfg(test)]
mod tests;
mod tile;

use std::ops::Range;
use std::sync::OnceLock;

use super::Cpu;
use super::kv::KvLayer;
use super::output::Output;
use super::rope::QkvShape;
use partial::Partial;
use tile::TileOfHead;

/// Keys between two rescalings.
const SPAN: usize = 128;
/// Keys of a part, a multiple of [`SPAN`].
const PART: usize = 2048;
/// Tasks of a thread with which threads end together.
const ENOUGH_TASKS: usize = 4;
/// Query rows (tokens × heads of a group) that a task aims at.
const TASK_ROWS: usize = 32;
/// The most query heads of a task.
const TASK_HEADS: usize = 8;

/// How a layer attends.
#[derive(Debug, Clone, Copy)]
pub struct AttentionParams<'a> {
    /// Heads of queries, and of the cache.
    pub shape: QkvShape,
    /// From one row of queries to the next.
    pub query_stride: usize,
    /// Width of a head's result: that much of a value is used.
    pub value_dim: usize,
    /// Factor of scores.
    pub scale: f32,
    /// Positions that a row sees, its own among them (at least one); none: all up to its own.
    pub window: Option<usize>,
    /// `[heads]`: one more score for each query head, of a key without value.
    pub sinks: Option<&'a [f32]>,
}

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

impl AttentionParams<'_> {
    /// Of queries in rows of a qkv projection.
    pub fn of_qkv(shape: QkvShape, scale: f32) -> Self {
        let (query_stride, value_dim) = (shape.width(), shape.head_dim);
        Self { shape, query_stride, value_dim, scale, window: None, sinks: None }
    }
}

/// Attention of the queries that each row of `queries` `[rows, params.query_stride]` begins with to the cached keys of their sequences,
/// as far as `params` lets them see; `out` is `[rows, heads * value_dim]`.
///
/// # Panics
/// Where the sizes don't fit each other or a block is not in the cache.
pub fn attention(
    cpu: &Cpu,
    params: AttentionParams<'_>,
    queries: &[f32],
    sequences: &[Sequence<'_>],
    cache: &KvLayer,
    out: &mut [f32],
) {
    let AttentionParams { shape, query_stride, value_dim, .. } = params;
    let rows = queries.len() / query_stride;
    assert_eq!(out.len(), rows * shape.heads * value_dim, "rows of attention");
    assert!(
        value_dim <= shape.head_dim && shape.heads * shape.head_dim <= query_stride,
        "widths of attention"
    );
    assert!(
        shape.kv_heads == cache.shape.kv_heads && shape.head_dim == cache.shape.head_dim,
        "heads of the cache"
    );
    assert!(params.sinks.is_none_or(|sinks| sinks.len() == shape.heads), "a sink for each head");
    let heads = head_ranges(shape);
    let tiles = tiles(heads[0].1.len(), sequences);
    let cost: usize =
        tiles.iter().map(|t| t.rows * t.sequence.context * shape.heads * shape.head_dim * 2).sum();
    let out = Output::new(out);
    let of_head = |task: usize| {
        let (tile, (head, of_queries)) = (tiles[task / heads.len()], heads[task % heads.len()].clone());
        TileOfHead { params, queries, tile, head, of_queries, cache }
    };
    let tasks = tiles.len() * heads.len();
    if tasks < cpu.threads() * ENOUGH_TASKS {
        return in_parts(cpu, cost, &(0..tasks).map(of_head).collect::<Vec<_>>(), &out);
    }
    cpu.share(tasks, cost, |task| {
        let tile = of_head(task);
        tile.finish(tile.attend(cpu, tile.parts()), &out);
    });
}

/// The same with each part a task.
fn in_parts(cpu: &Cpu, cost: usize, tiles: &[TileOfHead<'_>], out: &Output<'_, f32>) {
    let parts_of = |(i, tile): (usize, &TileOfHead<'_>)| tile.parts().map(move |part| (i, part));
    let parts: Vec<(usize, usize)> = tiles.iter().enumerate().flat_map(parts_of).collect();
    let partials: Vec<OnceLock<Partial>> = parts.iter().map(|_| OnceLock::new()).collect();
    cpu.share(parts.len(), cost, |i| {
        let (tile, part) = parts[i];
        let partial = tiles[tile].attend(cpu, part..part + 1);
        partial.and_then(|partial| partials[i].set(partial).ok()).expect("a part has keys, and one task");
    });
    let mut of_tiles: Vec<Option<Partial>> = tiles.iter().map(|_| None).collect();
    for ((tile, _), partial) in parts.iter().zip(partials) {
        partial.into_inner().into_iter().for_each(|partial| Partial::append(&mut of_tiles[*tile], partial));
    }
    for (tile, partial) in tiles.iter().zip(of_tiles) {
        tile.finish(partial, out);
    }
}

/// Each key head with query heads of its group, at most [`TASK_HEADS`] at a time.
fn head_ranges(shape: QkvShape) -> Vec<(usize, Range<usize>)> {
    let group = shape.group();
    let parts = |head: usize| {
        let firsts = (head * group..(head + 1) * group).step_by(TASK_HEADS);
        firsts.map(move |first| (head, first..(first + TASK_HEADS).min((head + 1) * group)))
    };
    (0..shape.kv_heads).flat_map(parts).collect()
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

fn tiles<'a>(heads: usize, sequences: &[Sequence<'a>]) -> Vec<Tile<'a>> {
    let height = (TASK_ROWS / heads).max(1);
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

/// What it means, in f64, for one query `[d]`, the keys and values `[n, d]` that it sees, and its head's sink.
pub fn attention_reference(
    query: &[f32],
    keys: &[f32],
    values: &[f32],
    scale: f32,
    sink: Option<f32>,
) -> Vec<f64> {
    let d = query.len();
    let dot =
        |key: &[f32]| -> f64 { query.iter().zip(key).map(|(q, k)| f64::from(*q) * f64::from(*k)).sum() };
    let scores: Vec<f64> = keys.chunks_exact(d).map(|key| dot(key) * f64::from(scale)).collect();
    let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|s| (s - greatest).exp()).collect();
    let total: f64 =
        weights.iter().sum::<f64>() + sink.map_or(0.0, |sink| (f64::from(sink) - greatest).exp());
    let value = |i: usize| -> f64 {
        weights.iter().zip(values.chunks_exact(d)).map(|(w, v)| w * f64::from(v[i])).sum()
    };
    (0..d).map(|i| value(i) / total).collect()
}
