//! Attention over a compressed cache (MLA, DeepSeek-V2, arXiv:2405.04434), loaded by the names of published checkpoints. Queries come
//! of the residual stream, or of a narrower row between.

use crate::models::config::LatentConfig;
use crate::models::loading::Loading;
use crate::models::ops::{LayerInput, MlaSpec, Norm, Store, TensorRole};
use crate::models::{Backend, LoadError};

/// Projections around the cache.
#[derive(Debug)]
pub(super) struct LatentAttention<B: Backend> {
    spec: MlaSpec,
    queries: Queries<B>,
    kv: B::Matrix,
    kv_norm: B::Vector,
    weights: B::MlaWeights,
    o: B::Matrix,
}

#[derive(Debug)]
enum Queries<B: Backend> {
    Direct(B::Matrix),
    /// Down, norm, up.
    Narrow(B::Matrix, B::Vector, B::Matrix),
}

/// Activations of a step.
#[derive(Debug)]
pub(super) struct Scratch<T> {
    /// Before and after the norm.
    narrow: (T, T),
    queries: T,
    kv: T,
    attended: T,
}

impl<T> Scratch<T> {
    /// Of width one for what a model lacks.
    pub(super) fn new<B: Backend<Tensor = T>>(
        backend: &mut B,
        config: Option<&LatentConfig>,
    ) -> Result<Self, LoadError> {
        let narrow = config.and_then(|config| config.query_rank).unwrap_or(1);
        let width = |of: fn(&MlaSpec) -> usize| config.map_or(1, |config| of(&config.spec()));
        let before = backend.tensor(TensorRole::Sums, narrow)?;
        let mut inputs = |width| backend.tensor(TensorRole::Inputs, width);
        Ok(Self {
            narrow: (before, inputs(narrow)?),
            queries: inputs(width(MlaSpec::query_width))?,
            kv: inputs(width(MlaSpec::cached_width))?,
            attended: inputs(width(MlaSpec::out_width))?,
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
        let spec = config.spec();
        let name = |part: &str| format!("{prefix}.{part}.weight");
        let width = spec.query_width();
        let queries = match config.query_rank {
            None => Queries::Direct(loading.matrix(&name("q_proj"), width, hidden)?),
            Some(rank) => Queries::Narrow(
                loading.matrix(&name("q_a_proj"), rank, hidden)?,
                loading.vector(&name("q_a_layernorm"), rank)?,
                loading.matrix(&name("q_b_proj"), width, rank)?,
            ),
        };
        let kv = loading.matrix(&name("kv_a_proj_with_mqa"), spec.cached_width(), hidden)?;
        let kv_norm = loading.vector(&name("kv_a_layernorm"), spec.rank)?;
        let rows = spec.heads * (spec.nope + spec.value);
        let projection = loading.stored(&vec![(name("kv_b_proj"), rows)], spec.rank)?;
        let weights = loading.backend.mla_weights(spec, &projection[0])?;
        let o = loading.matrix(&name("o_proj"), hidden, spec.out_width())?;
        Ok(Self { spec, queries, kv, kv_norm, weights, o })
    }

    /// Adds what the norm of `hidden` attends to in cache layer `layer` to `hidden`.
    pub(super) fn forward(
        &self,
        backend: &mut B,
        (layer, rope, norm): (usize, &B::Rope, Norm<'_, B::Vector>),
        normed: &mut B::Tensor,
        scratch: &mut Scratch<B::Tensor>,
        hidden: &mut B::Tensor,
    ) {
        let Scratch { narrow: (before, after), queries, kv, attended } = scratch;
        let eps = norm.eps;
        // Two read it.
        backend.rms_norm(hidden, norm, normed);
        match &self.queries {
            Queries::Direct(weight) => backend.linear(normed, weight, None, Store::Overwrite, queries),
            Queries::Narrow(down, norm, up) => {
                backend.linear(normed, down, None, Store::Overwrite, before);
                let x = LayerInput::Normed { x: before, norm: Norm { weight: norm, eps }, normed: after };
                backend.linear_of(x, up, None, Store::Overwrite, queries);
            }
        }
        backend.linear(normed, &self.kv, None, Store::Overwrite, kv);
        let norm = Norm { weight: &self.kv_norm, eps };
        backend.mla_write(layer, self.spec, norm, rope, queries, kv);
        backend.mla_attention(layer, &self.weights, queries, attended);
        backend.linear(attended, &self.o, None, Store::Accumulate, hidden);
    }
}
