//! Turns the plan of a step into a batch for the runner and a step under way.

use super::Scheduler;
use super::in_flight::{InFlightStep, StepEntry};
use super::states;
use crate::batch::{Batch, LAST, TableEdit};
use crate::sequence::Sequence;

impl Scheduler {
    /// Builds the batch, decoding sequences first, and adds the step to those under way; false
    /// where nothing was planned.
    pub(super) fn build(&mut self) -> bool {
        self.batch.clear();
        let mut step = InFlightStep::default();
        let block_size = self.pool.block_size();
        for decoding in [true, false] {
            let planned = self.running.iter_mut().filter(|one| one.scheduled > 0);
            for sequence in planned.filter(|one| (one.scheduled == 1) == decoding) {
                let computed = sequence.computed + sequence.scheduled;
                let first = self.batch.logit_rows.len();
                let scores_from = push(&mut self.batch, sequence, block_size);
                let saves = if self.has_states {
                    states::push(&mut self.batch, sequence, &mut self.pool)
                } else {
                    Vec::new()
                };
                if scores_from.is_none() && first < self.batch.logit_rows.len() {
                    sequence.prepare_mask();
                }
                step.entries.push(StepEntry {
                    admission: sequence.admission,
                    block_epoch: sequence.block_epoch,
                    computed,
                    draft: std::mem::take(&mut sequence.draft),
                    rows: first..self.batch.logit_rows.len(),
                    scores_from,
                    saves,
                    is_late: false,
                    error: sequence.fault.take().map(Into::into),
                });
            }
        }
        // Both passes above select sequences by `scheduled`, so it is cleared only now.
        for sequence in self.running.iter_mut().filter(|one| one.scheduled > 0) {
            sequence.computed += std::mem::take(&mut sequence.scheduled);
        }
        step.rows = self.batch.logit_rows.len();
        let any = !step.entries.is_empty();
        if any {
            self.steps_in_flight.push_back(step);
        }
        any
    }
}

/// Adds a sequence's part of the step. Returns the position of the first row of logits, where they
/// score tokens of the prompt.
fn push(batch: &mut Batch, sequence: &mut Sequence, block_size: usize) -> Option<usize> {
    let lane = sequence.lane.expect("who is planned holds blocks");
    let edits = sequence.table.changes();
    batch.table_edits.extend(edits.map(|(at, block)| TableEdit { lane, at: narrow(at), block }));
    let blocks = sequence.table.blocks();
    let end = sequence.computed + sequence.scheduled;
    for at in sequence.computed..end {
        let known = sequence.tokens.get(at).or_else(|| sequence.draft.get(at - sequence.tokens.len()));
        batch.tokens.push(known.copied().unwrap_or(LAST));
        batch.positions.push(narrow(at));
        batch.slots.push(blocks[at / block_size] * narrow(block_size) + narrow(at % block_size));
    }
    batch.starts.push(narrow(batch.tokens.len()));
    batch.context_lens.push(narrow(end));
    batch.lanes.push(lane);
    if end >= sequence.length() {
        let rows = batch.tokens.len() - (end - sequence.length() + 1)..batch.tokens.len();
        batch.logit_rows.extend(rows.map(narrow));
        return None;
    }
    let scored = sequence.scores.as_ref()?.rows(sequence.computed..end);
    let first_row = batch.tokens.len() - (end - sequence.computed);
    batch.logit_rows.extend(scored.clone().map(|at| narrow(first_row + at - sequence.computed)));
    (!scored.is_empty()).then_some(scored.start)
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).expect("sizes of a cache are below 2^32")
}
