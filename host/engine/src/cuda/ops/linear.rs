//! Linear layers: which kernel takes them, and what it does on the way.
//!
//! The kernel for few rows shares out the inner dimension, the one for many goes along it; so a deterministic engine has the second for
//! all, whose sums are in one order whatever the rows are.

use cuda_kernels::{DevicePtr, Linear, LinearInput, LinearStore, RmsNorm};

use super::size;
use crate::cuda::backend::{CudaBackend, Tensor};
use crate::cuda::weights::{DeviceMatrix, DeviceVector};
use crate::models::ops::{LayerInput, Norm, Store, TensorRole};

impl CudaBackend {
    /// A linear layer of the step's rows.
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

    /// One of so many rows.
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

    /// What a linear layer of the step's rows reads: a norm that its kernel takes on the way, or one that is taken here.
    pub(super) fn on_the_way(&mut self, x: LayerInput<'_, Tensor, DeviceVector>) -> LinearInput {
        self.on_the_way_of(self.tokens(), x)
    }

    /// The same of so many rows.
    pub(super) fn on_the_way_of(
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

/// What becomes of sums in a tensor of this role.
pub(super) fn linear_store(role: TensorRole, store: Store) -> LinearStore {
    match (role, store) {
        (TensorRole::Inputs, _) => LinearStore::Bf16,
        (TensorRole::Sums, Store::Overwrite) => LinearStore::F32,
        (TensorRole::Sums, Store::Accumulate) => LinearStore::AddF32,
    }
}
