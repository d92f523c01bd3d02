//! One round of the engine's loop: steps go through a runner in the order that `runner.rs` asks for.
//!
//! A runner without steps ahead: schedule, forward, sample, collect. One step ahead, the device is never without work: while it
//! runs step `n`, the tokens of step `n - 1` are taken, step `n` gets its draws, and step `n + 1` is scheduled behind it.
//! Invariant: a step waits for masks no longer than [`MaskPatience`] has it, whatever grammars they are of.

use crate::mask_patience::MaskPatience;
use crate::runner::{RunError, Runner};
use crate::scheduler::Scheduler;

/// Goes on by one step; false when no sequence can go on and no step is under way. A step that failed ends its own sequences.
///
/// # Errors
/// The device is lost: there will be no further step.
pub(crate) fn engine_step(
    scheduler: &mut Scheduler,
    runner: &mut dyn Runner,
    patience: &mut MaskPatience,
) -> Result<bool, RunError> {
    advance(scheduler, runner, patience).or_else(|error| {
        scheduler.fail(&error);
        if matches!(error, RunError::Lost(_)) { Err(error) } else { Ok(true) }
    })
}

fn advance(
    scheduler: &mut Scheduler,
    runner: &mut dyn Runner,
    patience: &mut MaskPatience,
) -> Result<bool, RunError> {
    let mut moved = scheduler.awaits_draws() || forward(scheduler, runner, patience)?;
    if scheduler.awaits_tokens() {
        let sampled = runner.collect()?;
        patience.step_ended();
        scheduler.retire(sampled)?;
        moved = true;
    }
    if scheduler.awaits_draws() {
        patience.wait(scheduler);
        runner.sample(&scheduler.draws())?;
        if runner.shape().ahead == 0 {
            scheduler.retire(runner.collect()?)?;
        } else {
            forward(scheduler, runner, patience)?;
        }
    }
    Ok(moved)
}

/// Schedules and begins a step, if a sequence can go on.
fn forward(
    scheduler: &mut Scheduler,
    runner: &mut dyn Runner,
    patience: &mut MaskPatience,
) -> Result<bool, RunError> {
    let is_idle = !scheduler.awaits_tokens();
    let Some(batch) = scheduler.schedule() else { return Ok(false) };
    if is_idle {
        patience.step_began();
    }
    runner.forward(batch)?;
    Ok(true)
}
