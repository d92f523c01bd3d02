//! How fast this machine's threads read memory: what decoding, which reads all weights for each
//! token, is measured against.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

use crate::models::LoadError;

/// Words that are added at a time, enough for every vector unit to have several loads under way.
const LANES: usize = 32;

/// Memory to read, a part for each thread. It should exceed the processor's caches, else these are
/// measured.
#[derive(Debug)]
pub struct ReadBuffer(Vec<Vec<u64>>);

impl ReadBuffer {
    /// Allocates `bytes` bytes for `threads` threads. Each thread writes its part, so that the part
    /// lies near.
    ///
    /// # Errors
    /// The system doesn't grant the memory.
    pub fn new(threads: usize, bytes: usize) -> Result<Self, LoadError> {
        let threads = threads.max(1);
        let words = (bytes / threads / size_of::<u64>()).next_multiple_of(LANES).max(LANES);
        let mut parts = (0..threads).map(|_| part(words)).collect::<Result<Vec<_>, _>>()?;
        std::thread::scope(|scope| {
            for part in &mut parts {
                scope.spawn(|| part.extend((0..words as u64).map(|word| word ^ 0x9e37_79b9_7f4a_7c15)));
            }
        });
        Ok(Self(parts))
    }

    /// Bytes per second of the fastest of `passes` passes, in which each thread reads its part from
    /// beginning to end, all at the same time.
    #[expect(clippy::cast_precision_loss, reason = "bytes of memory are far below 2⁵³")]
    pub fn bandwidth(&self, passes: usize) -> f64 {
        let barrier = &Barrier::new(self.0.len());
        let times: Vec<Vec<(Instant, Instant)>> = std::thread::scope(|scope| {
            let started: Vec<_> =
                self.0.iter().map(|part| scope.spawn(move || read_passes(part, passes, barrier))).collect();
            started.into_iter().map(|thread| thread.join().expect("reading doesn't panic")).collect()
        });
        let seconds = |pass: usize| {
            let began = times.iter().map(|thread| thread[pass].0).min();
            let ended = times.iter().map(|thread| thread[pass].1).max();
            began.zip(ended).map_or(f64::INFINITY, |(began, ended)| (ended - began).as_secs_f64())
        };
        let least = (0..passes).map(seconds).fold(f64::INFINITY, f64::min);
        self.0.iter().map(|part| size_of_val(part.as_slice())).sum::<usize>() as f64 / least
    }
}

/// Reserves memory whose pages are allocated when they are first written.
fn part(words: usize) -> Result<Vec<u64>, LoadError> {
    let mut part = Vec::new();
    let bytes = (words as u64).saturating_mul(size_of::<u64>() as u64);
    part.try_reserve_exact(words)
        .map_err(|_| LoadError::Memory { what: "the measurement of bandwidth", bytes })?;
    Ok(part)
}

fn read_passes(part: &[u64], passes: usize, barrier: &Barrier) -> Vec<(Instant, Instant)> {
    let pass = |_| {
        barrier.wait();
        let begin = Instant::now();
        black_box(sum(black_box(part)));
        (begin, Instant::now())
    };
    (0..passes).map(pass).collect()
}

fn sum(words: &[u64]) -> u64 {
    let mut lanes = [0_u64; LANES];
    for chunk in words.as_chunks::<LANES>().0 {
        for (lane, word) in lanes.iter_mut().zip(chunk) {
            *lane = lane.wrapping_add(*word);
        }
    }
    lanes.into_iter().fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read() {
        let words: Vec<u64> = (0..4 * LANES as u64).collect();
        assert_eq!(sum(&words), words.iter().sum::<u64>());
    }

    #[test]
    fn any_number_of_threads_reads_at_some_rate() {
        for threads in [0, 1, 3] {
            let rate = ReadBuffer::new(threads, 1 << 20).unwrap().bandwidth(2);
            assert!(rate.is_finite() && rate > 0.0, "{threads} threads: {rate}");
        }
    }
}
