//! One round of the engine's loop: steps go through a runner in the order that `runner.rs` asks for.
//!
//! A runner without steps ahead: schedule, forward, sample, collect. One step ahead, the device is never without work: while it
//! runs step `n`, the tokens of step `n - 1` are taken, step `n` gets its draws, and step `n + 1` is scheduled behind it.
//! Invariant: a step waits for masks for [`PATIENCE`] at most, whatever grammars they are of.

use std::time::{Duration, Instant};

use crate::notify::Notify;
use crate::runner::{RunError, Runner};
use crate::scheduler::Scheduler;

/// How long a step waits for its masks when its rows are computed. Usual ones take 10 to 100 µs and are there by then; what takes longer
/// is better left out of the step, which costs its sequence a row more.
const PATIENCE: Duration = Duration::from_millis(2);

/// How a step waits for masks that aren't there.
#[derive(Clone, Copy)]
pub(crate) struct MaskPatience<'a>(Option<&'a Notify>);

impl<'a> MaskPatience<'a> {
    /// For so long, until this is notified. What else it was notified for is lost: whoever calls looks at everything behind the step.
    pub(crate) fn until_notified(notify: &'a Notify) -> Self {
        Self(Some(notify))
    }

    /// Not at all.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self(None)
    }

    fn wait(self, scheduler: &mut Scheduler) {
        let began = Instant::now();
        loop {
            if let Some(notify) = self.0 {
                notify.clear();
            }
            let left = PATIENCE.saturating_sub(began.elapsed());
            match self.0 {
                _ if scheduler.masks_are_ready() => return,
                Some(notify) if !left.is_zero() => notify.wait(Some(left)),
                _ => return,
            }
        }
    }
}

/// Goes on by one step; false when no sequence can go on and no step is under way. A step that failed ends its own sequences.
///
/// # Errors
/// The device is lost: there will be no further step.
pub(crate) fn engine_step(
    scheduler: &mut Scheduler,
    runner: &mut dyn Runner,
    patience: MaskPatience<'_>,
) -> Result<bool, RunError> {
    advance(scheduler, runner, patience).or_else(|error| {
        scheduler.fail(&error);
        if matches!(error, RunError::Lost(_)) { Err(error) } else { Ok(true) }
    })
}

fn advance(
    scheduler: &mut Scheduler,
    runner: &mut dyn Runner,
    patience: MaskPatience<'_>,
) -> Result<bool, RunError> {
    let mut moved = scheduler.awaits_draws() || forward(scheduler, runner)?;
    if scheduler.awaits_tokens() {
        scheduler.retire(runner.collect()?)?;
        moved = true;
    }
    if scheduler.awaits_draws() {
        patience.wait(scheduler);
        runner.sample(&scheduler.draws())?;
        if runner.shape().ahead == 0 {
            scheduler.retire(runner.collect()?)?;
        } else {
            forward(scheduler, runner)?;
        }
    }
    Ok(moved)
}

/// Schedules and begins a step, if a sequence can go on.
fn forward(scheduler: &mut Scheduler, runner: &mut dyn Runner) -> Result<bool, RunError> {
    let Some(batch) = scheduler.schedule() else { return Ok(false) };
    runner.forward(batch)?;
    Ok(true)
}
