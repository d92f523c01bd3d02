//! The gated delta rule between its projections, loaded by the tensor names of published checkpoints.

use super::stream::ResidualStream;
use crate::models::loading::Loading;
use crate::models::ops::{DeltaLayout, DeltaShape, DeltaWeights, Norm, StoreMode, TensorRole};
use crate::models::{Backend, LoadError, WeightRole, WeightTensor};

/// Weights of one layer.
#[derive(Debug)]
pub(super) struct DeltaMixer<B: Backend> {
    /// Projection of queries, keys, values and output gates.
    projection: B::Matrix,
    /// Projection of update rates and decays.
    rates: B::Matrix,
    weights: B::DeltaWeights,
    out: B::Matrix,
}

/// Activations of a step.
#[derive(Debug)]
pub(super) struct DeltaScratch<T> {
    projected: T,
    rates: T,
    results: T,
}

impl<T> DeltaScratch<T> {
    /// Allocates activations, of width one for a model without such layers.
    pub(super) fn new<B: Backend<Tensor = T>>(
        backend: &mut B,
        shape: Option<DeltaShape>,
    ) -> Result<Self, LoadError> {
        let width = |of: fn(DeltaShape) -> usize| shape.map_or(1, of);
        Ok(Self {
            projected: backend.tensor(TensorRole::Inputs, width(DeltaShape::projected_width))?,
            rates: backend.tensor(TensorRole::Sums, width(DeltaShape::rates_width))?,
            results: backend.tensor(TensorRole::Inputs, width(DeltaShape::out_width))?,
        })
    }
}

impl<B: Backend> DeltaMixer<B> {
    /// Loads tensors whose names begin with `prefix`.
    pub(super) fn load(
        loading: &mut Loading<'_, B>,
        prefix: &str,
        hidden: usize,
        shape: DeltaShape,
    ) -> Result<Self, LoadError> {
        let name = |part: &str| format!("{prefix}.{part}");
        let (wide, narrow) = match shape.layout {
            DeltaLayout::Whole => (
                vec![
                    (name("in_proj_qkv.weight"), shape.channels()),
                    (name("in_proj_z.weight"), shape.out_width()),
                ],
                ["b", "a"].map(|part| (name(&format!("in_proj_{part}.weight")), shape.value_heads)).into(),
            ),
            DeltaLayout::ByKeyHead => (
                vec![(name("in_proj_qkvz.weight"), shape.projected_width())],
                vec![(name("in_proj_ba.weight"), shape.rates_width())],
            ),
        };
        let (norm, eps) = loading.plain_norm(&name("norm.weight"), shape.value_dim)?;
        let weights = DeltaWeights {
            conv: loading.tensor(&name("conv1d.weight"), &[shape.channels(), 1, shape.taps])?,
            decay: decay(loading, prefix, shape.value_heads)?,
            decay_bias: loading.tensor(&name("dt_bias"), &[shape.value_heads])?,
            norm: Norm { weight: norm, eps },
        };
        Ok(Self {
            projection: loading.stacked(WeightRole::Linear, &wide, hidden)?,
            // Errors of decays add up over a whole sequence.
            rates: loading.stacked(WeightRole::Router, &narrow, hidden)?,
            weights: loading.backend.delta_weights(shape, weights)?,
            out: loading.matrix(&name("out_proj.weight"), hidden, shape.out_width())?,
        })
    }

    /// Computes the layer of the norm of the stream with states of layer `layer`, and adds it to the
    /// stream.
    pub(super) fn forward(
        &self,
        backend: &mut B,
        (layer, norm): (usize, Norm<&B::Vector>),
        scratch: &mut DeltaScratch<B::Tensor>,
        stream: &mut ResidualStream<B>,
    ) {
        let DeltaScratch { projected, rates, results } = scratch;
        // Computed once, since both projections read it.
        stream.normalize(backend, norm);
        backend.linear(&stream.normed, &self.projection, None, StoreMode::Overwrite, projected);
        backend.linear(&stream.normed, &self.rates, None, StoreMode::Overwrite, rates);
        backend.gated_delta(layer, &self.weights, projected, rates, results);
        stream.add_linear(backend, results, (&self.out, None), None);
    }
}

/// Loads the rates of decay: checkpoints have their logarithms, GGUF files the factors, which are
/// below zero.
fn decay<B: Backend>(
    loading: &mut Loading<'_, B>,
    prefix: &str,
    heads: usize,
) -> Result<WeightTensor, LoadError> {
    if loading.is_gguf() {
        return Ok(loading.tensor(&format!("{prefix}.A"), &[heads])?.map(|factor| -factor));
    }
    Ok(loading.tensor(&format!("{prefix}.A_log"), &[heads])?.map(f32::exp))
}
