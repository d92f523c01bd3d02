//! Batch: one step's work as flat arrays over all its sequences, in the same form for every
//! backend.
//!
//! Invariant: sequences with one token in the step, which decode, come before sequences with
//! several (chunks of prompts, and tokens with a draft behind them), so that a device can run the
//! two groups with different kernels.

mod check;
mod states;
mod tables;

pub use check::{BatchError, SequenceError};
pub use states::{SequenceState, StatePlan, StateStart, StateTable};
pub use tables::BlockTables;

/// Placeholder in [`Batch::tokens`] for the token that the sequence's lane sampled last, which may
/// still be on the device only. Where none could be sampled it stands for any id, and results that
/// follow from it are never read.
pub const LAST: u32 = u32::MAX;

/// Tokens to run through the model in one step. `n` tokens over `s` sequences; prefill chunks and
/// decodes mix freely.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// `[n]` token ids, or [`LAST`].
    pub tokens: Vec<u32>,
    /// `[n]` position of each token in its sequence.
    pub positions: Vec<u32>,
    /// `[n]` slot of the KV cache that each token's key and value go to:
    /// `block * block_size + offset`.
    pub slots: Vec<u32>,
    /// `[s + 1]` index in `tokens` at which each sequence begins, and `n` at the end.
    pub starts: Vec<u32>,
    /// `[s]` tokens of each sequence once this step is done (the last token attends to that many).
    pub context_lens: Vec<u32>,
    /// `[s]` lane of each sequence: its slot in the runner, with its block table and its last
    /// sample.
    pub lanes: Vec<u32>,
    /// Changes of the block tables, applied before this step.
    pub table_edits: Vec<TableEdit>,
    /// Rows (indices into `tokens`) whose logits are wanted, ascending.
    pub logit_rows: Vec<u32>,
    /// What is done to the states of sequences, in a model whose layers keep states.
    pub state_edits: Vec<StateEdit>,
}

/// Change of a sequence's state, beside that by the step's own rows. A sequence whose first position
/// is 0 begins with an empty state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateEdit {
    /// Before the lane's first row its state becomes that of a snapshot.
    Load {
        /// Lane of the sequence.
        lane: u32,
        /// Number of the snapshot.
        snapshot: u32,
    },
    /// The state behind a row becomes a snapshot.
    Save {
        /// The row, an index into `tokens`.
        row: u32,
        /// Number of the snapshot, which no other row of this step becomes. What it was may be loaded
        /// in the same step: loads come first.
        snapshot: u32,
    },
    /// The lane's last rows may be taken back: the next step of the lane begins at one of their
    /// positions, or behind them.
    Tentative {
        /// Lane of the sequence.
        lane: u32,
        /// Number of rows, at least one.
        rows: u32,
    },
}

/// One entry of a block table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableEdit {
    /// Lane of the block table.
    pub lane: u32,
    /// Index of the entry, which is for positions from `at * block_size` on; at most the table's
    /// length.
    pub at: u32,
    /// KV block of the entry's positions.
    pub block: u32,
}

impl Batch {
    /// Number of sequences.
    pub fn sequences(&self) -> usize {
        self.context_lens.len()
    }

    /// Empties the batch and keeps its buffers.
    pub fn clear(&mut self) {
        let Self {
            tokens,
            positions,
            slots,
            starts,
            context_lens,
            lanes,
            table_edits,
            logit_rows,
            state_edits,
        } = self;
        for field in [tokens, positions, slots, starts, context_lens, lanes, logit_rows] {
            field.clear();
        }
        table_edits.clear();
        state_edits.clear();
        self.starts.push(0);
    }
}
