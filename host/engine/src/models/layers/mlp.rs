//! Dense gated feed-forward layer.

use crate::models::loading::Loading;
use crate::models::ops::{LayerInput, Norm, Store, TensorRole};
use crate::models::{Backend, LoadError, WeightRole};

/// Activations of a step.
#[derive(Debug)]
pub(super) struct MlpScratch<T> {
    gate_up: T,
    activated: T,
}

impl<T> MlpScratch<T> {
    /// Allocates activations, of width one for a model without dense feed-forward layers.
    pub(super) fn new<B: Backend<Tensor = T>>(
        backend: &mut B,
        intermediate: Option<usize>,
    ) -> Result<Self, LoadError> {
        let width = intermediate.unwrap_or(1);
        let mut tensor = |width| backend.tensor(TensorRole::Inputs, width);
        Ok(Self { gate_up: tensor(2 * width)?, activated: tensor(width)? })
    }
}

/// `SwiGLU`: the gate and up projections, and the down projection.
#[derive(Debug)]
pub(super) struct GatedMlp<B: Backend> {
    gate_up: B::Matrix,
    down: B::Matrix,
}

impl<B: Backend> GatedMlp<B> {
    /// Loads tensors whose names begin with `prefix`.
    pub(super) fn load(
        loading: &mut Loading<'_, B>,
        prefix: &str,
        (hidden, intermediate): (usize, usize),
    ) -> Result<Self, LoadError> {
        let gate_up = ["gate", "up"].map(|p| (format!("{prefix}.{p}_proj.weight"), intermediate));
        Ok(Self {
            gate_up: loading.stacked(WeightRole::GateUp, &gate_up.into(), hidden)?,
            down: loading.matrix(&format!("{prefix}.down_proj.weight"), hidden, intermediate)?,
        })
    }

    /// Adds the layer's result for the norm of `hidden` to `hidden`.
    pub(super) fn forward(
        &self,
        backend: &mut B,
        norm: Norm<&B::Vector>,
        normed: &mut B::Tensor,
        scratch: &mut MlpScratch<B::Tensor>,
        hidden: &mut B::Tensor,
    ) {
        self.activate(backend, LayerInput::Normed { x: hidden, norm, normed }, scratch);
        backend.linear(&scratch.activated, &self.down, None, Store::Accumulate, hidden);
    }

    /// Adds the layer's result for `x` to `hidden`.
    pub(super) fn forward_of(
        &self,
        backend: &mut B,
        x: &B::Tensor,
        scratch: &mut MlpScratch<B::Tensor>,
        hidden: &mut B::Tensor,
    ) {
        self.activate(backend, LayerInput::Plain(x), scratch);
        backend.linear(&scratch.activated, &self.down, None, Store::Accumulate, hidden);
    }

    fn activate(
        &self,
        backend: &mut B,
        x: LayerInput<'_, B::Tensor, B::Vector>,
        scratch: &mut MlpScratch<B::Tensor>,
    ) {
        let MlpScratch { gate_up, activated } = scratch;
        backend.swiglu(x, &self.gate_up, gate_up, activated);
    }
}
