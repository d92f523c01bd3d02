//! Bytes that are random, the same for the same seed, and generated when they are first read.

use std::ops::Deref;
use std::sync::{Mutex, OnceLock, PoisonError};

use memmap2::MmapMut;
use seeded::SplitMix64;

/// How random bytes are generated, eight at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RandomValues {
    /// bf16 uniform in `middle ± spread`.
    Bf16 { seed: u64, middle: f32, spread: f32 },
    /// Random bytes; bits that aren't in `mask` are zero.
    Codes { seed: u64, mask: u8 },
    /// One byte, repeated.
    Same(u8),
}

impl RandomValues {
    /// How the bytes from `offset` on are generated; `None` where random bytes would begin within a
    /// draw of eight.
    pub(crate) fn behind(self, offset: usize) -> Option<Self> {
        let later = |seed| offset.is_multiple_of(8).then(|| SplitMix64::seed_after(seed, offset as u64 / 8));
        Some(match self {
            Self::Bf16 { seed, middle, spread } => Self::Bf16 { seed: later(seed)?, middle, spread },
            Self::Codes { seed, mask } => Self::Codes { seed: later(seed)?, mask },
            Self::Same(byte) => Self::Same(byte),
        })
    }

    fn fill(self, bytes: &mut [u8]) {
        match self {
            Self::Bf16 { seed, middle, spread } => fill(bytes, seed, middle, spread),
            Self::Codes { seed, mask } => {
                fill_codes(bytes, seed);
                for code in bytes {
                    *code &= mask;
                }
            }
            Self::Same(byte) => bytes.fill(byte),
        }
    }
}

/// Bytes that are generated when they are first read, in memory that is reserved from the
/// beginning.
#[derive(Debug)]
pub struct RandomBytes {
    random: RandomValues,
    empty: Mutex<Option<MmapMut>>,
    filled: OnceLock<MmapMut>,
}

impl RandomBytes {
    /// Bytes that will fill `map`.
    pub(super) fn new(random: RandomValues, map: MmapMut) -> Self {
        Self { random, empty: Mutex::new(Some(map)), filled: OnceLock::new() }
    }

    /// How the bytes are generated.
    pub(crate) fn random_values(&self) -> RandomValues {
        self.random
    }
}

impl Deref for RandomBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.filled.get_or_init(|| {
            let empty = self.empty.lock().unwrap_or_else(PoisonError::into_inner).take();
            let mut map = empty.expect("filled once");
            self.random.fill(&mut map);
            map
        })
    }
}

fn fill_codes(bytes: &mut [u8], seed: u64) {
    for (chunk, draw) in bytes.chunks_mut(8).zip(SplitMix64::new(seed)) {
        chunk.copy_from_slice(&draw.to_le_bytes()[..chunk.len()]);
    }
}

/// Fills with bf16 uniform in `middle ± spread`, four from each draw.
#[expect(clippy::cast_possible_truncation, reason = "takes sixteen bits at a time")]
fn fill(bytes: &mut [u8], seed: u64, middle: f32, spread: f32) {
    for (chunk, z) in bytes.chunks_mut(8).zip(SplitMix64::new(seed)) {
        for (i, out) in chunk.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            let draw = f32::from((z >> (16 * i)) as i16) / 32768.0;
            // Truncated, not rounded: half the time, and as good for a random value.
            *out = (((middle + spread * draw).to_bits() >> 16) as u16).to_le_bytes();
        }
    }
}
