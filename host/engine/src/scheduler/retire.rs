//! Takes the tokens of a step that is done. Walks the step's own list: sequences may have ended or been preempted since.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Scheduler;
use super::in_flight::StepEntry;
use crate::error::{GenerationError, MaskError};
use crate::generation::Finish;
use crate::panics::panic_text;
use crate::runner::{RunError, SampleError, Sampled};
use crate::sequence::Sequence;
use crate::token::Token;

type Rows = [Result<Token, SampleError>];

impl Scheduler {
    /// Whether a step was scheduled whose draws weren't made.
    pub(crate) fn awaits_draws(&self) -> bool {
        self.steps_in_flight.back().is_some_and(|step| !step.drawn)
    }

    /// Whether a step was sampled whose tokens weren't taken.
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
            self.publish(&entry);
            if !entry.rows.is_empty() {
                self.land(entry, rows);
            }
        }
        self.drop_ended();
        Ok(())
    }

    /// Lets others find the full blocks of what is computed by now: tokens that were accepted, never a guess.
    fn publish(&mut self, entry: &StepEntry) {
        // Who was preempted has no blocks, or others.
        if let Ok(at) = self.running.binary_search_by_key(&entry.arrival, |one| one.arrival)
            && let sequence = &mut self.running[at]
            && sequence.allocations == entry.allocations
        {
            let accepted = entry.computed.min(sequence.tokens.len());
            self.pool.publish(&mut sequence.table, &sequence.tokens, accepted);
        }
    }

    fn land(&mut self, entry: StepEntry, rows: &Rows) {
        let Some(sequence) = self.lookup(entry.arrival) else { return };
        sequence.tokens_in_flight -= entry.rows.len();
        match accept(sequence, entry, rows) {
            Ok(count) => self.counts.generated_tokens += count as u64,
            Err(error) => {
                tracing::error!(%error, "a sequence failed");
                sequence.end(Finish::Error(error));
                self.counts.failed += 1;
            }
        }
    }

    fn drop_ended(&mut self) {
        for mut ended in self.running.extract_if(.., |one| one.outlet.is_ended()) {
            ended.free(&mut self.pool, &mut self.lanes);
        }
        self.waiting.retain(|one| !one.outlet.is_ended());
    }

    /// Ends the sequences of all steps under way, one of which failed.
    pub(crate) fn fail(&mut self, error: &RunError) {
        tracing::error!(%error, "a step failed");
        for entry in self.steps_in_flight.split_off(0).into_iter().flat_map(|step| step.entries) {
            if let Some(sequence) = self.lookup(entry.arrival)
                && !sequence.outlet.is_ended()
            {
                sequence.end(Finish::Error(error.clone().into()));
                self.counts.failed += 1;
            }
        }
        self.drop_ended();
    }
}

/// A mask is code from outside: its panic ends its own sequence only.
fn accept(sequence: &mut Sequence, entry: StepEntry, rows: &Rows) -> Result<usize, GenerationError> {
    if let Some(error) = entry.error {
        return Err(error);
    }
    let tokens: Vec<Token> = rows[entry.rows].iter().cloned().collect::<Result<_, _>>()?;
    catch_unwind(AssertUnwindSafe(|| sequence.accept(tokens)))
        .unwrap_or_else(|panic| Err(MaskError::Panicked(panic_text(panic.as_ref()).to_owned()).into()))
}
