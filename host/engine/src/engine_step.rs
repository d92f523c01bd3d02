//! One round of the engine's loop: steps go through a runner in the order that `runner.rs` asks for.
//!
//! A runner without steps ahead: schedule, forward, sample, collect. One step ahead, the device is never without work: while it
//! runs step `n`, the tokens of step `n - 1` are taken, step `n` gets its draws, and step `n + 1` is scheduled behind it.

use crate::runner::{RunError, Runner};
use crate::scheduler::Scheduler;

/// Goes on by one step; false when no sequence can go on and no step is under way. A step that failed ends its own sequences.
pub(crate) fn engine_step(scheduler: &mut Scheduler, runner: &mut dyn Runner) -> bool {
    advance(scheduler, runner).unwrap_or_else(|error| {
        scheduler.fail(&error);
        true
    })
}

fn advance(scheduler: &mut Scheduler, runner: &mut dyn Runner) -> Result<bool, RunError> {
    let mut moved = scheduler.awaits_draws() || forward(scheduler, runner)?;
    if scheduler.awaits_tokens() {
        scheduler.retire(runner.collect()?)?;
        moved = true;
    }
    if scheduler.awaits_draws() {
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
