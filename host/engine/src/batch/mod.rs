//! One step's work, flat over sequences: the same description for every backend.
//!
//! Invariant: sequences of which one token runs, which decode, come before those of which several do (parts of prompts, and tokens with
//! a draft behind them), so that a device runs them by kernels of their own.

mod check;
mod tables;

pub use check::{BatchError, SequenceError};
pub use tables::BlockTables;

/// In [`Batch::tokens`]: the token that this lane sampled last, which may not have left the device yet. Where none could be chosen it is
/// any id: nobody reads what comes of it.
pub const LAST: u32 = u32::MAX;

/// Tokens to run through the model in one step. `n` tokens over `s` sequences; prefill chunks and decodes mix freely.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// `[n]` token ids, or [`LAST`].
    pub tokens: Vec<u32>,
    /// `[n]` position of each token in its sequence.
    pub positions: Vec<u32>,
    /// `[n]` slot of the KV cache that each token's key and value go to: `block * block_size + offset`.
    pub slots: Vec<u32>,
    /// `[s + 1]` where each sequence's tokens begin in `tokens`, and `n`.
    pub starts: Vec<u32>,
    /// `[s]` tokens of each sequence once this step is done (the last token attends to that many).
    pub context_lens: Vec<u32>,
    /// `[s]` each sequence's place in the runner, which keeps its block table and its last sample there.
    pub lanes: Vec<u32>,
    /// What changes in the block tables before this step.
    pub table_edits: Vec<TableEdit>,
    /// Rows (indices into `tokens`) whose logits are wanted, ascending.
    pub logit_rows: Vec<u32>,
}

/// One entry of a block table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableEdit {
    /// Whose table.
    pub lane: u32,
    /// Which entry: positions from `at * block_size` on. At most one behind the last.
    pub at: u32,
    /// The block that they are in.
    pub block: u32,
}

impl Batch {
    /// Number of sequences.
    pub fn sequences(&self) -> usize {
        self.context_lens.len()
    }

    /// Makes it empty; buffers stay.
    pub fn clear(&mut self) {
        let Self { tokens, positions, slots, starts, context_lens, lanes, table_edits, logit_rows } = self;
        for field in [tokens, positions, slots, starts, context_lens, lanes, logit_rows] {
            field.clear();
        }
        table_edits.clear();
        self.starts.push(0);
    }
}
