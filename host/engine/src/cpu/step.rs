//! The current step of the CPU's backend: its batch, which is checked first, and the angles of its
//! positions.

use kernels::cpu::SequenceRows;

use super::backend::CpuBackend;
use crate::batch::{Batch, BatchError};
use crate::runner::RunnerShape;

impl CpuBackend {
    /// Begins a step: checks and keeps the batch, and computes the rotary angles of its positions.
    pub(super) fn begin(&mut self, batch: &Batch, shape: &RunnerShape) -> Result<(), BatchError> {
        self.logits.clear();
        batch.check(shape, &mut self.tables)?;
        if let Some(states) = &mut self.states {
            states.begin(batch, shape)?;
        }
        self.batch.clone_from(batch);
        self.ropes.rotate(&batch.positions);
        Ok(())
    }

    /// Logits `[logit_rows, vocab]` of the step.
    pub(super) fn step_logits(&self) -> &[f32] {
        &self.logits
    }

    /// Number of tokens in the step.
    pub(super) fn rows(&self) -> usize {
        self.batch.tokens.len()
    }

    pub(super) fn sequences(&self) -> Vec<SequenceRows<'_>> {
        let batch = &self.batch;
        let one = |i: usize| {
            let (first_row, end) = (batch.starts[i] as usize, batch.starts[i + 1] as usize);
            let blocks = self.tables.lane(batch.lanes[i]);
            SequenceRows { first_row, rows: end - first_row, context: batch.context_lens[i] as usize, blocks }
        };
        (0..batch.sequences()).map(one).collect()
    }
}
