//! Checks of a batch: every index within its bounds, and the parts of the description in agreement.

use super::{Batch, BlockTables, LAST, StateEdit, TableEdit};
use crate::shape::RunnerShape;

/// Reason why a batch is invalid for a runner's shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// `tokens`, `positions` and `slots` differ in length.
    #[error("{tokens} tokens, {positions} positions, {slots} slots")]
    Rows {
        /// Length of `tokens`.
        tokens: usize,
        /// Length of `positions`.
        positions: usize,
        /// Length of `slots`.
        slots: usize,
    },
    /// The batch has more tokens than the runner's activations hold.
    #[error("{tokens} tokens are more than {most}")]
    TooLong {
        /// Tokens of the batch.
        tokens: usize,
        /// Maximum number of tokens, from the runner's shape.
        most: usize,
    },
    /// `starts` has a wrong length, a wrong first value or a wrong last value.
    #[error("starts of {sequences} sequences: {starts:?}")]
    Starts {
        /// Number of sequences.
        sequences: usize,
        /// `starts`.
        starts: Vec<u32>,
    },
    /// Lanes are missing, shared by sequences, or out of range.
    #[error("lanes of {sequences} sequences, below {most}: {lanes:?}")]
    Lanes {
        /// Number of sequences.
        sequences: usize,
        /// Number of lanes, from the runner's shape.
        most: usize,
        /// `lanes`.
        lanes: Vec<u32>,
    },
    /// An edit of a block table has a lane, a block or an index that is out of range.
    #[error("table edit of lane {}: block {} at {}", .0.lane, .0.block, .0.at)]
    TableEdit(TableEdit),
    /// A token id that the model doesn't have.
    #[error("token {token} is not below {vocab}")]
    Token {
        /// Token id.
        token: u32,
        /// Size of the vocabulary.
        vocab: usize,
    },
    /// `logit_rows` aren't ascending, or have a row that the batch doesn't have.
    #[error("logit rows of {tokens} tokens: {rows:?}")]
    LogitRows {
        /// Tokens of the batch.
        tokens: usize,
        /// `logit_rows`.
        rows: Vec<u32>,
    },
    /// An edit of a state that doesn't fit the batch: a lane or row that isn't in it, a snapshot
    /// that was never saved or is saved twice, or too many rows that may be taken back.
    #[error("{0:?} doesn't fit the batch")]
    StateEdit(StateEdit),
    /// A sequence goes on from a state that has seen other tokens.
    #[error("sequence {sequence} goes on at {position}, its state at {certain} to {}", certain + tentative)]
    State {
        /// Index of the sequence in the batch.
        sequence: usize,
        /// Position of its first row.
        position: u32,
        /// Number of tokens that the state has seen for certain.
        certain: u32,
        /// Number of rows behind them that may be taken back.
        tentative: u32,
    },
    /// One sequence's part of the batch is invalid.
    #[error("sequence {sequence}: {error}")]
    Sequence {
        /// Index of the sequence in the batch.
        sequence: usize,
        /// What is wrong.
        error: SequenceError,
    },
}

/// What is wrong with one sequence of a batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SequenceError {
    /// The sequence has no rows, or rows that don't fit the batch or the sequence's length, or it
    /// is longer than the context.
    #[error("rows {start} to {end} of {context} tokens")]
    Length {
        /// First row.
        start: usize,
        /// Row after the last.
        end: usize,
        /// Length of the sequence after this step, from `context_lens`.
        context: usize,
    },
    /// The lane's block table is too short.
    #[error("{tokens} tokens need {blocks} blocks, the table has {table}")]
    Table {
        /// Tokens after this step.
        tokens: usize,
        /// Number of KV blocks for this many tokens.
        blocks: usize,
        /// Number of blocks in the table.
        table: usize,
    },
    /// A row's position or slot isn't the one that follows from the sequence's length and block
    /// table.
    #[error("row {row}: position {position} in slot {slot}, expected {expected_position} in {expected_slot}")]
    Place {
        /// Index of the row.
        row: usize,
        /// Position of the row in the batch's `positions`.
        position: u32,
        /// Slot of the row in the batch's `slots`.
        slot: u32,
        /// The position that follows from the length.
        expected_position: usize,
        /// The slot that follows from the table.
        expected_slot: usize,
    },
}

