//! Linear layers: the choice of a kernel, with the norm in front and the store behind that it includes.
//!
//! The kernel for few rows divides the inner dimension among warps, the kernel for many rows adds along it. So a deterministic engine uses
//! the kernel for many rows for any number of rows: its sums are added in one order.

use cuda_kernels::{DevicePtr, Linear, LinearInput, LinearStore, RmsNorm};

use super::size;
use crate::cuda::backend::{CudaBackend, Tensor};
use crate::cuda::weights::{DeviceMatrix, DeviceVector};
use crate::models::ops::{LayerInput, Norm, Store, TensorRole};

impl CudaBackend {
    /// Linear layer of all rows of the step.
    pub(super) fn multiply(
        &mut self,
        x: LinearInput,
        weight: &DeviceMatrix,
        bias: Option<DevicePtr>,
        store: LinearStore,
        out: DevicePtr,
    ) {
        self.multiply_rows(self.tokens(), x, weight, bias, store, out);
    }

    /// Linear layer of the first `rows` rows.
    pub(super) fn multiply_rows(
        &mut self,
        rows: u32,
        x: LinearInput,
        weight: &DeviceMatrix,
        bias: Option<DevicePtr>,
        store: LinearStore,
        out: DevicePtr,
    ) {
        let (outputs, inputs) = (size(weight.rows), size(weight.cols));
        let linear = Linear { x, weight: weight.at, bias, out, store, rows, outputs, inputs };
        let by_tiles = if self.deterministic { linear.tiles() } else { None };
        self.launch(&by_tiles.unwrap_or_else(|| linear.launch()));
    }

    /// Input of a linear layer of all rows of the step: its kernel includes the norm where it can, else the norm is launched here.
    pub(super) fn normed_or_fused(&mut self, x: LayerInput<'_, Tensor, DeviceVector>) -> LinearInput {
        self.normed_or_fused_of(self.tokens(), x)
    }

    /// [`Self::normed_or_fused`] for the first `rows` rows.
    pub(super) fn normed_or_fused_of(
        &mut self,
        rows: u32,
        x: LayerInput<'_, Tensor, DeviceVector>,
    ) -> LinearInput {
        match x {
            LayerInput::Plain(x) => LinearInput::Bf16(x.at),
            LayerInput::Normed { x, norm: Norm { weight, eps }, .. }
                if !self.deterministic && Linear::takes_norm(rows, size(x.cols)) =>
            {
                LinearInput::Normed { x: x.at, weight: weight.at, eps }
            }
            LayerInput::Normed { x, norm, normed } => {
                self.rms_norm_rows(rows, x, norm, normed);
                LinearInput::Bf16(normed.at)
            }
        }
    }

    pub(super) fn rms_norm_rows(
        &mut self,
        rows: u32,
        x: &Tensor,
        norm: Norm<'_, DeviceVector>,
        out: &mut Tensor,
    ) {
        let Norm { weight, eps } = norm;
        let cols = size(x.cols);
        self.launch(&RmsNorm { x: x.at, weight: weight.at, out: out.at, rows, cols, eps }.launch());
    }
}

/// What a kernel does with its sums, for an output tensor of this role.
pub(super) fn linear_store(role: TensorRole, store: Store) -> LinearStore {
    match (role, store) {
        (TensorRole::Inputs, _) => LinearStore::Bf16,
        (TensorRole::Sums, Store::Overwrite) => LinearStore::F32,
        (TensorRole::Sums, Store::Accumulate) => LinearStore::AddF32,
    }
}
