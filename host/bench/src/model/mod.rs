//! Speed of a model on this machine, without HTTP, scheduler and text: steps of the engine's
//! runner, one after the other.
//!
//! Invariants: a test's steps follow from the plan alone. Times are those of steps in which nothing
//! was counted; counts are those of one more repetition. Memory bandwidth varies if others use the
//! memory too, so it is measured before and after each repetition. Called by `host bench model`.

mod measured;
mod plan;
mod plot;
mod sequences;

use std::time::{Duration, Instant};

use engine::LocalRunner;
use engine::cuda::CudaError;
use engine::runner::{RunError, Runner};

pub use measured::{Counted, Measured, ModelReport, PARTS, Repetition};
pub use plan::{Plan, PlanError, Test};
use sequences::Sequences;

/// A measurement that can't be made.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The runner has no room for a test of the plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A step failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Another error of the device.
    #[error(transparent)]
    Cuda(#[from] CudaError),
}

/// Measures the current bandwidth of the device's memory, in bytes per second.
pub type Bandwidth<'a> = dyn FnMut(&mut LocalRunner) -> Result<f64, BenchError> + 'a;

/// Runs the tests of a plan. `progress` is called before each test, with the test, its index, and
/// the number of tests.
pub fn run(
    runner: &mut LocalRunner,
    plan: &Plan,
    bandwidth: &mut Bandwidth<'_>,
    progress: &mut dyn FnMut(Test, usize, usize),
) -> Result<Vec<Measured>, BenchError> {
    let tests = plan.tests();
    plan.check(runner.shape())?;
    let measure = |(place, test): (usize, &Test)| {
        progress(*test, place, tests.len());
        measure(runner, *test, plan.repetitions, bandwidth)
    };
    tests.iter().enumerate().map(measure).collect()
}

fn measure(
    runner: &mut LocalRunner,
    test: Test,
    repetitions: usize,
    bandwidth: &mut Bandwidth<'_>,
) -> Result<Measured, BenchError> {
    let mut sequences = Sequences::new(runner.shape(), test.parallel());
    if test.depth() > 0 {
        sequences.prefill(runner, test.depth())?;
    }
    // A first repetition is not timed: it pays for memory pages that are written for the first
    // time.
    repetition(runner, test, &mut sequences)?;
    let mut timed = Vec::with_capacity(repetitions);
    let mut before = bandwidth(runner)?;
    for _ in 0..repetitions {
        let time = repetition(runner, test, &mut sequences)?.0;
        let behind = bandwidth(runner)?;
        timed.push(Repetition { time, read_bandwidth: f64::midpoint(before, behind) });
        before = behind;
    }
    runner.start_counting();
    let counted = repetition(runner, test, &mut sequences);
    let ops = runner.stop_counting();
    let (time, sampling) = counted?;
    Ok(Measured { test, timed, counted: Counted { time, sampling, ops } })
}

/// Time of a test's steps, and the part of that time spent on sampling.
fn repetition(
    runner: &mut LocalRunner,
    test: Test,
    sequences: &mut Sequences,
) -> Result<(Duration, Duration), RunError> {
    sequences.rewind(test.depth());
    let begin = Instant::now();
    let sampling = match test {
        Test::Prefill { tokens } => sequences.prefill(runner, tokens)?,
        Test::Decode { tokens, .. } => (0..tokens)
            .try_fold(Duration::ZERO, |all, _| Ok::<_, RunError>(all + sequences.decode(runner)?))?,
    };
    Ok((begin.elapsed(), sampling))
}
