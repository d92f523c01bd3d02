//! Per-layer embeddings (Gemma 4 E2B and E4B): a table has a row for each token and layer, to which a
//! projection of the token's embedding is added; each layer adds a gated projection of its row to the
//! residual stream. The table is the greater part of the model's file, and only its rows of a step's
//! tokens are read.

use super::stream::ResidualStream;
use crate::models::config::{ModelConfig, PerLayerRows};
use crate::models::loading::Loading;
use crate::models::ops::{GateActivation, Norm, StoreMode, TensorRole};
use crate::models::{Backend, LoadError, WeightRole};

/// The table, and what is added to its rows.
#[derive(Debug)]
pub(in crate::models) struct PerLayerTable<B: Backend> {
    table: B::Matrix,
    /// Factor of the table's rows.
    factor: f32,
    projection: B::Matrix,
    /// Norm of each layer's part of the projected embedding.
    norm: Norm<B::Vector>,
}

/// What a layer does with its rows.
#[derive(Debug)]
pub(super) struct PerLayerInput<B: Backend> {
    /// The first column of the layer's rows.
    first: usize,
    gate: B::Matrix,
    projection: B::Matrix,
    norm: Norm<B::Vector>,
}

/// Activations of a step, of width one for a model without such rows.
#[derive(Debug)]
pub(in crate::models) struct PerLayerScratch<T> {
    /// Rows of all layers, side by side.
    rows: T,
    projected: T,
    gate: T,
    gated: T,
}

impl<T> PerLayerScratch<T> {
    /// Allocates activations.
    pub(super) fn new<B: Backend<Tensor = T>>(
        backend: &mut B,
        config: &ModelConfig,
    ) -> Result<Self, LoadError> {
        let width = config.per_layer_rows.map_or(1, |rows| rows.width);
        let all = config.per_layer_rows.map_or(1, |_| width * config.layers.len());
        Ok(Self {
            rows: backend.tensor(TensorRole::Sums, all)?,
            projected: backend.tensor(TensorRole::Sums, all)?,
            gate: backend.tensor(TensorRole::Inputs, width)?,
            gated: backend.tensor(TensorRole::Inputs, width)?,
        })
    }
}

impl<B: Backend> PerLayerTable<B> {
    /// Loads the table of a model.
    #[expect(clippy::cast_precision_loss, reason = "widths are far below 2²³")]
    pub(in crate::models) fn load(
        loading: &mut Loading<'_, B>,
        config: &ModelConfig,
        PerLayerRows { width, tokens, factor }: PerLayerRows,
    ) -> Result<Self, LoadError> {
        // Sums of two rows are divided by √2, and projected rows by the root of their width before
        // their norm: constants of what follows anyway.
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let (hidden, all) = (config.hidden, width * config.layers.len());
        let role = WeightRole::Embedding { tied: false };
        Ok(Self {
            table: loading.matrix_for(role, "model.embed_tokens_per_layer.weight", tokens, all)?,
            factor: factor * half,
            projection: loading.matrix("model.per_layer_model_projection.weight", all, hidden)?,
            norm: loading.scaled_norm(
                "model.per_layer_projection_norm.weight",
                width,
                half,
                hidden as f32,
            )?,
        })
    }

    /// Computes the rows of a step's tokens, whose embeddings are the stream.
    pub(in crate::models) fn fill(
        &self,
        backend: &mut B,
        stream: &ResidualStream<B>,
        scratch: &mut PerLayerScratch<B::Tensor>,
    ) {
        let PerLayerScratch { rows, projected, .. } = scratch;
        backend.embed(&self.table, self.factor, rows);
        backend.linear(&stream.hidden, &self.projection, None, StoreMode::Overwrite, projected);
        backend.add_rms_norm(projected, self.norm.as_ref(), rows);
    }
}

impl<B: Backend> PerLayerInput<B> {
    /// Loads tensors of layer `index`, whose names begin with `layer`.
    pub(super) fn load(
        loading: &mut Loading<'_, B>,
        layer: &str,
        index: usize,
        hidden: usize,
        width: usize,
    ) -> Result<Self, LoadError> {
        let name = |part: &str| format!("{layer}.{part}.weight");
        Ok(Self {
            first: index * width,
            gate: loading.matrix(&name("per_layer_input_gate"), width, hidden)?,
            projection: loading.matrix(&name("per_layer_projection"), hidden, width)?,
            norm: loading.norm(&name("post_per_layer_input_norm"), hidden)?,
        })
    }

    /// Adds what the layer makes of its rows to the stream.
    pub(super) fn forward(
        &self,
        backend: &mut B,
        scratch: &mut PerLayerScratch<B::Tensor>,
        stream: &mut ResidualStream<B>,
    ) {
        let PerLayerScratch { rows, gate, gated, .. } = scratch;
        backend.linear(&stream.hidden, &self.gate, None, StoreMode::Overwrite, gate);
        backend.gate_mul_columns(GateActivation::GeluTanh, gate, (rows, self.first), gated);
        stream.add_linear(backend, gated, (&self.projection, None), Some(self.norm.as_ref()));
    }
}
