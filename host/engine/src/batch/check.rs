//! Checks of a batch: every index within its bounds, and the parts of the description in agreement.

use super::{Batch, BlockTables, LAST, TableEdit};
use crate::shape::RunnerShape;

/// A batch that no runner of that shape can run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// Columns of rows differ in length.
    #[error("{tokens} tokens, {positions} positions, {slots} slots")]
    Rows {
        /// Length of `tokens`.
        tokens: usize,
        /// Length of `positions`.
        positions: usize,
        /// Length of `slots`.
        slots: usize,
    },
    /// More than the runner's activations hold.
    #[error("{tokens} tokens are more than {most}")]
    TooLong {
        /// Tokens of the batch.
        tokens: usize,
        /// Those of the runner's shape.
        most: usize,
    },
    /// Sequences don't begin where others end.
    #[error("starts of {sequences} sequences: {starts:?}")]
    Starts {
        /// Number of sequences.
        sequences: usize,
        /// `starts`.
        starts: Vec<u32>,
    },
    /// A sequence without a lane of its own.
    #[error("lanes of {sequences} sequences, below {most}: {lanes:?}")]
    Lanes {
        /// Number of sequences.
        sequences: usize,
        /// Those of the runner's shape.
        most: usize,
        /// `lanes`.
        lanes: Vec<u32>,
    },
    /// An entry outside of its table.
    #[error("table edit of lane {}: block {} at {}", .0.lane, .0.block, .0.at)]
    TableEdit(TableEdit),
    /// An id that the model doesn't have.
    #[error("token {token} is not below {vocab}")]
    Token {
        /// The id.
        token: u32,
        /// Ids are below this.
        vocab: usize,
    },
    /// Logits of rows that aren't there, or not in order.
    #[error("logit rows of {tokens} tokens: {rows:?}")]
    LogitRows {
        /// Tokens of the batch.
        tokens: usize,
        /// `logit_rows`.
        rows: Vec<u32>,
    },
    /// One sequence's part is wrong.
    #[error("sequence {sequence}: {error}")]
    Sequence {
        /// Which.
        sequence: usize,
        /// What is wrong.
        error: SequenceError,
    },
}

/// What is wrong with one sequence of a batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SequenceError {
    /// Rows and length contradict each other.
    #[error("rows {start} to {end} of {context} tokens")]
    Length {
        /// First row.
        start: usize,
        /// Row after the last.
        end: usize,
        /// `context_lens`.
        context: usize,
    },
    /// The lane's table is too short.
    #[error("{tokens} tokens need {blocks} blocks, the table has {table}")]
    Table {
        /// Tokens after this step.
        tokens: usize,
        /// Blocks that they take.
        blocks: usize,
        /// Blocks of the table.
        table: usize,
    },
    /// A token isn't written where the table has its position.
    #[error("row {row}: position {position} in slot {slot}, expected {expected_position} in {expected_slot}")]
    Place {
        /// The row.
        row: usize,
        /// Its position.
        position: u32,
        /// Its slot.
        slot: u32,
        /// The position that follows from the length.
        expected_position: usize,
        /// The slot that follows from the table.
        expected_slot: usize,
    },
}

impl Batch {
    /// Checks it for a runner of this shape, and takes its table edits over into the runner's tables.
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
