//! Draws random inputs, checks a property of each, and shows the shortest input that fails: the
//! base of the test kit's property tests.
//!
//! Invariant: input `n` of a run depends on the run's seed and on `n` alone. The seed is 0, so that
//! every run draws the same; the variable `PARSER_TEST_SEED` of the environment sets another, and
//! `PARSER_TEST_SEED=random` a new one each time, which a failure names.

use std::fmt::Debug;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use seeded::SplitMix64;

/// Environment variable with the seed of a run.
const SEED: &str = "PARSER_TEST_SEED";

/// A run: its seed, and the number of inputs.
#[derive(Debug)]
pub(super) struct Explorer {
    seed: u64,
    count: u64,
}

impl Explorer {
    /// A run of `count` inputs with the seed of the environment.
    ///
    /// # Panics
    /// `PARSER_TEST_SEED` is set, and neither a number nor `random`.
    pub(super) fn new(count: u64) -> Self {
        let seed = match std::env::var(SEED).as_deref() {
            Err(_) => 0,
            Ok("random") => RandomState::new().build_hasher().finish(),
            Ok(number) => number.parse().unwrap_or_else(|_| panic!("{SEED} is a number, or `random`")),
        };
        Self { seed, count }
    }

    /// Runs `holds` on every input. If one fails, the shorter inputs that `shorter` makes of it are
    /// tried in its place.
    ///
    /// # Panics
    /// `holds` panics; the shortest input that fails is shown.
    pub(super) fn each<T: Debug>(
        &self,
        draw: impl Fn(&mut Random) -> T,
        shorter: impl Fn(&T) -> Vec<T>,
        holds: impl Fn(&T),
    ) {
        let fails = |drawn: &T| catch_unwind(AssertUnwindSafe(|| holds(drawn))).err();
        for number in 0..self.count {
            let mut drawn = draw(&mut Random(SplitMix64::new(self.seed.wrapping_add(number))));
            let Some(mut failure) = fails(&drawn) else { continue };
            while let Some(same) = shorter(&drawn).into_iter().find_map(|less| Some((fails(&less)?, less))) {
                (failure, drawn) = same;
            }
            eprintln!("number {number} with {SEED}={} fails, at its shortest as {drawn:?}", self.seed);
            resume_unwind(failure);
        }
    }
}

/// Random parts of inputs.
#[derive(Debug)]
pub(super) struct Random(SplitMix64);

impl Random {
    /// A number below `bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.0.draw() >> 33).expect("31 bits") % bound
    }

    /// One element of `all`.
    pub(super) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// A text of at most `longest` characters of `alphabet`.
    pub(super) fn text(&mut self, alphabet: &str, longest: usize) -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        (0..self.below(longest + 1)).map(|_| *self.of(&alphabet)).collect()
    }

    /// Sizes to cut a stream by: 1 to `count` sizes, each of 1 to `largest` characters.
    pub(super) fn sizes(&mut self, count: usize, largest: usize) -> Vec<usize> {
        (0..=self.below(count)).map(|_| 1 + self.below(largest)).collect()
    }
}

/// The list without one of its parts, for each part.
pub(super) fn without_one<T: Clone>(parts: &[T]) -> impl Iterator<Item = Vec<T>> {
    (0..parts.len()).map(|left_out| [&parts[..left_out], &parts[left_out + 1..]].concat())
}
