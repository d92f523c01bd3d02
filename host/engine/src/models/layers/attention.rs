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
    output_gate: Option<B::SigmoidGate>,
    o: B::Matrix,
    o_bias: Option<B::Vector>,
    post_norm: Option<Norm<B::Vector>>,
}

/// Activations of a step.
#[derive(Debug)]
pub(super) struct AttentionScratch<T> {
    qkv: T,
    attended: T,
    /// Of width one for a model without output gates.
    gates: T,
}

impl<T> AttentionScratch<T> {
    /// Allocates activations, of width one for a model without grouped-query attention.
    pub(super) fn new<B: Backend<Tensor = T>>(
        backend: &mut B,
        config: Option<&GroupedConfig>,
    ) -> Result<Self, LoadError> {
        let (qkv, attended) =
            config.map_or((1, 1), |config| (config.shape.width(), config.shape.out_width()));
        let gates = if config.is_some_and(|config| config.layout == ProjectionLayout::WithGates) {
            attended
        } else {
            1
        };
        let mut tensor = |width| backend.tensor(TensorRole::Inputs, width);
        Ok(Self { qkv: tensor(qkv)?, attended: tensor(attended)?, gates: tensor(gates)? })
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
        let (weights, output_gate) = if layout == ProjectionLayout::WithGates {
            let (weights, gate) = with_output_gate(loading, prefix, hidden, shape)?;
            (weights, Some(gate))
        } else {
            (loading.stacked(WeightRole::Linear, &qkv("weight"), hidden)?, None)
        };
        let has_qkv_bias = bias != AttentionBias::None;
        let qkv_bias = has_qkv_bias.then(|| loading.joined(&qkv("bias"))).transpose()?;
        let norms = head_norms.then(|| head_norms_of(loading, prefix, shape.head_dim)).transpose()?;
        let sinks = sinks.then(|| loading.vector(&name("sinks"), shape.heads)).transpose()?;
        let o = loading.matrix(&name("o_proj.weight"), hidden, shape.out_width())?;
        let has_o_bias = bias == AttentionBias::All;
        let o_bias = has_o_bias.then(|| loading.vector(&name("o_proj.bias"), hidden)).transpose()?;
        let post_norm = config.post_norm.then(|| loading.norm(post_norm, hidden)).transpose()?;
        let qkv = weights;
        Ok(Self { shape, scale, window, qkv, qkv_bias, norms, sinks, output_gate, o, o_bias, post_norm })
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
        let AttentionScratch { qkv, attended, gates } = scratch;
        let Self { shape, scale, window, .. } = *self;
        let spec = AttentionSpec { shape, scale, window, sinks: self.sinks.as_ref() };
        let norms = self.norms.as_ref().map(HeadNorms::as_ref);
        let bias = self.qkv_bias.as_ref();
        if self.output_gate.is_some() {
            // Computed once, since the projection of gates reads it, too.
            stream.normalize(backend, norm);
            backend.linear(&stream.normed, &self.qkv, bias, Store::Overwrite, qkv);
        } else {
            backend.linear_of(stream.input(norm), &self.qkv, bias, Store::Overwrite, qkv);
        }
        backend.qk_norm_rope_write(layer, spec, norms, rope, qkv);
        backend.attention(layer, spec, qkv, attended);
        if let Some(gate) = &self.output_gate {
            backend.sigmoid_mul(&stream.normed, gate, gates, attended);
        }
        let post_norm = self.post_norm.as_ref().map(Norm::as_ref);
        stream.add_linear(backend, attended, (&self.o, self.o_bias.as_ref()), post_norm);
    }
}

/// Loads the projections of queries, keys and values, and that of the output gates, which lies with
/// the one of the queries, head by head.
fn with_output_gate<B: Backend>(
    loading: &mut Loading<'_, B>,
    prefix: &str,
    hidden: usize,
    QkvShape { heads, kv_heads, head_dim }: QkvShape,
) -> Result<(B::Matrix, B::SigmoidGate), LoadError> {
    let name = |part: &str| format!("{prefix}.{part}_proj.weight");
    let both = loading.stored_parts(&name("q"), (2 * heads, head_dim), hidden)?;
    let of = |first: usize| both.iter().skip(first).step_by(2).cloned();
    let kv = ["k", "v"].map(|part| (name(part), kv_heads * head_dim));
    let qkv: Vec<_> = of(0).chain(loading.stored(&kv.into(), hidden)?).collect();
    let gates: Vec<_> = of(1).collect();
    Ok((loading.backend.matrix(&qkv, WeightRole::Linear)?, loading.backend.sigmoid_gate(&gates)?))
}

/// (name, rows) of the tensors that have the projections of queries, keys and values.
fn projections(shape: QkvShape, layout: ProjectionLayout) -> Vec<(&'static str, usize)> {
    let (q, kv) = (shape.out_width(), shape.kv_heads * shape.head_dim);
    match layout {
        ProjectionLayout::Separate | ProjectionLayout::WithGates => {
            vec![("q_proj", q), ("k_proj", kv), ("v_proj", kv)]
        }
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
