//! Draws of a step: sampling parameters, edits and masks of its sequences, as data for the runner.

use std::task::Context;

use super::Scheduler;
use super::draw_buffers::DrawBuffers;
use crate::runner::Draws;
use crate::speculation::guarded;

impl Scheduler {
    /// Whether all masks of the step that was scheduled last are ready. Masks that weren't prepared
    /// are started now, since all tokens before the sampled ones are known.
    pub(crate) fn masks_are_ready(&mut self) -> bool {
        let waker = self.waker.clone();
        let mut cx = Context::from_waker(&waker);
        let Some(mut step) = self.steps_in_flight.pop_back() else { return true };
        let mut ready = true;
        for entry in step.entries.iter_mut().filter(|entry| entry.samples() && entry.error.is_none()) {
            let Some(sequence) = self.lookup(entry.admission) else { continue };
            let prepared = guarded(|| sequence.mask.as_deref_mut().map(|mask| mask.prepare(&entry.draft)));
            match prepared.and_then(|_| sequence.poll_mask(&mut cx)) {
                Ok(poll) => ready &= poll.is_ready(),
                Err(error) => entry.error = sequence.mask_fault(error).map(Into::into),
            }
        }
        self.steps_in_flight.push_back(step);
        ready
    }

    /// Makes the draws of the step that was scheduled last. All tokens before the sampled ones are
    /// known by now.
    pub(crate) fn draws(&mut self) -> Draws<'_> {
        let mut draws = std::mem::replace(&mut self.draws, DrawBuffers::new(0));
        draws.clear();
        let waker = self.waker.clone();
        let mut cx = Context::from_waker(&waker);
        if let Some(mut step) = self.steps_in_flight.pop_back() {
            step.drawn = true;
            for entry in &mut step.entries {
                draws.push(entry, self.lookup(entry.admission), &mut cx);
                self.counts.late_masks += u64::from(entry.is_late);
            }
            self.steps_in_flight.push_back(step);
        }
        self.draws = draws;
        self.draws.lend()
    }
}
