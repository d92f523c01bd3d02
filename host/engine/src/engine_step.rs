//! One round of the engine's loop: calls scheduler and runner in the order that `runner.rs`
//! requires.
//!
//! Without steps ahead: schedule, forward, sample, collect. With a runner that is one step ahead
//! the device always has work: while it runs step `n`, the tokens of step `n - 1` are retired, the
//! draws of step `n` are made, and step `n + 1` is scheduled. Invariant: a step waits for masks no
//! longer than [`MaskPatience`] allows, whatever their grammars are.

use std::time::Instant;

use crate::mask_patience::MaskPatience;
use crate::runner::{RunError, Runner};
use crate::scheduler::Scheduler;

/// Runs one round; false when no sequence can go on and no step is under way. An error of the
/// runner ends the sequences of all steps under way.
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
        scheduler.set_step_time(Instant::now());
        patience.step_ended();
        scheduler.retire(sampled)?;
        moved = true;
    }
    if scheduler.awaits_draws() {
        patience.wait(scheduler);
        runner.sample(&scheduler.draws())?;
        if runner.shape().ahead == 0 {
            let sampled = runner.collect()?;
            scheduler.set_step_time(Instant::now());
            scheduler.retire(sampled)?;
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
