//! Grouped-query attention, loaded by the tensor names of published checkpoints. Families differ in
//! optional parts: biases, norms on query and key heads, sinks, a window.

use crate::models::config::GroupedConfig;
use crate::models::loading::{Loading, Parts};
use crate::models::ops::{AttentionSpec, HeadNorms, LayerInput, Norm, QkvShape, Store, TensorRole};
use crate::models::{Backend, LoadError, WeightRole};

/// Weights of one layer's attention.
#[derive(Debug)]
pub(super) struct GroupedAttention<B: Backend> {
    shape: QkvShape,
    window: Option<usize>,
    qkv: B::Matrix,
    qkv_bias: Option<B::Vector>,
    /// Norms of query heads, and of key heads.
    norms: Option<(B::Vector, B::Vector)>,
    sinks: Option<B::Vector>,
    o: B::Matrix,
    o_bias: Option<B::Vector>,
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

#[expect(clippy::cast_precision_loss, reason = "widths are far below 2²³")]
fn spec<V>(shape: QkvShape, window: Option<usize>, sinks: Option<V>) -> AttentionSpec<V> {
    AttentionSpec { shape, scale: 1.0 / (shape.head_dim as f32).sqrt(), window, sinks }
}

impl<B: Backend> GroupedAttention<B> {
    /// Loads tensors whose names begin with `prefix`.
    pub(super) fn load(
        loading: &mut Loading<'_, B>,
        prefix: &str,
        hidden: usize,
        (config, window): (GroupedConfig, Option<usize>),
    ) -> Result<Self, LoadError> {
        let GroupedConfig { shape, bias, head_norms, sinks } = config;
        let QkvShape { heads, kv_heads, head_dim } = shape;
        let (q, kv) = (shape.out_width(), kv_heads * head_dim);
        let qkv = |kind: &str| -> Parts {
            [("q", q), ("k", kv), ("v", kv)]
                .map(|(p, rows)| (format!("{prefix}.{p}_proj.{kind}"), rows))
                .into()
        };
        let name = |part: &str| format!("{prefix}.{part}");
        let weights = loading.stacked(WeightRole::Linear, &qkv("weight"), hidden)?;
        let qkv_bias = bias.then(|| loading.joined(&qkv("bias"))).transpose()?;
        let mut norm = |part| loading.vector(&name(part), head_dim);
        let norms = if head_norms { Some((norm("q_norm.weight")?, norm("k_norm.weight")?)) } else { None };
        let sinks = sinks.then(|| loading.vector(&name("sinks"), heads)).transpose()?;
        let o = loading.matrix(&name("o_proj.weight"), hidden, q)?;
        let o_bias = bias.then(|| loading.vector(&name("o_proj.bias"), hidden)).transpose()?;
        Ok(Self { shape, window, qkv: weights, qkv_bias, norms, sinks, o, o_bias })
    }

    /// Computes attention of the norm of `hidden` over cache layer `layer`, and adds it to
    /// `hidden`.
    pub(super) fn forward(
        &self,
        backend: &mut B,
        (layer, rope, norm): (usize, &B::Rope, Norm<&B::Vector>),
        normed: &mut B::Tensor,
        scratch: &mut AttentionScratch<B::Tensor>,
        hidden: &mut B::Tensor,
    ) {
        let AttentionScratch { qkv, attended } = scratch;
        let spec = spec(self.shape, self.window, self.sinks.as_ref());
        let norms = self.norms.as_ref().map(|(q, k)| HeadNorms { q, k, eps: norm.eps });
        let x = LayerInput::Normed { x: hidden, norm, normed };
        backend.linear_of(x, &self.qkv, self.qkv_bias.as_ref(), Store::Overwrite, qkv);
        backend.qk_norm_rope_write(layer, spec, norms, rope, qkv);
        backend.attention(layer, spec, qkv, attended);
        backend.linear(attended, &self.o, self.o_bias.as_ref(), Store::Accumulate, hidden);
    }
}
