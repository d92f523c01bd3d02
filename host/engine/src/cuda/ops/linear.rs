//! Linear layers: the choice of a kernel, with the norm in front and the store behind that it
//! includes, or of the vendor's library.
//!
//! The library multiplies where there are many rows: its kernels use each architecture's newest
//! instructions for matrices. For few rows the time is that of reading the weight, which the own
//! kernel does at the speed of memory, with what comes before and behind included. FP8 weights are
//! for the own kernels alone.
//!
//! The kernel for few rows divides the inner dimension among warps, the kernel for many rows adds
//! along it. So a deterministic engine uses the kernel for many rows for any number of rows: its
//! sums are added in one order.

use cuda_kernels::{DevicePtr, GateMul, Linear, LinearInput, LinearStore, RmsNorm, size};

use crate::cuda::backend::{CudaBackend, Tensor};
use crate::cuda::weights::{DeviceMatrix, DeviceVector, INTERLEAVED};
use crate::models::ops::{GateActivation, LayerInput, Norm, StoreMode, TensorRole};

/// Fewest rows that the library is asked for: one more than the kernel for few rows takes.
pub(in crate::cuda) const LIBRARY_ROWS: u32 = 17;

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
        self.run(&Linear { x, weight: weight.weight, bias, out, store, rows, outputs, inputs });
    }

    fn run(&mut self, linear: &Linear) {
        if self.multiply_by_library(linear) {
            return;
        }
        let by_tiles = if self.deterministic { linear.tiles() } else { None };
        self.launch(&by_tiles.unwrap_or_else(|| linear.launch()));
    }

    /// Enqueues the library's kernel for a linear layer, where it has one and there are enough
    /// rows.
    fn multiply_by_library(&mut self, linear: &Linear) -> bool {
        let wanted = !self.deterministic && linear.rows >= LIBRARY_ROWS;
        wanted && linear.product().is_some_and(|product| self.product(&product))
    }

    /// Linear layer of gate and up, whose rows are interleaved, and `SwiGLU` behind it. The library
    /// has no such gate: it writes gate and up to `gate_up`.
    pub(super) fn fused_swiglu(
        &mut self,
        x: LinearInput,
        weight: &DeviceMatrix,
        gate_up: &Tensor,
        out: &Tensor,
    ) {
        let fused = Linear {
            x,
            weight: weight.weight,
            bias: None,
            out: out.at,
            store: LinearStore::SwiGlu,
            rows: self.tokens(),
            outputs: size(weight.rows),
            inputs: size(weight.cols),
        };
        let plain = Linear { store: LinearStore::Bf16, out: gate_up.at, ..fused };
        let is_done = self.multiply_by_library(&plain);
        if is_done || self.is_collecting() {
            self.gate_mul_groups(GateActivation::Silu, gate_up, out, INTERLEAVED);
        }
        if !is_done {
            self.run(&fused);
        }
    }

    /// `activation(gate) * up` of all rows of the step; `group` columns of gate lie together.
    pub(super) fn gate_mul_groups(
        &mut self,
        activation: GateActivation,
        gate_up: &Tensor,
        out: &Tensor,
        group: usize,
    ) {
        let (rows, cols, group) = (self.tokens(), size(out.cols), size(group));
        let (gate_up, out) = (gate_up.at, out.at);
        self.launch(&GateMul { activation, gate_up, out, rows, cols, group }.launch());
    }

    /// Input of a linear layer of all rows of the step: its kernel includes the norm where it can,
    /// else the norm is launched here.
    pub(super) fn normed_or_fused(
        &mut self,
        x: LayerInput<'_, Tensor, DeviceVector>,
        weight: &DeviceMatrix,
    ) -> LinearInput {
        self.normed_or_fused_of(self.tokens(), x, weight)
    }

    /// [`Self::normed_or_fused`] for the first `rows` rows.
    pub(super) fn normed_or_fused_of(
        &mut self,
        rows: u32,
        x: LayerInput<'_, Tensor, DeviceVector>,
        weight: &DeviceMatrix,
    ) -> LinearInput {
        match x {
            LayerInput::Plain(x) => LinearInput::Bf16(x.at),
            LayerInput::Normed { x, norm, .. }
                if !self.deterministic && Linear::takes_norm(rows, size(x.cols), &weight.weight) =>
            {
                LinearInput::Normed { x: x.at, weight: norm.weight.at, eps: norm.eps }
            }
            LayerInput::Normed { x, norm, normed } => {
                self.rms_norm_rows(rows, x, norm, StoreMode::Overwrite, normed);
                LinearInput::Bf16(normed.at)
            }
        }
    }

    pub(super) fn rms_norm_rows(
        &mut self,
        rows: u32,
        x: &Tensor,
        norm: Norm<&DeviceVector>,
        store: StoreMode,
        out: &mut Tensor,
    ) {
        let Norm { weight, eps } = norm;
        let (x, weight, cols) = (x.at, weight.at, size(x.cols));
        self.launch(&RmsNorm { x, weight, out: out.at, store, rows, cols, eps }.launch());
    }
}

/// What a kernel does with its sums, for an output tensor of this role.
pub(super) fn linear_store(role: TensorRole, store: StoreMode) -> LinearStore {
    match (role, store) {
        (TensorRole::Inputs, _) => LinearStore::Bf16,
        (TensorRole::Sums, StoreMode::Overwrite) => LinearStore::F32,
        (TensorRole::Sums, StoreMode::Accumulate) => LinearStore::AddF32,
    }
}
