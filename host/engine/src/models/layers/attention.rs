//! Grouped-query attention, loaded by the tensor names of published checkpoints. Families differ in
//! optional parts: biases, norms on query and key heads and on the result, sinks, a window.

use super::stream::ResidualStream;
use crate::models::config::{AttentionBias, GroupedConfig, ProjectionLayout};
use crate::models::loading::{Loading, Parts};
use crate::models::ops::{AttentionSpec, HeadNorms, Norm, QkvShape, Store, TensorRole};
use crate::models::{Backend, LoadError, WeightRole};

/// Weights of one layer's attention.
#[derive(Debug)]
pub(super) struct GroupedAttention<B: Backend> {
    shape: QkvShape,
    scale: f32,
    window: Option<usize>,
    qkv: B::Matrix,
    qkv_bias: Option<B::Vector>,
    norms: Option<HeadNorms<B::Vector>>,
    sinks: Option<B::Vector>,
    o: B::Matrix,
    o_bias: Option<B::Vector>,
    post_norm: Option<Norm<B::Vector>>,
}

/// Activations of a step.
#[derive(Debug)]
pub(super) struct AttentionScratch<T> {
    qkv: T,
    attended: T,
}

impl<T> AttentionScratch<T> {
    /// Allocates activations, of width one for a model without grouped-query attention.
    pub(super) fn new<B: Backend<Tensor = T>>(
        backend: &mut B,
        config: Option<&GroupedConfig>,
    ) -> Result<Self, LoadError> {
        let (qkv, attended) =
            config.map_or((1, 1), |config| (config.shape.width(), config.shape.out_width()));
        Ok(Self {
            qkv: backend.tensor(TensorRole::Inputs, qkv)?,
            attended: backend.tensor(TensorRole::Inputs, attended)?,
        })
    }
}

impl<B: Backend> GroupedAttention<B> {
    /// Loads tensors whose names begin with `prefix`, and the norm of the result if it has one.
    pub(super) fn load(
        loading: &mut Loading<'_, B>,
        (prefix, post_norm): (&str, &str),
        hidden: usize,
        (config, window): (GroupedConfig, Option<usize>),
    ) -> Result<Self, LoadError> {
        let GroupedConfig { shape, scale, bias, layout, head_norms, sinks, .. } = config;
        let name = |part: &str| format!("{prefix}.{part}");
        let qkv = |kind: &str| -> Parts {
            let tensor = |(part, rows): &(&str, usize)| (name(&format!("{part}.{kind}")), *rows);
            projections(shape, layout).iter().map(tensor).collect()
        };
        let weights = loading.stacked(WeightRole::Linear, &qkv("weight"), hidden)?;
        let has_qkv_bias = bias != AttentionBias::None;
        let qkv_bias = has_qkv_bias.then(|| loading.joined(&qkv("bias"))).transpose()?;
        let norms = head_norms.then(|| head_norms_of(loading, prefix, shape.head_dim)).transpose()?;
        let sinks = sinks.then(|| loading.vector(&name("sinks"), shape.heads)).transpose()?;
        let o = loading.matrix(&name("o_proj.weight"), hidden, shape.out_width())?;
        let has_o_bias = bias == AttentionBias::All;
        let o_bias = has_o_bias.then(|| loading.vector(&name("o_proj.bias"), hidden)).transpose()?;
        let post_norm = config.post_norm.then(|| loading.norm(post_norm, hidden)).transpose()?;
        Ok(Self { shape, scale, window, qkv: weights, qkv_bias, norms, sinks, o, o_bias, post_norm })
    }

    /// Computes attention of the norm of the stream over cache layer `layer`, and adds it to the
    /// stream.
    pub(super) fn forward(
        &self,
        backend: &mut B,
        (layer, rope, norm): (usize, &B::Rope, Norm<&B::Vector>),
        scratch: &mut AttentionScratch<B::Tensor>,
        stream: &mut ResidualStream<B>,
    ) {
        let AttentionScratch { qkv, attended } = scratch;
        let Self { shape, scale, window, .. } = *self;
        let spec = AttentionSpec { shape, scale, window, sinks: self.sinks.as_ref() };
        let norms = self.norms.as_ref().map(HeadNorms::as_ref);
        backend.linear_of(stream.input(norm), &self.qkv, self.qkv_bias.as_ref(), Store::Overwrite, qkv);
        backend.qk_norm_rope_write(layer, spec, norms, rope, qkv);
        backend.attention(layer, spec, qkv, attended);
        let post_norm = self.post_norm.as_ref().map(Norm::as_ref);
        stream.add_linear(backend, attended, (&self.o, self.o_bias.as_ref()), post_norm);
    }
}

/// (name, rows) of the tensors that have the projections of queries, keys and values.
fn projections(shape: QkvShape, layout: ProjectionLayout) -> Vec<(&'static str, usize)> {
    let (q, kv) = (shape.out_width(), shape.kv_heads * shape.head_dim);
    match layout {
        ProjectionLayout::Separate => vec![("q_proj", q), ("k_proj", kv), ("v_proj", kv)],
        ProjectionLayout::Fused => vec![("qkv_proj", shape.width())],
    }
}

fn head_norms_of<B: Backend>(
    loading: &mut Loading<'_, B>,
    prefix: &str,
    head_dim: usize,
) -> Result<HeadNorms<B::Vector>, LoadError> {
    let Norm { weight: q, eps } = loading.norm(&format!("{prefix}.q_norm.weight"), head_dim)?;
    let k = loading.norm(&format!("{prefix}.k_norm.weight"), head_dim)?.weight;
    Ok(HeadNorms { q, k, eps })
}
