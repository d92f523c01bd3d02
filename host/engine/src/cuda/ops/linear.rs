//! Linear layers: which kernel takes them.
//!
//! The kernel for few rows shares out the inner dimension, the one for many goes along it; so a deterministic engine has the second for
//! all, whose sums are in one order whatever the rows are.

use cuda_kernels::{Linear, LinearInput, LinearStore};

use super::size;
use crate::cuda::backend::{CudaBackend, Tensor};
use crate::cuda::weights::{DeviceMatrix, DeviceVector};
use crate::models::ops::{Store, TensorRole};

impl CudaBackend {
    pub(super) fn multiply(&mut self, linear: &Linear) {
        let by_tiles = if self.deterministic { linear.tiles() } else { None };
        self.launch(&by_tiles.unwrap_or_else(|| linear.launch()));
    }
}

/// A linear layer of `rows` rows.
pub(super) fn linear(
    x: &Tensor,
    weight: &DeviceMatrix,
    bias: Option<&DeviceVector>,
    store: Store,
    out: &mut Tensor,
    rows: u32,
) -> Linear {
    Linear {
        x: LinearInput::Bf16(x.at),
        weight: weight.at,
        bias: bias.map(|bias| bias.at),
        out: out.at,
        store: match (out.role, store) {
            (TensorRole::Inputs, _) => LinearStore::Bf16,
            (TensorRole::Sums, Store::Overwrite) => LinearStore::F32,
            (TensorRole::Sums, Store::Accumulate) => LinearStore::AddF32,
        },
        rows,
        outputs: size(weight.rows),
        inputs: size(weight.cols),
    }
}
