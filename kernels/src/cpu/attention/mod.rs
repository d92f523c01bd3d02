//! Causal attention over the paged cache, for decode and prefill chunks alike: scores, softmax and
//! the sum of values in one pass over the keys, all in f32.
//!
//! A task is one key head with some of its query heads, for some neighbouring tokens of a sequence.
//! Keys are taken in spans of 128 that begin at multiples of 128 positions: after each span,
//! running maximum, sum and output are rescaled. Spans depend on positions alone, so a row's result
//! depends neither on how its prompt was cut into chunks nor on where its blocks lie. Long contexts
//! are cut into parts, also by positions alone; each part has its own softmax, and parts are merged
//! in order. If there are few tasks, as for one token of one sequence, each part is a task of its
//! own. A value that a row doesn't see is never multiplied, not even by zero: its slot may hold NaN
//! or infinity.

mod partial;
mod products;
mod running_softmax;
mod softmax;
#[cfg(test)]
mod tests;
mod tile;

use std::ops::Range;
use std::sync::OnceLock;

use ops::{AttentionSpec, QkvShape};

use super::Cpu;
use super::kv::KvLayer;
use super::output::Output;
use partial::Partial;
use tile::TileOfHead;

/// Number of keys between two rescalings.
const SPAN: usize = 128;
/// Number of keys in a part, a multiple of [`SPAN`].
const PART: usize = 2048;
/// Number of tasks per thread from which on threads end at about the same time.
const ENOUGH_TASKS: usize = 4;
/// Number of query rows (tokens × heads of a group) that a task aims at.
const TASK_ROWS: usize = 32;
/// Maximum number of query heads in a task.
const TASK_HEADS: usize = 8;

/// Parameters of a layer's attention, and where its queries are.
#[derive(Debug, Clone, Copy)]
pub struct AttentionParams<'a> {
    /// What the layer's attention is.
    pub spec: AttentionSpec<&'a [f32]>,
    /// Stride of the rows of queries, in elements.
    pub query_stride: usize,
    /// Width of a head's result, and number of a value's first elements that are used.
    pub value_dim: usize,
}

/// Rows of one sequence in a batch.
#[derive(Debug, Clone, Copy)]
pub struct SequenceRows<'a> {
    /// Index of the sequence's first row.
    pub first_row: usize,
    /// Number of the sequence's rows, for consecutive positions up to `context - 1`.
    pub rows: usize,
    /// Number of tokens in the cache, those of this step included.
    pub context: usize,
    /// Blocks of the sequence in order, enough for `context` tokens.
    pub blocks: &'a [u32],
}

impl<'a> AttentionParams<'a> {
    /// Makes parameters for queries that are in rows of a qkv projection.
    pub const fn of_qkv(spec: AttentionSpec<&'a [f32]>) -> Self {
        Self { spec, query_stride: spec.shape.width(), value_dim: spec.shape.head_dim }
    }
}

/// Computes attention of the queries at the beginning of each row of `queries`
/// `[rows, params.query_stride]` to the cached keys of their sequences, within the window of
/// `params`; `out` is `[rows, heads * value_dim]`.
///
/// # Panics
/// If the sizes don't fit each other or a block is not in the cache.
pub fn attention(
    cpu: &Cpu,
    params: AttentionParams<'_>,
    queries: &[f32],
    sequences: &[SequenceRows<'_>],
    cache: &KvLayer,
    out: &mut [f32],
) {
    let AttentionParams { spec: AttentionSpec { shape, sinks, .. }, query_stride, value_dim } = params;
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
    assert!(sinks.is_none_or(|sinks| sinks.len() == shape.heads), "a sink for each head");
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
    cpu.parallel_for(tasks, cost, |task| {
        let tile = of_head(task);
        tile.finish(tile.attend(cpu, tile.parts()), &out);
    });
}

/// Computes attention with each part of a tile as a task of its own.
fn in_parts(cpu: &Cpu, cost: usize, tiles: &[TileOfHead<'_>], out: &Output<'_, f32>) {
    let parts_of = |(i, tile): (usize, &TileOfHead<'_>)| tile.parts().map(move |part| (i, part));
    let parts: Vec<(usize, usize)> = tiles.iter().enumerate().flat_map(parts_of).collect();
    let partials: Vec<OnceLock<Partial>> = parts.iter().map(|_| OnceLock::new()).collect();
    cpu.parallel_for(parts.len(), cost, |i| {
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

/// Returns each key head with query heads of its group, at most [`TASK_HEADS`] at a time.
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
    sequence: SequenceRows<'a>,
    first_row: usize,
    rows: usize,
    /// Position of the first token.
    position: usize,
}

fn tiles<'a>(heads: usize, sequences: &[SequenceRows<'a>]) -> Vec<Tile<'a>> {
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
