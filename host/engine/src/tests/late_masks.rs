//! Late masks: their sequences leave steps out, and no others do.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use super::fake::{FakeRunner, Rig, alone, request, shape};
use super::local::{read, runtime, wait};
use crate::error::MaskError;
use crate::generation::{Engine, Finish, GenerationRequest, TokenMask};
use crate::local::LocalEngine;
use crate::options::LocalOptions;
use crate::runner::RunnerShape;
use crate::speculation::SpeculationOptions;

/// Gate that a test opens and closes: masks are ready while it is open.
#[derive(Debug, Default)]
struct Gate {
    closed: bool,
    polls: usize,
    waker: Option<Waker>,
}

/// A mask that allows everything, once its gate is open.
#[derive(Debug, Default, Clone)]
struct Gated(Arc<Mutex<Gate>>);

impl Gated {
    fn closed() -> Self {
        let gate = Self::default();
        gate.0.lock().unwrap().closed = true;
        gate
    }

    fn set(&self, closed: bool) {
        let mut gate = self.0.lock().unwrap();
        gate.closed = closed;
        if let Some(waker) = gate.waker.take().filter(|_| !closed) {
            waker.wake();
        }
    }

    fn polls(&self) -> usize {
        self.0.lock().unwrap().polls
    }

    fn request(&self, queue: usize) -> GenerationRequest {
        GenerationRequest { mask: Some(Box::new(self.clone())), queue, ..request([7, 8, 9], 12) }
    }
}

impl TokenMask for Gated {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut gate = self.0.lock().unwrap();
        gate.polls += 1;
        gate.waker = Some(cx.waker().clone());
        if gate.closed { Poll::Pending } else { Poll::Ready(()) }
    }

    fn apply(&mut self, _: &mut [u32]) -> Result<(), MaskError> {
        assert!(!self.0.lock().unwrap().closed, "it isn't there");
        Ok(())
    }

    fn advance(&mut self, _: u32) -> Result<(), MaskError> {
        Ok(())
    }
}

fn steps(rig: &mut Rig, count: usize) {
    for _ in 0..count {
        rig.step().expect("someone goes on");
    }
}

#[test]
fn late_mask_skips_steps_of_its_own_sequence_only() {
    for ahead in [0, 1] {
        let options = LocalOptions { speculation: SpeculationOptions::OFF, ..LocalOptions::default() };
        let mut rig = Rig::new(RunnerShape { ahead, ..shape(100, 4) }, options);
        let gate = Gated::default();
        let (mut late, mut other) = (rig.submit(gate.request(99)), rig.submit(request([1, 2], 60)));
        steps(&mut rig, 5);
        gate.set(true);
        // The step under way is sampled before the mask is late, and one more row is computed in
        // vain.
        rig.step();
        let read = (late.read(99), other.read(99));
        let (before, rows) = (rig.scheduler.stats(), rig.runner.computed);
        steps(&mut rig, 20);
        assert_eq!((late.read(99), other.read(99)), (0, 20), "behind {read:?} tokens");
        assert!(rig.runner.computed - rows <= 21, "one row of it at most is computed in vain");
        assert_eq!(rig.scheduler.stats().late_masks, 1, "{before:?}");
        gate.set(false);
        rig.run();
        late.read(99);
        other.read(99);
        assert_eq!((late.tokens, late.finish), (alone(&gate.request(99)), Some(Finish::Length)));
        assert_eq!((other.tokens, other.finish), (alone(&request([1, 2], 60)), Some(Finish::Length)));
        assert_eq!(rig.scheduler.stats().free_blocks, 100);
    }
}

#[test]
fn late_sequence_goes_on_as_soon_as_its_mask_comes() {
    let mut rig = Rig::new(shape(100, 4), LocalOptions::default());
    let gate = Gated::closed();
    let mut client = rig.submit(gate.request(99));
    assert_eq!((rig.step(), rig.step()), (Some(3), None), "its prompt is computed, then nothing");
    gate.set(false);
    assert_eq!((rig.step(), client.read(99)), (Some(1), 1), "its last row once more");
}

fn engine() -> LocalEngine {
    LocalEngine::start(Box::new(FakeRunner::new(shape(50, 4))), LocalOptions::default())
}

#[test]
fn the_engine_sleeps_until_the_mask_is_there() {
    let (engine, gate) = (engine(), Gated::closed());
    let generation = engine.submit(gate.request(99)).unwrap();
    let stats = wait(&engine, |stats| stats.late_masks == 1);
    let other = engine.submit(request([1], 30)).unwrap();
    let (tokens, _) = runtime().block_on(read(other));
    assert_eq!((tokens, stats.generated_tokens), (alone(&request([1], 30)), 0));
    // Each round of the engine polls once; 30 tokens and the ends of both sequences need less than
    // a hundred rounds.
    assert!(gate.polls() < 100, "{} looks", gate.polls());
    gate.set(false);
    let (tokens, finish) = runtime().block_on(read(generation));
    assert_eq!((tokens, finish), (alone(&gate.request(99)), Some(Finish::Length)));
}

#[test]
fn leaver_with_a_late_mask_gives_its_blocks_back() {
    let (engine, gate) = (engine(), Gated::closed());
    let generation = engine.submit(gate.request(99)).unwrap();
    wait(&engine, |stats| stats.late_masks == 1 && stats.free_blocks < 50);
    drop(generation);
    let stats = wait(&engine, |stats| stats.free_blocks == 50);
    assert_eq!((stats.cancelled, stats.running, stats.generated_tokens), (1, 0, 0));
}
