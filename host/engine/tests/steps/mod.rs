//! Sequences and batches for tests that drive a runner without a scheduler.
#![expect(clippy::cast_possible_truncation, reason = "counts of a few hundred")]
#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use engine::batch::{Batch, TableEdit};
use engine::cpu::CpuRunner;
use engine::runner::{RunError, Runner};

pub(crate) const BLOCK: usize = 16;

/// A sequence in the cache: its tokens, how many of them have been run, and its blocks.
#[derive(Debug, Clone)]
pub(crate) struct Sequence {
    pub(crate) tokens: Vec<u32>,
    pub(crate) done: usize,
    pub(crate) lane: u32,
    pub(crate) blocks: Vec<u32>,
}

impl Sequence {
    /// A sequence whose blocks are `first`, `first + stride` and so on, and whose lane is `first`.
    pub(crate) fn new(tokens: &[u32], first: u32, stride: u32) -> Self {
        let blocks = (0..32).map(|i| first + i * stride).collect();
        Self { tokens: tokens.to_vec(), done: 0, lane: first, blocks }
    }
}

/// Batch of the next `counts[i]` tokens of each sequence, with the logits of each sequence's last
/// token, or of all tokens.
pub(crate) fn batch(sequences: &[&Sequence], counts: &[usize], all_rows: bool) -> Batch {
    let mut batch = Batch { starts: vec![0], ..Batch::default() };
    for (sequence, count) in sequences.iter().zip(counts) {
        let end = sequence.done + count;
        for position in sequence.done..end {
            batch.tokens.push(sequence.tokens[position]);
            batch.positions.push(position as u32);
            batch.slots.push(sequence.blocks[position / BLOCK] * BLOCK as u32 + (position % BLOCK) as u32);
        }
        batch.starts.push(batch.tokens.len() as u32);
        batch.context_lens.push(end as u32);
        batch.lanes.push(sequence.lane);
        let edit =
            |(at, block): (usize, &u32)| TableEdit { lane: sequence.lane, at: at as u32, block: *block };
        batch.table_edits.extend(sequence.blocks.iter().enumerate().map(edit));
        batch.logit_rows.push(batch.tokens.len() as u32 - 1);
    }
    if all_rows {
        batch.logit_rows = (0..batch.tokens.len() as u32).collect();
    }
    batch
}

/// Runs one step and returns its logits.
pub(crate) fn run(runner: &mut CpuRunner, batch: &Batch) -> Result<Vec<f32>, RunError> {
    runner.forward(batch)?;
    Ok(runner.logits().to_vec())
}

/// Runs the next `count` tokens of one sequence and returns the logits of the last.
#[allow(dead_code, reason = "not every test goes on step by step")]
pub(crate) fn advance(runner: &mut CpuRunner, sequence: &mut Sequence, count: usize) -> Vec<f32> {
    let logits = run(runner, &batch(&[sequence], &[count], false)).unwrap();
    sequence.done += count;
    logits
}
