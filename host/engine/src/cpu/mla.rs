//! Attention over a compressed cache (MLA) on the CPU.

use kernels::cpu::{self, Cpu, KvLayer, MlaScratch, SequenceRows};

use super::storage::Storage;
use crate::models::ops::MlaShape;
use crate::models::{LoadError, StoredMatrix, WeightRole};

/// Weights that turn compressed rows into keys and values, and the factor of scores.
#[derive(Debug)]
pub(super) struct MlaWeights {
    weights: cpu::MlaWeights,
    bytes: usize,
    scale: f32,
}

impl MlaWeights {
    /// Widens the projection to f32, however it is stored: the absorbed form needs half of it
    /// transposed.
    pub(super) fn new(
        cpu: &Cpu,
        shape: MlaShape,
        scale: f32,
        projection: &StoredMatrix,
    ) -> Result<Self, LoadError> {
        let stored = Storage::AS_STORED.matrix(cpu, std::slice::from_ref(projection), WeightRole::Linear)?;
        let widened: Vec<f32> = stored.parts().iter().flat_map(cpu::Matrix::to_f32).collect();
        let weights = cpu::MlaWeights::new(shape, &widened);
        Ok(Self { weights, bytes: size_of_val(&widened[..]), scale })
    }

    /// Bytes of the widened projection.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn attend(
        &self,
        cpu: &Cpu,
        queries: &[f32],
        sequences: &[SequenceRows<'_>],
        cache: &KvLayer,
        scratch: &mut MlaScratch,
        out: &mut [f32],
    ) {
        cpu::mla_attention(cpu, &self.weights, (queries, self.scale), sequences, cache, scratch, out);
    }
}
