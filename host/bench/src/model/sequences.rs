//! Sequences of equal length that a benchmark runs together, each with its own KV blocks.
#![expect(
    clippy::cast_possible_truncation,
    reason = "rows, lanes and slots are u32 in a batch, whose check compares them"
)]

use std::time::{Duration, Instant};

use engine::LocalRunner;
use engine::SamplingParams;
use engine::batch::{Batch, StateEdit, TableEdit};
use engine::runner::{Draw, Draws, RunError, Runner, RunnerShape};

/// State of the benchmark's sequences.
pub(super) struct Sequences {
    count: usize,
    /// Number of tokens of each sequence that were run.
    done: usize,
    block_size: usize,
    /// Number of KV blocks of each sequence.
    blocks: usize,
    vocab: usize,
    batch_tokens: usize,
    /// Whether layers keep states of sequences. A prompt's state is saved in a snapshot, from which
    /// its sequence goes on after it was set back.
    has_states: bool,
    /// Whether the next step loads the snapshots.
    loads: bool,
    batch: Batch,
}

impl Sequences {
    /// Makes `count` sequences, which divide the cache equally.
    pub(super) fn new(shape: &RunnerShape, count: usize) -> Self {
        let RunnerShape { block_size, blocks, vocab, batch_tokens, .. } = *shape;
        Self {
            count,
            done: 0,
            block_size,
            blocks: blocks / count,
            vocab,
            batch_tokens,
            has_states: shape.states.is_some(),
            loads: false,
            batch: Batch::default(),
        }
    }

    /// Sets the length of every sequence back to `done` tokens; later ones are overwritten.
    pub(super) fn rewind(&mut self, done: usize) {
        self.done = done;
        self.loads = self.has_states && done > 0;
    }

    /// Runs the next `tokens` of each sequence, one sequence after the other, in the largest
    /// possible steps, and samples a token after each sequence. Returns the time of sampling.
    pub(super) fn prefill(&mut self, runner: &mut LocalRunner, tokens: usize) -> Result<Duration, RunError> {
        let end = self.done + tokens;
        let mut sampling = Duration::ZERO;
        for sequence in 0..self.count {
            let mut from = self.done;
            while from < end {
                let to = end.min(from + self.batch_tokens);
                self.batch.clear();
                self.push(sequence, from..to, to == end);
                if self.has_states && to == end {
                    let row = self.batch.tokens.len() as u32 - 1;
                    self.batch.state_edits.push(StateEdit::Save { row, snapshot: sequence as u32 });
                }
                sampling += step(runner, &self.batch)?;
                from = to;
            }
        }
        self.done = end;
        Ok(sampling)
    }

    /// Runs one token of each sequence in one step, and samples each sequence's next token. Returns
    /// the time of sampling.
    pub(super) fn decode(&mut self, runner: &mut LocalRunner) -> Result<Duration, RunError> {
        self.batch.clear();
        for sequence in 0..self.count {
            self.push(sequence, self.done..self.done + 1, true);
            if self.loads {
                let (lane, snapshot) = (sequence as u32, sequence as u32);
                self.batch.state_edits.push(StateEdit::Load { lane, snapshot });
            }
        }
        self.loads = false;
        self.done += 1;
        step(runner, &self.batch)
    }

    /// Adds tokens of one sequence. They are spread over the vocabulary and are not the sampled
    /// ones: with random weights those soon repeat themselves, and then all sequences use the same
    /// experts.
    fn push(&mut self, sequence: usize, positions: std::ops::Range<usize>, is_drawn: bool) {
        let (batch, first) = (&mut self.batch, sequence * self.blocks);
        for position in positions.clone() {
            let (at, offset) = (position / self.block_size, position % self.block_size);
            batch.tokens.push(((position * 7919 + sequence * 104_729) % self.vocab) as u32);
            batch.positions.push(position as u32);
            batch.slots.push(((first + at) * self.block_size + offset) as u32);
            if offset == 0 {
                let edit = TableEdit { lane: sequence as u32, at: at as u32, block: (first + at) as u32 };
                batch.table_edits.push(edit);
            }
        }
        batch.starts.push(batch.tokens.len() as u32);
        batch.context_lens.push(positions.end as u32);
        batch.lanes.push(sequence as u32);
        if is_drawn {
            batch.logit_rows.push(batch.tokens.len() as u32 - 1);
        }
    }
}

/// Runs one step and samples greedily. Returns the time of sampling.
fn step(runner: &mut LocalRunner, batch: &Batch) -> Result<Duration, RunError> {
    runner.forward(batch)?;
    let draw = |row: &u32| Draw {
        sampling: SamplingParams::GREEDY,
        position: batch.positions[*row as usize] as usize + 1,
        top_logprobs: None,
    };
    let rows: Vec<Draw> = batch.logit_rows.iter().map(draw).collect();
    let begin = Instant::now();
    runner.sample(&Draws { rows: &rows, ..Draws::default() })?;
    runner.collect()?;
    Ok(begin.elapsed())
}
