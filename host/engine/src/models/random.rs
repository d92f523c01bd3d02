//! Weights without a file: random values for any configuration, the same for the same seed.
//! Benchmarks measure with them.
//!
//! A tensor is a description ([`RandomValues`]) until its bytes are read. A device that generates
//! the values itself never reads them.

use std::ops::Range;
use std::sync::Arc;

use memmap2::MmapMut;
use seeded::fnv1a;

use super::random_bytes::{RandomBytes, RandomValues};
use super::tensor::{CodeKind, Codes, Dtype, WeightTensor};
use super::{LoadError, Quantization};
use crate::file_bytes::FileBytes;

#[derive(Debug)]
pub(super) struct RandomWeights {
    pub(super) seed: u64,
    /// Format of linear layers. Experts that are read as codes are codes in any case.
    pub(super) quantization: Option<Quantization>,
}

/// Mean square of E4M3 codes whose highest bit of the exponent is zero, all equally likely.
const MEAN_SQUARE: f32 = 0.358;

impl RandomWeights {
    /// Whether a tensor is FP8: in FP8 checkpoints the projections of layers are, and the router
    /// and the embedding aren't.
    pub(super) fn is_fp8(&self, name: &str) -> bool {
        matches!(self.quantization, Some(Quantization::Fp8 { .. }))
            && name.starts_with("model.layers.")
            && name.strip_suffix(".weight").is_some_and(|name| name.contains("_proj"))
    }

    /// Norms are near 1. All other values are uniform with a variance of one over the length of a
    /// row; so are FP8 codes times their scales.
    #[expect(clippy::cast_precision_loss, reason = "a width is far below 2²³")]
    pub(super) fn tensor(&self, name: &str, shape: &[usize]) -> Result<WeightTensor, LoadError> {
        let width = shape.last().copied().unwrap_or(1) as f32;
        let (middle, spread) = match self.quantization {
            Some(Quantization::Fp8 { block: (_, cols) }) if name.ends_with("_scale_inv") => {
                ((width * cols as f32 * MEAN_SQUARE).sqrt().recip(), 0.0)
            }
            _ if name.contains("norm") || name.ends_with("scalar") || name.ends_with("scale") => (1.0, 0.1),
            _ => (0.0, (3.0 / width).sqrt()),
        };
        let seed = self.seed ^ fnv1a(name);
        let (file, range) = reserve(shape, Dtype::Bf16.size(), RandomValues::Bf16 { seed, middle, spread })?;
        Ok(WeightTensor { dtype: Dtype::Bf16, shape: shape.to_vec(), file, range })
    }

    /// Codes are uniform. Exponents are constant, and make values about as large as those of
    /// [`Self::tensor`].
    pub(super) fn codes(&self, name: &str, shape: &[usize], kind: CodeKind) -> Result<Codes, LoadError> {
        let seed = self.seed ^ fnv1a(name);
        let blocks = shape.last().copied().unwrap_or(1);
        let random = match kind {
            CodeKind::E2m1Pairs => RandomValues::Codes { seed, mask: 0xff },
            // E4M3 without the codes that are NaN.
            CodeKind::E4m3 => RandomValues::Codes { seed, mask: 0xbf },
            // The mean square of a code is about 7.5. That of a value should be one over the width,
            // which is 32 times the blocks.
            CodeKind::E8m0 => RandomValues::Same(125 - (32 * blocks).ilog2().div_ceil(2).min(100) as u8),
        };
        let (file, range) = reserve(shape, 1, random)?;
        Ok(Codes { dtype: kind, shape: shape.to_vec(), file, range })
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
    Ok((FileBytes::Random(Arc::new(RandomBytes::new(random, map))), 0..len))
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
