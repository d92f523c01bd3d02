//! What the turns of one answer share: the seed of its random values, and its clock.
//!
//! Invariant: what an answer's clients are sent follows from the request, from the tokens and the
//! other inputs that come while it is generated, and from what is in here.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use system::id_seed::Purpose;
use system::{Clock, IdSeed};
use turn::CallIds;

/// What the turns of one answer share. Cheap to clone; clones are the same answer's.
#[derive(Debug, Clone)]
pub struct AnswerContext(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    seed: IdSeed,
    clock: Clock,
    /// Number of generations so far.
    generations: AtomicU32,
}

/// Number of a generation in its answer, from 0 on: turns come one after the other, and the choices
/// of a turn in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GenerationNumber(pub u32);

impl AnswerContext {
    /// The context of an answer whose random values follow from `seed`.
    pub fn new(seed: IdSeed, clock: Clock) -> Self {
        Self(Arc::new(Shared { seed, clock, generations: AtomicU32::new(0) }))
    }

    /// Seed of the answer's random values.
    pub fn seed(&self) -> IdSeed {
        self.0.seed
    }

    /// The answer's clock.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Number of the generation that begins now.
    pub(crate) fn next_generation(&self) -> GenerationNumber {
        GenerationNumber(self.0.generations.fetch_add(1, Ordering::Relaxed))
    }

    /// Seed of a generation's sampler, where the request gives none.
    pub(crate) fn sampling_seed(&self, GenerationNumber(generation): GenerationNumber) -> u64 {
        self.0.seed.number(Purpose::Sampling, generation)
    }

    /// Ids of the calls of a generation.
    pub(crate) fn call_ids(&self, GenerationNumber(generation): GenerationNumber) -> CallIds {
        let (seed, mut calls) = (self.0.seed, 0);
        CallIds::new(move || {
            calls += 1;
            format!("call_{}", seed.id::<12>(Purpose::Calls, generation, calls))
        })
    }
}

impl Default for AnswerContext {
    /// A new answer, which begins now.
    fn default() -> Self {
        Self::new(IdSeed::random(), Clock::system())
    }
}
