//! Number of bytes that the operations of a step read on the CPU, for measurements.

use kernels::cpu::{BLOCK_SIZE, Routes, StatePoolShape};

use super::backend::CpuBackend;
use super::mla::MlaWeights;
use super::moe::Experts;
use super::storage::StackedMatrix;
use crate::models::TrafficCounter;

impl TrafficCounter for CpuBackend {
    fn matrix_bytes(&self, matrix: &StackedMatrix) -> u64 {
        matrix.bytes() as u64
    }

    fn head_bytes(&self, head: &StackedMatrix) -> u64 {
        if self.batch.logit_rows.is_empty() { 0 } else { self.matrix_bytes(head) }
    }

    fn experts_bytes(&self, experts: &Experts, routes: &Routes) -> u64 {
        let mut chosen = routes.experts.clone();
        chosen.sort_unstable();
        chosen.dedup();
        chosen.into_iter().map(|expert| experts.bytes_of(expert as usize) as u64).sum()
    }

    fn mla_bytes(&self, weights: &MlaWeights) -> u64 {
        weights.bytes() as u64
    }

    fn gate_bytes(&self, gate: &StackedMatrix) -> u64 {
        self.matrix_bytes(gate)
    }

    fn state_bytes(&self) -> u64 {
        let of_layer = |shape: &StatePoolShape| shape.slot_bytes() / shape.layers.max(1);
        let one = self.states.as_ref().map_or(0, |states| of_layer(states.shape()));
        (self.batch.sequences() * one) as u64
    }

    fn cache_bytes(&self, layer: usize, window: Option<usize>) -> u64 {
        let row = self.cache.layer(layer).shape().block_bytes().unwrap_or(0) / BLOCK_SIZE;
        let seen = |context: &u32| (*context as usize).min(window.unwrap_or(usize::MAX));
        self.batch.context_lens.iter().map(|context| (seen(context) * row) as u64).sum()
    }
}
