//! Start of a generation: [`Generation::started`] tells whether the engine takes or refuses the
//! request.

use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::fake::{FakeRunner, request, shape};
use crate::error::SubmitError;
use crate::generation::{Engine, Generation, StepOutput, StepStream};
use crate::local::LocalEngine;
use crate::options::LocalOptions;
use crate::runner::RunnerShape;

/// Stream whose `poll_start` is ready with `word` at the third poll.
struct Late {
    polls: u32,
    word: Result<(), SubmitError>,
}

impl StepStream for Late {
    fn poll_start(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SubmitError>> {
        self.polls += 1;
        assert!(self.polls <= 3, "polled after its word");
        if self.polls < 3 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(self.word.clone())
    }

    fn poll_step(&mut self, _: &mut Context<'_>) -> Poll<Option<StepOutput>> {
        assert_eq!(self.polls, 3, "a step before the word");
        Poll::Ready(Some(StepOutput::default()))
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

#[test]
fn first_word_is_waited_for_and_steps_follow_it() {
    let mut generation = Generation::new(Late { polls: 0, word: Ok(()) });
    runtime().block_on(async {
        assert_eq!(generation.started().await, Ok(()));
        assert_eq!(generation.started().await, Ok(()), "it is said once");
        assert_eq!(generation.next().await, Some(StepOutput::default()));
    });
}

#[test]
fn a_refusal_is_the_first_word_and_the_last() {
    let refused = SubmitError::Unavailable { retry_after: Some(Duration::from_secs(3)), dropped: None };
    let mut generation = Generation::new(Late { polls: 0, word: Err(refused.clone()) });
    runtime().block_on(async {
        assert_eq!(generation.started().await, Err(refused));
        assert_eq!(generation.next().await, None);
    });
}

#[test]
fn queueing_engine_says_its_word_before_any_step() {
    // Without lanes no sequence ever runs.
    let runner = FakeRunner::new(RunnerShape { lanes: 0, ..shape(50, 4) });
    let engine = LocalEngine::start(Box::new(runner), LocalOptions::default());
    let mut generation = engine.submit(request([1], 5)).unwrap();
    let started = std::pin::pin!(generation.started()).poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(started, Poll::Ready(Ok(())));
}

fn with_deadline(lanes: usize, queue_timeout: Duration) -> LocalEngine {
    let runner = FakeRunner::new(RunnerShape { lanes, ..shape(50, 4) });
    let options = LocalOptions { queue_timeout: Some(queue_timeout), ..LocalOptions::default() };
    LocalEngine::start(Box::new(runner), options)
}

#[test]
fn request_with_a_deadline_has_started_when_it_begins() {
    let engine = with_deadline(9, Duration::MAX);
    let mut generation = engine.submit(request([1], 5)).unwrap();
    let silent = engine.submit(request([1], 5)).unwrap();
    runtime().block_on(async {
        assert_eq!(generation.started().await, Ok(()));
        for mut generation in [generation, silent] {
            let mut tokens = 0;
            while let Some(step) = generation.next().await {
                assert!(!step.tokens.is_empty(), "what says that it begins is no step");
                tokens += step.tokens.len();
            }
            assert_eq!(tokens, 5, "whether the first word was waited for or not");
        }
    });
}

#[test]
fn request_never_begun_is_refused_by_sleeping_engine() {
    let timeout = Duration::from_millis(1);
    let engine = with_deadline(0, timeout);
    let mut generation = engine.submit(request([1], 5)).unwrap();
    let refused = Err(SubmitError::Overloaded { retry_after: Some(timeout), dropped: None });
    assert_eq!(runtime().block_on(generation.started()), refused);
    assert_eq!(runtime().block_on(generation.next()), None);
}

#[test]
fn one_that_waits_when_the_engine_stops_is_refused() {
    let engine = with_deadline(0, Duration::MAX);
    let mut generation = engine.submit(request([1], 5)).unwrap();
    drop(engine);
    assert_eq!(runtime().block_on(generation.started()), Err(SubmitError::Stopped));
}