impl Batch {
    /// Checks the batch for a runner of this shape, and applies its table edits to the runner's
    /// tables.
    pub fn check(&self, shape: &RunnerShape, tables: &mut BlockTables) -> Result<(), BatchError> {
        self.check_rows(shape)?;
        self.check_lanes(shape)?;
        for edit in &self.table_edits {
            let outside = edit.at as usize > tables.lane(edit.lane).len();
            if edit.lane as usize >= shape.lanes || edit.block as usize >= shape.blocks || outside {
                return Err(BatchError::TableEdit(*edit));
            }
            tables.apply(*edit);
        }
        (0..self.sequences()).try_for_each(|sequence| {
            self.check_sequence(shape, tables, sequence)
                .map_err(|error| BatchError::Sequence { sequence, error })
        })
    }

    fn check_rows(&self, shape: &RunnerShape) -> Result<(), BatchError> {
        let (tokens, positions, slots) = (self.tokens.len(), self.positions.len(), self.slots.len());
        if positions != tokens || slots != tokens {
            return Err(BatchError::Rows { tokens, positions, slots });
        }
        if tokens > shape.batch_tokens {
            return Err(BatchError::TooLong { tokens, most: shape.batch_tokens });
        }
        let known = |token: u32| (token as usize) < shape.vocab || (token == LAST && shape.ahead > 0);
        if let Some(&token) = self.tokens.iter().find(|token| !known(**token)) {
            return Err(BatchError::Token { token, vocab: shape.vocab });
        }
        let rows = &self.logit_rows;
        if !rows.is_sorted_by(|a, b| a < b) || rows.last().is_some_and(|row| *row as usize >= tokens) {
            return Err(BatchError::LogitRows { tokens, rows: rows.clone() });
        }
        Ok(())
    }

    fn check_lanes(&self, shape: &RunnerShape) -> Result<(), BatchError> {
        let sequences = self.sequences();
        let (starts, n) = (&self.starts, self.tokens.len());
        if starts.len() != sequences + 1 || starts[0] != 0 || starts[sequences] as usize != n {
            return Err(BatchError::Starts { sequences, starts: starts.clone() });
        }
        let mut lanes = self.lanes.clone();
        lanes.sort_unstable();
        let distinct = lanes.is_sorted_by(|a, b| a < b);
        let within = lanes.last().is_none_or(|lane| (*lane as usize) < shape.lanes);
        if lanes.len() != sequences || !distinct || !within {
            return Err(BatchError::Lanes { sequences, most: shape.lanes, lanes: self.lanes.clone() });
        }
        Ok(())
    }

    fn check_sequence(
        &self,
        shape: &RunnerShape,
        tables: &BlockTables,
        i: usize,
    ) -> Result<(), SequenceError> {
        let (start, end) = (self.starts[i] as usize, self.starts[i + 1] as usize);
        let context = self.context_lens[i] as usize;
        if start >= end || end > self.tokens.len() || context < end - start || context > shape.context {
            return Err(SequenceError::Length { start, end, context });
        }
        let blocks = context.div_ceil(shape.block_size);
        let table = tables.lane(self.lanes[i]);
        if table.len() < blocks {
            return Err(SequenceError::Table { tokens: context, blocks, table: table.len() });
        }
        for (row, expected_position) in (start..end).zip(context - (end - start)..) {
            let (position, slot) = (self.positions[row], self.slots[row]);
            let (block, offset) =
                (expected_position / shape.block_size, expected_position % shape.block_size);
            let expected_slot = table[block] as usize * shape.block_size + offset;
            if position as usize != expected_position || slot as usize != expected_slot {
                return Err(SequenceError::Place { row, position, slot, expected_position, expected_slot });
            }
        }
        Ok(())
    }
}
