//! Takes the tokens of a step that is done. Goes through the step's own entries, since sequences
//! may have ended or been preempted.

use super::Scheduler;
use super::in_flight::StepEntry;
use crate::error::GenerationError;
use crate::generation::Finish;
use crate::runner::{RunError, SampleError, Sampled};
use crate::sequence::Sequence;
use crate::speculation::guarded;
use crate::token::Token;

type Rows = [Result<Token, SampleError>];

impl Scheduler {
    /// Whether the step that was scheduled last still lacks its draws.
    pub(crate) fn awaits_draws(&self) -> bool {
        self.steps_in_flight.back().is_some_and(|step| !step.drawn)
    }

    /// Whether the oldest step under way has its draws, so that its tokens can be collected.
    pub(crate) fn awaits_tokens(&self) -> bool {
        self.steps_in_flight.front().is_some_and(|step| step.drawn)
    }

    /// Takes the tokens of the oldest step under way.
    pub(crate) fn retire(&mut self, sampled: &Sampled) -> Result<(), RunError> {
        let (rows, expected) = (&sampled.rows[..], self.steps_in_flight.front().map_or(0, |step| step.rows));
        if rows.len() != expected {
            return Err(RunError::Rows { expected, found: rows.len() });
        }
        let step = self.steps_in_flight.pop_front().unwrap_or_default();
        self.counts.steps += 1;
        for entry in step.entries {
            let accepted = self.take_rows(&entry, rows);
            self.publish_blocks(&entry, accepted);
        }
        self.drop_ended();
        Ok(())
    }

    /// Adds the full blocks that are computed by now to the prefix cache, and the snapshots that the
    /// step has saved: of the first `accepted` tokens only, never of drafts.
    fn publish_blocks(&mut self, entry: &StepEntry, accepted: usize) {
        let computed = entry.computed.min(accepted);
        let at = self.running.binary_search_by_key(&entry.admission, |one| one.admission).ok();
        // A sequence that was preempted has no blocks, or other ones.
        let at = at.filter(|at| self.running[*at].block_epoch == entry.block_epoch);
        if let Some(at) = at {
            let sequence = &mut self.running[at];
            self.pool.publish(&mut sequence.table, &sequence.tokens, computed);
        }
        // The first of them comes first, since others are worth what is behind it.
        for save in entry.saves.iter().rev() {
            match at.filter(|_| save.position <= computed) {
                Some(at) => {
                    let (table, saved) = (&mut self.running[at].table, (save.snapshot, save.position));
                    self.pool.keep_snapshot(table, saved, save.kind);
                }
                None => self.pool.drop_snapshot(save.snapshot),
            }
        }
    }

    /// Takes one sequence's tokens. Returns the number of its tokens that were known before, with
    /// the draft tokens that were accepted.
    fn take_rows(&mut self, entry: &StepEntry, rows: &Rows) -> usize {
        let step_at = self.step_at;
        let Some(sequence) = self.lookup(entry.admission) else { return 0 };
        sequence.step_at = step_at;
        let known = sequence.tokens.len();
        if entry.rows.is_empty() || entry.is_late {
            return known;
        }
        if let Some(from) = entry.scores_from {
            let scored: Result<Vec<_>, _> = rows[entry.rows.clone()].iter().cloned().collect();
            match scored {
                Ok(tokens) => sequence.take_scores(from, tokens.into_iter()),
                Err(error) => self.fail_sequence(entry.admission, error.into()),
            }
            return known;
        }
        sequence.steps_in_flight -= 1;
        let principal = sequence.principal;
        let (verified, outcome) = accept(sequence, entry, rows);
        let lost_mask = std::mem::take(&mut sequence.lost_mask);
        let accepted = verified.accepted.min(sequence.tokens.len() - known);
        let drafted = entry.rows.len() - 1;
        if drafted > 0 {
            // Positions of rejected draft tokens are computed again, in the same slots.
            sequence.computed = sequence.computed.min(known + accepted);
            sequence.speculation.record(drafted, accepted, sequence.tokens.len());
        }
        if let Err(error) = outcome {
            self.fail_sequence(entry.admission, error);
        }
        self.queue.charge(principal, verified.generated);
        self.counts.generated_tokens += verified.generated as u64;
        self.counts.lost_masks += u64::from(lost_mask);
        self.counts.drafted_tokens += drafted as u64;
        self.counts.accepted_tokens += accepted as u64;
        known + accepted
    }

    fn fail_sequence(&mut self, admission: u64, error: GenerationError) {
        tracing::error!(error = error.kind(), "a sequence failed");
        if let Some(sequence) = self.lookup(admission) {
            sequence.end(Finish::Error(error));
            self.counts.failed += 1;
        }
    }

    fn drop_ended(&mut self) {
        for mut ended in self.running.extract_if(.., |one| one.outlet.is_ended()) {
            ended.free(&mut self.pool, &mut self.lanes);
        }
        self.preempted.retain(|one| !one.outlet.is_ended());
    }

    /// Ends the sequences of all steps under way, one of which failed.
    pub(crate) fn fail(&mut self, error: &RunError) {
        tracing::error!(%error, "a step failed");
        for entry in self.steps_in_flight.split_off(0).into_iter().flat_map(|step| step.entries) {
            entry.saves.iter().for_each(|save| self.pool.drop_snapshot(save.snapshot));
            if let Some(sequence) = self.lookup(entry.admission)
                && !sequence.outlet.is_ended()
            {
                sequence.end(Finish::Error(error.clone().into()));
                self.counts.failed += 1;
            }
        }
        self.drop_ended();
    }
}

/// Number of one sequence's tokens that a step has brought.
#[derive(Default)]
struct Verified {
    /// Draft tokens that were sampled, too.
    accepted: usize,
    /// Tokens that the sequence has taken.
    generated: usize,
}

/// Gives a sequence the token of its first row, and that of each further row as long as the sampled
/// tokens are those of the draft. The error is that with which the sequence fails behind these
/// tokens. A mask is external code: its panic ends its own sequence only.
fn accept(
    sequence: &mut Sequence,
    entry: &StepEntry,
    rows: &Rows,
) -> (Verified, Result<(), GenerationError>) {
    let mut verified = Verified::default();
    if let Some(error) = &entry.error {
        return (verified, Err(error.clone()));
    }
    let mut tokens = Vec::with_capacity(entry.draft.len() + 1);
    let mut failed = None;
    for (row, guess) in rows[entry.rows.clone()].iter().zip(entry.draft.iter().map(Some).chain([None])) {
        match row {
            Ok(token) => tokens.push(token.clone()),
            Err(error) => failed = Some(error.clone()),
        }
        if guess.is_none() || row.as_ref().ok().map(|token| &token.id) != guess {
            break;
        }
        verified.accepted += 1;
    }
    let taken = guarded(|| sequence.accept(tokens)).map_err(Into::into).flatten();
    let outcome = taken.and_then(|count| {
        verified.generated = count;
        match failed.filter(|_| !sequence.outlet.is_ended()) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    });
    (verified, outcome)
}
