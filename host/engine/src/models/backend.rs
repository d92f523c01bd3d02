//! The seam between models and devices: fused operations on flat batches of tokens.
//!
//! A model is written once against it. Operations run in the order of the calls and can't fail one by one (a device reports
//! at the end); outputs take the shape that their inputs call for. `n` is the number of tokens of the step.

use kernels::cpu::{QkvShape, Store};

use super::{LoadError, Rope, WeightTensor};
use crate::batch::{Batch, RunError};

/// A device with its KV cache.
pub trait Backend {
    /// A weight `[out, in]` as the device keeps it.
    type Matrix: std::fmt::Debug;
    /// A norm's weight or a bias, f32.
    type Vector: std::fmt::Debug;
    /// Activations `[rows, cols]`; empty by default.
    type Tensor: Default + std::fmt::Debug;

    /// Takes over a weight of one or several parts, stacked by rows.
    fn matrix(&mut self, parts: &[WeightTensor]) -> Result<Self::Matrix, LoadError>;
    /// Takes over a vector of one or several parts, one after the other.
    fn vector(&mut self, parts: &[WeightTensor]) -> Result<Self::Vector, LoadError>;

    /// Begins a step: what the operations below need to know of the batch.
    fn begin(&mut self, batch: &Batch, rope: &Rope, shape: QkvShape);
    /// `out[i] = table[tokens[i]]`: `[n, cols]`.
    fn embed(&mut self, table: &Self::Matrix, out: &mut Self::Tensor);
    /// `out = x / sqrt(mean(x²) + eps) * weight`, per row.
    fn rms_norm(&mut self, x: &Self::Tensor, weight: &Self::Vector, eps: f32, out: &mut Self::Tensor);
    /// `out = x · weightᵀ + bias`, or `out += …`.
    fn linear(
        &mut self,
        x: &Self::Tensor,
        weight: &Self::Matrix,
        bias: Option<&Self::Vector>,
        store: Store,
        out: &mut Self::Tensor,
    );
    /// Norms and rotates the query and key heads of `qkv`, and writes keys and values to the batch's slots.
    fn qk_norm_rope_write(
        &mut self,
        layer: usize,
        qkv: &mut Self::Tensor,
        norms: HeadNorms<'_, Self::Vector>,
    );
    /// Causal attention of the queries in `qkv` over the cache: `[n, heads * head_dim]`.
    fn attention(&mut self, layer: usize, qkv: &Self::Tensor, out: &mut Self::Tensor);
    /// `silu(gate) * up`, for rows of gate and up side by side.
    fn silu_mul(&mut self, gate_up: &Self::Tensor, out: &mut Self::Tensor);
    /// The rows whose logits are wanted.
    fn logit_rows(&mut self, x: &Self::Tensor, out: &mut Self::Tensor);
    /// `x · headᵀ` in f32, where the host can read it: `[rows, vocab]`. Ends the step; reports what failed in it.
    fn logits(&mut self, x: &Self::Tensor, head: &Self::Matrix) -> Result<&[f32], RunError>;
}

/// Norms of query and key heads.
#[derive(Debug)]
pub struct HeadNorms<'a, V> {
    /// `[head_dim]`, for queries.
    pub q: &'a V,
    /// `[head_dim]`, for keys.
    pub k: &'a V,
    /// Added to the mean square.
    pub eps: f32,
}
