//! Attention over a compressed cache (MLA, DeepSeek-V2, arXiv:2405.04434), loaded by the tensor
//! names of published checkpoints. Queries are projected from the residual stream directly, or
//! through a narrower row.

use super::stream::ResidualStream;
use crate::models::config::LatentConfig;
use crate::models::loading::Loading;
use crate::models::ops::{LayerInput, MlaShape, Norm, StoreMode, TensorRole};
use crate::models::{Backend, LoadError};

/// Weights of one layer's attention.
#[derive(Debug)]
pub(super) struct LatentAttention<B: Backend> {
    shape: MlaShape,
    queries: Queries<B>,
    kv: B::Matrix,
    kv_norm: Norm<B::Vector>,
    weights: B::MlaWeights,
    o: B::Matrix,
}

#[derive(Debug)]
enum Queries<B: Backend> {
    Direct(B::Matrix),
    /// Projection down, norm, projection up.
    Narrow(B::Matrix, Norm<B::Vector>, B::Matrix),
}

/// Activations of a step.
#[derive(Debug)]
pub(super) struct MlaLayerScratch<T> {
    /// Narrow row of the queries, before and after its norm.
    narrow: (T, T),
    queries: T,
    kv: T,
    attended: T,
}

impl<T> MlaLayerScratch<T> {
    /// Allocates activations, of width one for those that a model lacks.
    pub(super) fn new<B: Backend<Tensor = T>>(
        backend: &mut B,
        config: Option<&LatentConfig>,
    ) -> Result<Self, LoadError> {
        let narrow = config.and_then(|config| config.query_rank).unwrap_or(1);
        let width = |of: fn(MlaShape) -> usize| config.map_or(1, |config| of(config.shape));
        let before = backend.tensor(TensorRole::Sums, narrow)?;
        let mut inputs = |width| backend.tensor(TensorRole::Inputs, width);
        Ok(Self {
            narrow: (before, inputs(narrow)?),
            queries: inputs(width(MlaShape::query_width))?,
            kv: inputs(width(MlaShape::cached_width))?,
            attended: inputs(width(MlaShape::out_width))?,
        })
    }
}

impl<B: Backend> LatentAttention<B> {
    /// Loads tensors whose names begin with `prefix`.
    pub(super) fn load(
        loading: &mut Loading<'_, B>,
        prefix: &str,
        hidden: usize,
        config: &LatentConfig,
    ) -> Result<Self, LoadError> {
        let LatentConfig { shape, query_rank, scale } = *config;
        let name = |part: &str| format!("{prefix}.{part}.weight");
        let width = shape.query_width();
        let queries = match query_rank {
            None => Queries::Direct(loading.matrix(&name("q_proj"), width, hidden)?),
            Some(rank) => Queries::Narrow(
                loading.matrix(&name("q_a_proj"), rank, hidden)?,
                loading.norm(&name("q_a_layernorm"), rank)?,
                loading.matrix(&name("q_b_proj"), width, rank)?,
            ),
        };
        let kv = loading.matrix(&name("kv_a_proj_with_mqa"), shape.cached_width(), hidden)?;
        let kv_norm = loading.norm(&name("kv_a_layernorm"), shape.rank)?;
        let rows = shape.heads * (shape.nope + shape.value);
        let projection = loading.stored(&vec![(name("kv_b_proj"), rows)], shape.rank)?;
        let weights = loading.backend.mla_weights(shape, scale, &projection[0])?;
        let o = loading.matrix(&name("o_proj"), hidden, shape.out_width())?;
        Ok(Self { shape, queries, kv, kv_norm, weights, o })
    }

    /// Computes attention of the norm of the stream over cache layer `layer`, and adds it to the
    /// stream.
    pub(super) fn forward(
        &self,
        backend: &mut B,
        (layer, rope, norm): (usize, &B::Rope, Norm<&B::Vector>),
        scratch: &mut MlaLayerScratch<B::Tensor>,
        stream: &mut ResidualStream<B>,
    ) {
        let MlaLayerScratch { narrow: (before, after), queries, kv, attended } = scratch;
        // Computed once, since queries and compressed rows both read it.
        stream.normalize(backend, norm);
        let normed = &stream.normed;
        match &self.queries {
            Queries::Direct(weight) => backend.linear(normed, weight, None, StoreMode::Overwrite, queries),
            Queries::Narrow(down, norm, up) => {
                backend.linear(normed, down, None, StoreMode::Overwrite, before);
                let x = LayerInput::Normed { x: before, norm: norm.as_ref(), normed: after };
                backend.linear_of(x, up, None, StoreMode::Overwrite, queries);
            }
        }
        backend.linear(normed, &self.kv, None, StoreMode::Overwrite, kv);
        backend.mla_write(layer, self.shape, self.kv_norm.as_ref(), rope, queries, kv);
        backend.mla_attention(layer, &self.weights, queries, attended);
        stream.add_linear(backend, attended, (&self.o, None), None);
    }
}
