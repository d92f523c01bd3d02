//! Dense gated feed-forward layer.

use super::stream::ResidualStream;
use crate::models::config::{GatedConfig, GatedLayout};
use crate::models::loading::{Loading, Parts};
use crate::models::ops::{GateActivation, LayerInput, Norm, StoreMode, TensorRole};
use crate::models::{Backend, LoadError, WeightRole};

/// Activations of a step.
#[derive(Debug)]
pub(super) struct MlpScratch<T> {
    gate_up: T,
    activated: T,
}

impl<T> MlpScratch<T> {
    /// Allocates activations of this width.
    pub(super) fn new<B: Backend<Tensor = T>>(backend: &mut B, width: usize) -> Result<Self, LoadError> {
        let mut tensor = |width| backend.tensor(TensorRole::Inputs, width);
        Ok(Self { gate_up: tensor(2 * width)?, activated: tensor(width)? })
    }
}

/// The gate and up projections, the gate's activation, and the down projection.
#[derive(Debug)]
pub(super) struct GatedMlp<B: Backend> {
    pub(super) intermediate: usize,
    activation: GateActivation,
    gate_up: B::Matrix,
    down: B::Matrix,
    post_norm: Option<Norm<B::Vector>>,
}

/// Gate of a layer's result.
pub(super) struct ResultGate<'a, B: Backend> {
    pub(super) projection: &'a B::SigmoidGate,
    /// Buffer for its values.
    pub(super) values: &'a mut B::Tensor,
}

impl<B: Backend> GatedMlp<B> {
    /// Loads tensors whose names begin with `prefix`, and the norm `post_norm` of the result if it has
    /// one.
    pub(super) fn load(
        loading: &mut Loading<'_, B>,
        prefix: &str,
        post_norm: &str,
        hidden: usize,
        config: GatedConfig,
    ) -> Result<Self, LoadError> {
        let GatedConfig { intermediate, activation, layout, .. } = config;
        let name = |part: &str| format!("{prefix}.{part}.weight");
        let (gate_up, down): (Parts, _) = match layout {
            GatedLayout::Separate => {
                (["gate_proj", "up_proj"].map(|part| (name(part), intermediate)).into(), "down_proj")
            }
            GatedLayout::Fused => (vec![(name("gate_up_proj"), 2 * intermediate)], "down_proj"),
            GatedLayout::SharedExpert => (vec![(name("input_linear"), 2 * intermediate)], "output_linear"),
        };
        let gate_up = loading.stacked(WeightRole::GateUp, &gate_up, hidden)?;
        let down = loading.matrix(&name(down), hidden, intermediate)?;
        let post_norm = config.post_norm.then(|| loading.norm(post_norm, hidden)).transpose()?;
        Ok(Self { intermediate, activation, gate_up, down, post_norm })
    }

    /// Adds the layer's result for the norm of the stream to the stream.
    pub(super) fn forward(
        &self,
        backend: &mut B,
        norm: Norm<&B::Vector>,
        scratch: &mut MlpScratch<B::Tensor>,
        stream: &mut ResidualStream<B>,
    ) {
        self.activate(backend, stream.input(norm), scratch);
        let post_norm = self.post_norm.as_ref().map(Norm::as_ref);
        stream.add_linear(backend, &scratch.activated, (&self.down, None), post_norm);
    }

    /// Writes the norm of the layer's result for the norm of the stream to `out`.
    pub(super) fn forward_beside(
        &self,
        backend: &mut B,
        norm: Norm<&B::Vector>,
        scratch: &mut MlpScratch<B::Tensor>,
        stream: &mut ResidualStream<B>,
        out: &mut B::Tensor,
    ) {
        self.activate(backend, stream.input(norm), scratch);
        backend.linear(&scratch.activated, &self.down, None, StoreMode::Overwrite, &mut stream.result);
        if let Some(norm) = &self.post_norm {
            backend.rms_norm(&stream.result, norm.as_ref(), out);
        }
    }

    /// Adds the layer's result for `x` to `hidden`, times the sigmoid of a gate if there is one.
    pub(super) fn forward_of(
        &self,
        backend: &mut B,
        x: &B::Tensor,
        scratch: &mut MlpScratch<B::Tensor>,
        gate: Option<ResultGate<'_, B>>,
        hidden: &mut B::Tensor,
    ) {
        self.activate(backend, LayerInput::Plain(x), scratch);
        if let Some(ResultGate { projection, values }) = gate {
            backend.sigmoid_mul(x, projection, values, &mut scratch.activated);
        }
        backend.linear(&scratch.activated, &self.down, None, StoreMode::Accumulate, hidden);
    }

    fn activate(
        &self,
        backend: &mut B,
        x: LayerInput<'_, B::Tensor, B::Vector>,
        scratch: &mut MlpScratch<B::Tensor>,
    ) {
        let MlpScratch { gate_up, activated } = scratch;
        backend.gated(x, (&self.gate_up, self.activation), gate_up, activated);
    }
}
