//! Takes the tokens of a step that is done. Walks the step's own list: sequences may have ended or been preempted since.

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
            let accepted = self.land(&entry, rows);
            self.publish(&entry, accepted);
        }
        self.drop_ended();
        Ok(())
    }

    /// Lets others find the full blocks of what is computed by now: of the first `accepted` tokens, never a guess.
    fn publish(&mut self, entry: &StepEntry, accepted: usize) {
        // Who was preempted has no blocks, or others.
        if let Ok(at) = self.running.binary_search_by_key(&entry.begun, |one| one.begun)
            && let sequence = &mut self.running[at]
            && sequence.allocations == entry.allocations
        {
            self.pool.publish(&mut sequence.table, &sequence.tokens, entry.computed.min(accepted));
        }
    }

    /// Takes one sequence's tokens. Returns how many of its tokens, old and new, went through the step or through those before it.
    fn land(&mut self, entry: &StepEntry, rows: &Rows) -> usize {
        let Some(sequence) = self.lookup(entry.begun) else { return 0 };
        let known = sequence.tokens.len();
        if entry.rows.is_empty() || entry.is_late {
            return known;
        }
        sequence.steps_in_flight -= 1;
        let principal = sequence.principal;
        let (verified, outcome) = accept(sequence, entry, rows);
        let accepted = verified.accepted.min(sequence.tokens.len() - known);
        let drafted = entry.rows.len() - 1;
        if drafted > 0 {
            // What was rejected is computed anew, in the same slots.
            sequence.computed = sequence.computed.min(known + accepted);
            sequence.speculation.record(drafted, accepted, sequence.tokens.len());
        }
        if let Err(error) = outcome {
            tracing::error!(%error, "a sequence failed");
            sequence.end(Finish::Error(error));
            self.counts.failed += 1;
        }
        self.queue.charge(principal, verified.generated);
        self.counts.generated_tokens += verified.generated as u64;
        self.counts.drafted_tokens += drafted as u64;
        self.counts.accepted_tokens += accepted as u64;
        known + accepted
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
            if let Some(sequence) = self.lookup(entry.begun)
                && !sequence.outlet.is_ended()
            {
                sequence.end(Finish::Error(error.clone().into()));
                self.counts.failed += 1;
            }
        }
        self.drop_ended();
    }
}

/// What became of one sequence's rows.
#[derive(Default)]
struct Verified {
    /// Draft tokens that were drawn.
    accepted: usize,
    /// Tokens that were taken.
    generated: usize,
}

/// Takes the tokens that were drawn behind tokens that were drawn, and tells how it went: with an error where the sequence fails behind
/// them. A mask is code from outside: its panic ends its own sequence only.
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
