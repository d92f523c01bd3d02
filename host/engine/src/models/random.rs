//! Weights without a file: random values for any configuration, the same for the same seed. Benchmarks measure with them.
//!
//! A tensor is a description ([`RandomValues`]) until its bytes are read. A device that generates the values itself never reads them.

use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use memmap2::MmapMut;

use super::stored::{CodeKind, Codes};
use super::tensor::{Dtype, WeightTensor};
use super::{LoadError, Quantization};
use crate::files::FileBytes;

#[derive(Debug)]
pub(super) struct RandomWeights {
    pub(super) seed: u64,
    /// Format of linear layers. Experts that are read as codes are codes in any case.
    pub(super) quantization: Option<Quantization>,
}

/// Mean square of E4M3 codes whose highest bit of the exponent is zero, all equally likely.
const MEAN_SQUARE: f32 = 0.358;

impl RandomWeights {
    /// Whether a tensor is FP8: in FP8 checkpoints the projections of layers are, and the router and the embedding aren't.
    pub(super) fn is_fp8(&self, name: &str) -> bool {
        matches!(self.quantization, Some(Quantization::Fp8 { .. }))
            && name.starts_with("model.layers.")
            && name.strip_suffix(".weight").is_some_and(|name| name.contains("_proj"))
    }

    /// Norms are near 1. All other values are uniform with a variance of one over the length of a row; so are FP8 codes times their scales.
    #[expect(clippy::cast_precision_loss, reason = "a width is far below 2²³")]
    pub(super) fn tensor(&self, name: &str, shape: &[usize]) -> Result<WeightTensor, LoadError> {
        let width = shape.last().copied().unwrap_or(1) as f32;
        let (middle, spread) = match self.quantization {
            Some(Quantization::Fp8 { block: (_, cols) }) if name.ends_with("_scale_inv") => {
                ((width * cols as f32 * MEAN_SQUARE).sqrt().recip(), 0.0)
            }
            _ if name.contains("norm") => (1.0, 0.1),
            _ => (0.0, (3.0 / width).sqrt()),
        };
        let seed = self.seed ^ hash(name);
        let (file, range) = reserve(shape, Dtype::Bf16.size(), RandomValues::Bf16 { seed, middle, spread })?;
        Ok(WeightTensor { dtype: Dtype::Bf16, shape: shape.to_vec(), file, range })
    }

    /// Codes are uniform. Exponents are constant, and make values about as large as those of [`Self::tensor`].
    pub(super) fn codes(&self, name: &str, shape: &[usize], kind: CodeKind) -> Result<Codes, LoadError> {
        let seed = self.seed ^ hash(name);
        let blocks = shape.last().copied().unwrap_or(1);
        let random = match kind {
            CodeKind::E2m1Pairs => RandomValues::Codes { seed, mask: 0xff },
            // E4M3 without the codes that are NaN.
            CodeKind::E4m3 => RandomValues::Codes { seed, mask: 0xbf },
            // The mean square of a code is about 7.5. That of a value should be one over the width, which is 32 times the blocks.
            CodeKind::E8m0 => RandomValues::Same(125 - (32 * blocks).ilog2().div_ceil(2).min(100) as u8),
        };
        let (file, range) = reserve(shape, 1, random)?;
        Ok(Codes { shape: shape.to_vec(), file, range })
    }
}

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
    /// How the bytes from `offset` on are generated; `None` where random bytes would begin within a draw of eight.
    pub(crate) fn behind(self, offset: usize) -> Option<Self> {
        let later = |seed: u64| {
            offset.is_multiple_of(8).then(|| seed.wrapping_add(STEP.wrapping_mul(offset as u64 / 8)))
        };
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

/// Bytes that are generated when they are first read, in memory that is reserved from the beginning.
#[derive(Debug)]
pub struct RandomBytes {
    random: RandomValues,
    empty: Mutex<Option<MmapMut>>,
    filled: OnceLock<MmapMut>,
}

impl RandomBytes {
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

/// Reserves memory for a tensor. Returns it with the range of the tensor's bytes.
fn reserve(
    shape: &[usize],
    element: usize,
    random: RandomValues,
) -> Result<(FileBytes, Range<usize>), LoadError> {
    let bytes = shape.iter().try_fold(element, |product, n| product.checked_mul(*n));
    let no_memory =
        || LoadError::Memory { what: "random weights", bytes: bytes.unwrap_or(usize::MAX) as u64 };
    let len = bytes.filter(|len| *len > 0).ok_or_else(no_memory)?;
    // Pages that are never written take no memory.
    let map = MmapMut::map_anon(len).map_err(|_| no_memory())?;
    let bytes = RandomBytes { random, empty: Mutex::new(Some(map)), filled: OnceLock::new() };
    Ok((FileBytes::Random(Arc::new(bytes)), 0..len))
}

/// What splitmix64 adds to its state for each draw.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Draws of splitmix64.
fn draws(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(STEP);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

fn fill_codes(bytes: &mut [u8], seed: u64) {
    for (chunk, draw) in bytes.chunks_mut(8).zip(draws(seed)) {
        chunk.copy_from_slice(&draw.to_le_bytes()[..chunk.len()]);
    }
}

/// Fills with bf16 uniform in `middle ± spread`, four from each draw.
#[expect(clippy::cast_possible_truncation, reason = "takes sixteen bits at a time")]
fn fill(bytes: &mut [u8], seed: u64, middle: f32, spread: f32) {
    for (chunk, z) in bytes.chunks_mut(8).zip(draws(seed)) {
        for (i, out) in chunk.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            let draw = f32::from((z >> (16 * i)) as i16) / 32768.0;
            // Truncated, not rounded: half the time, and as good for a random value.
            *out = (((middle + spread * draw).to_bits() >> 16) as u16).to_le_bytes();
        }
    }
}

/// FNV-1a.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_draws_the_same_from_any_eighth_byte_on() {
        let weights = RandomWeights { seed: 7, quantization: None };
        let tensor = weights.tensor("x", &[3, 40, 6]).unwrap();
        let codes = weights.codes("y", &[2, 48], CodeKind::E4m3).unwrap();
        for part in [tensor.clone(), tensor.index(2)] {
            let Some(RandomValues::Bf16 { seed, middle, spread }) = part.random_values() else {
                panic!("not random")
            };
            let random = cuda_kernels::random_weights_reference(part.bytes().len() / 2, seed, middle, spread);
            assert_eq!(part.bytes(), bytemuck::cast_slice::<u16, u8>(&random));
        }
        for part in [codes.clone(), codes.index(1)] {
            let Some(RandomValues::Codes { seed, mask: 0xbf }) = part.random_values() else {
                panic!("not random")
            };
            let random = cuda_kernels::random_codes_reference(part.bytes().len(), seed, 0xbf);
            assert_eq!(part.bytes(), random);
        }
    }

    #[test]
    fn what_begins_within_a_draw_is_copied() {
        let weights = RandomWeights { seed: 7, quantization: None };
        let tensor = weights.tensor("x", &[2, 3]).unwrap();
        assert!(tensor.random_values().is_some() && tensor.index(1).random_values().is_none());
    }
}
