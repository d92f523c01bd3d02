//! The engine's thread: submitting, reading, leaving, failing, stopping.

use std::time::{Duration, Instant};

use super::fake::{FakeRunner, alone, request, sampled, shape};
use crate::error::{GenerationError, SubmitError};
use crate::generation::{Engine, Finish, Generation, GenerationRequest};
use crate::info::EngineStats;
use crate::local::LocalEngine;
use crate::options::LocalOptions;
use crate::runner::RunError;

fn engine(options: LocalOptions) -> LocalEngine {
    LocalEngine::start(Box::new(FakeRunner::new(shape(50, 4))), options)
}

pub(super) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

pub(super) async fn read(mut generation: Generation) -> (Vec<u32>, Option<Finish>) {
    let (mut tokens, mut finish) = (Vec::new(), None);
    while let Some(step) = generation.next().await {
        tokens.extend(step.tokens.iter().map(|token| token.id));
        finish = step.finish;
    }
    (tokens, finish)
}

/// Waits until the engine's figures satisfy a condition.
pub(super) fn wait(engine: &LocalEngine, condition: impl Fn(&EngineStats) -> bool) -> EngineStats {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let stats = engine.stats();
        if condition(&stats) {
            return stats;
        }
        assert!(Instant::now() < end, "still {stats:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn many_clients_at_once_each_get_their_own_tokens() {
    let engine = engine(LocalOptions { sequences: 5, ..LocalOptions::default() });
    runtime().block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for seed in 0..30u32 {
            let ask = move || GenerationRequest { queue: 2, ..sampled([1, seed], 30, seed.into()) };
            let generation = engine.submit(ask()).unwrap();
            tasks.spawn(async move { (read(generation).await, alone(&ask())) });
        }
        while let Some(result) = tasks.join_next().await {
            let ((tokens, finish), expected) = result.unwrap();
            assert_eq!((tokens, finish), (expected, Some(Finish::Length)));
        }
    });
    let stats = wait(&engine, |stats| stats.free_blocks == 50);
    assert_eq!((stats.generated_tokens, stats.prompt_tokens), (900, 60));
}

#[test]
fn a_paused_sequence_resumes_when_its_client_reads() {
    let engine = engine(LocalOptions::default());
    let mut generation = engine.submit(GenerationRequest { queue: 4, ..request([1], 100) }).unwrap();
    wait(&engine, |stats| stats.paused == 1);
    let steps = engine.stats().steps;
    assert_eq!(steps, 4);
    // One step follows for the room that the read makes, and none before it.
    runtime().block_on(generation.next()).unwrap();
    wait(&engine, |stats| stats.steps == steps + 1 && stats.paused == 1);
    let (rest, finish) = runtime().block_on(read(generation));
    assert_eq!((rest.len(), finish), (99, Some(Finish::Length)));
}

#[test]
fn leaving_cancels_a_sequence_even_while_it_is_paused() {
    let engine = engine(LocalOptions::default());
    let generation = engine.submit(GenerationRequest { queue: 1, ..request([1], 100) }).unwrap();
    wait(&engine, |stats| stats.paused == 1);
    drop(generation);
    let stats = wait(&engine, |stats| stats.free_blocks == 50);
    assert_eq!((stats.paused, stats.cancelled), (0, 1));
}

#[test]
fn too_many_waiting_are_refused_until_one_leaves() {
    let engine = engine(LocalOptions { waiting: 2, ..LocalOptions::default() });
    let ask = |first: u32| GenerationRequest { queue: 1, ..request([first; 150], 100) };
    // Each sequence takes three quarters of the KV cache, and pauses; the next one preempts it and
    // takes its blocks.
    let mut held = Vec::new();
    for paused in 1..=3 {
        held.push(engine.submit(ask(paused)).unwrap());
        wait(&engine, |stats| stats.paused == paused as usize && stats.running == 0);
    }
    assert_eq!(engine.stats().waiting, 2);
    assert_eq!(engine.submit(ask(4)).unwrap_err(), SubmitError::Busy(2));
    // What has begun elsewhere is refused no more.
    let begun = GenerationRequest { begun: vec![1, 2], ..request([5], 3) };
    let (tokens, _) = runtime().block_on(read(engine.submit(begun).unwrap()));
    assert_eq!(tokens.len(), 3);
    held.clear();
    wait(&engine, |stats| stats.cancelled == 3);
    let (tokens, _) = runtime().block_on(read(engine.submit(request([1], 3)).unwrap()));
    assert_eq!(tokens.len(), 3);
}

#[test]
fn unservable_requests_are_refused_with_the_reason() {
    let engine = engine(LocalOptions::default());
    let refused = |prompt: Vec<u32>| engine.submit(request(prompt, 1)).unwrap_err();
    assert_eq!(refused(vec![]), SubmitError::PromptLength { tokens: 0, context: 200 });
    assert_eq!(refused(vec![1; 200]), SubmitError::PromptLength { tokens: 200, context: 200 });
    assert_eq!(refused(vec![1, 40]), SubmitError::UnknownToken(40));
    let (tokens, _) = runtime().block_on(read(engine.submit(request([1; 199], 9)).unwrap()));
    assert_eq!(tokens.len(), 1, "one token fits after the longest prompt");
}

#[test]
fn a_failed_step_leaves_the_engine_running() {
    let mut runner = FakeRunner::new(shape(50, 4));
    runner.fails_on = Some(38);
    let engine = LocalEngine::start(Box::new(runner), LocalOptions::default());
    let (_, finish) = runtime().block_on(read(engine.submit(request([38], 5)).unwrap()));
    assert_eq!(finish, Some(Finish::Error(RunError::Device("out of order".into()).into())));
    let (tokens, _) = runtime().block_on(read(engine.submit(request([1], 5)).unwrap()));
    assert_eq!(tokens, alone(&request([1], 5)));
}

#[test]
fn runner_panic_ends_every_sequence_and_the_engine() {
    let mut runner = FakeRunner::new(shape(50, 4));
    runner.panics_on = Some(38);
    let engine = LocalEngine::start(Box::new(runner), LocalOptions::default());
    let paused = engine.submit(GenerationRequest { queue: 1, ..request([1], 50) }).unwrap();
    wait(&engine, |stats| stats.paused == 1);
    let broken = engine.submit(request([38], 5)).unwrap();
    for generation in [broken, paused] {
        let (_, finish) = runtime().block_on(read(generation));
        assert!(
            matches!(finish, Some(Finish::Error(GenerationError::Panicked(text))) if text == "the fake broke")
        );
    }
    assert_eq!(engine.submit(request([1], 5)).unwrap_err(), SubmitError::Stopped);
    wait(&engine, |stats| stats.failed == 2 && stats.free_blocks == 50);
}

#[test]
fn dropping_the_engine_ends_what_it_generates() {
    let engine = engine(LocalOptions::default());
    let generations: Vec<_> = (0..20)
        .map(|_| engine.submit(GenerationRequest { queue: 1, ..request([1; 50], 100) }).unwrap())
        .collect();
    drop(engine);
    for generation in generations {
        let (_, finish) = runtime().block_on(read(generation));
        // Whether the sequence had begun depends on the threads' timing.
        let ends = [Finish::Error(GenerationError::Stopped), Finish::Refused(SubmitError::Stopped)];
        assert!(finish.as_ref().is_some_and(|finish| ends.contains(finish)), "{finish:?}");
    }
}
