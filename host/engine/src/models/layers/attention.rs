//! Grouped-query attention, loaded by the tensor names of published checkpoints. Families differ in
//! optional parts: biases, norms on heads and on the result, sinks, a window, keys of other layers.

use super::stream::ResidualStream;
use crate::models::config::{AttentionBias, GroupedConfig, ProjectionLayout};
use crate::models::loading::{Loading, Parts};
use crate::models::ops::{AttentionSpec, HeadNorms, Norm, QkvShape, StoreMode, TensorRole};
use crate::models::{Backend, LoadError, WeightRole};

/// Weights of one layer's attention.
#[derive(Debug)]
pub(super) struct GroupedAttention<B: Backend> {
    /// Widths of its activations.
    pub(super) widths: [usize; 3],
    shape: QkvShape,
    scale: f32,
    window: Option<usize>,
    qkv: B::Matrix,
    qkv_bias: Option<B::Vector>,
    norms: HeadNormsOf<B::Vector>,
    sinks: Option<B::Vector>,
    output_gate: Option<B::SigmoidGate>,
    o: B::Matrix,
    o_bias: Option<B::Vector>,
    post_norm: Option<Norm<B::Vector>>,
}

/// Norms of heads, for those that a layer has.
#[derive(Debug)]
enum HeadNormsOf<V> {
    /// Of queries and keys, if there are norms.
    Own(Option<HeadNorms<V>>),
    /// Of queries: keys are those of another layer.
    Queries(Option<Norm<V>>),
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
    /// Widths of activations: of projected rows, of results, of gates.
    pub(super) fn widths(config: &GroupedConfig) -> [usize; 3] {
        let (shape, attended) = (config.shape, config.shape.out_width());
        match config.layout {
            ProjectionLayout::WithGates => [shape.width(), attended, attended],
            ProjectionLayout::Queries { .. } => [attended, attended, 1],
            _ => [shape.width(), attended, 1],
        }
    }

    /// Allocates activations of these widths.
    pub(super) fn new<B: Backend<Tensor = T>>(
        backend: &mut B,
        [qkv, attended, gates]: [usize; 3],
    ) -> Result<Self, LoadError> {
        let mut tensor = |width| backend.tensor(TensorRole::Inputs, width);
        Ok(Self { qkv: tensor(qkv)?, attended: tensor(attended)?, gates: tensor(gates)? })
    }
}

impl<B: Backend> GroupedAttention<B> {
    /// Loads tensors whose names begin with `prefix`, and the norm `post_norm` of the result if it has
    /// one.
    pub(super) fn load(
        loading: &mut Loading<'_, B>,
        prefix: &str,
        post_norm: &str,
        hidden: usize,
        config: GroupedConfig,
        window: Option<usize>,
    ) -> Result<Self, LoadError> {
        let GroupedConfig { shape, scale, bias, layout, sinks, .. } = config;
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
        let norms = head_norms(loading, prefix, &config)?;
        let sinks = sinks.then(|| loading.vector(&name("sinks"), shape.heads)).transpose()?;
        let o = loading.matrix(&name("o_proj.weight"), hidden, shape.out_width())?;
        let has_o_bias = bias == AttentionBias::All;
        let o_bias = has_o_bias.then(|| loading.vector(&name("o_proj.bias"), hidden)).transpose()?;
        let post_norm = config.post_norm.then(|| loading.norm(post_norm, hidden)).transpose()?;
        let (qkv, widths) = (weights, AttentionScratch::<B::Tensor>::widths(&config));
        Ok(Self {
            widths,
            shape,
            scale,
            window,
            qkv,
            qkv_bias,
            norms,
            sinks,
            output_gate,
            o,
            o_bias,
            post_norm,
        })
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
        let bias = self.qkv_bias.as_ref();
        if self.output_gate.is_some() {
            // Computed once, since the projection of gates reads it, too.
            stream.normalize(backend, norm);
            backend.linear(&stream.normed, &self.qkv, bias, StoreMode::Overwrite, qkv);
        } else {
            backend.linear_of(stream.input(norm), &self.qkv, bias, StoreMode::Overwrite, qkv);
        }
        match &self.norms {
            HeadNormsOf::Own(norms) => {
                let norms = norms.as_ref().map(HeadNorms::as_ref);
                backend.qk_norm_rope_write(layer, spec, norms, rope, qkv);
            }
            HeadNormsOf::Queries(norm) => {
                backend.q_norm_rope(spec, norm.as_ref().map(Norm::as_ref), rope, qkv);
            }
        }
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
    let both = loading.stored_parts(&name("q"), 2 * heads, head_dim, hidden)?;
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
        ProjectionLayout::KeysAsValues => vec![("q_proj", q), ("k_proj", kv), ("k_proj", kv)],
        ProjectionLayout::Queries { .. } => vec![("q_proj", q)],
        ProjectionLayout::Fused => vec![("qkv_proj", shape.width())],
    }
}

/// Loads the norms of heads. What a layer that reads the keys of another one has for keys of its own
/// is of no use.
fn head_norms<B: Backend>(
    loading: &mut Loading<'_, B>,
    prefix: &str,
    config: &GroupedConfig,
) -> Result<HeadNormsOf<B::Vector>, LoadError> {
    let GroupedConfig { shape, layout, head_norms, value_norms: values, .. } = *config;
    let mut norm = |part| loading.norm(&format!("{prefix}.{part}.weight"), shape.head_dim);
    let query_norm = head_norms.then(|| norm("q_norm")).transpose()?;
    if let ProjectionLayout::Queries { .. } = layout {
        for part in ["k_proj", "v_proj", "k_norm"] {
            loading.ignore(format!("{prefix}.{part}.weight"));
        }
        return Ok(HeadNormsOf::Queries(query_norm));
    }
    let Some(Norm { weight: q, eps }) = query_norm else { return Ok(HeadNormsOf::Own(None)) };
    let k = norm("k_norm")?.weight;
    Ok(HeadNormsOf::Own(Some(HeadNorms { q, k, values, eps })))
}
