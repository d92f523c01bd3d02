//! Parts of layers that families share: attention over grouped heads and the gated feed-forward, loaded by the names of published
//! checkpoints. Families differ in what is there: biases or none, norms on query and key heads or none.

use super::loading::{Loading, Parts};
use super::ops::{AttentionSpec, HeadNorms, Store};
use super::{Backend, LoadError};

/// Sizes of an attention layer, and what it has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AttentionConfig {
    pub(super) hidden: usize,
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) head_dim: usize,
    /// q, k, v and o have biases.
    pub(super) bias: bool,
    /// Query and key heads have norms, with this added to the mean square.
    pub(super) head_norms: Option<f32>,
    /// Positions that a token sees.
    pub(super) window: Option<usize>,
}

impl AttentionConfig {
    #[expect(clippy::cast_precision_loss, reason = "widths are far below 2²³")]
    pub(super) fn spec<'a, V>(&self) -> AttentionSpec<'a, V> {
        AttentionSpec {
            heads: self.heads,
            kv_heads: self.kv_heads,
            head_dim: self.head_dim,
            scale: 1.0 / (self.head_dim as f32).sqrt(),
            window: self.window,
            sinks: None,
        }
    }
}

/// Attention: projections around the cache.
#[derive(Debug)]
pub(super) struct Attention<B: Backend> {
    config: AttentionConfig,
    qkv: B::Matrix,
    qkv_bias: Option<B::Vector>,
    /// Of query heads, of key heads, and what is added to the mean square.
    norms: Option<(B::Vector, B::Vector, f32)>,
    o: B::Matrix,
    o_bias: Option<B::Vector>,
}

impl<B: Backend> Attention<B> {
    /// Loads tensors whose names begin with `prefix`.
    pub(super) fn load(
        loading: &mut Loading<'_, B>,
        prefix: &str,
        config: AttentionConfig,
    ) -> Result<Self, LoadError> {
        let AttentionConfig { hidden, heads, kv_heads, head_dim, bias, head_norms, .. } = config;
        let (q, kv) = (heads * head_dim, kv_heads * head_dim);
        let qkv = |kind: &str| -> Parts {
            [("q", q), ("k", kv), ("v", kv)]
                .map(|(p, rows)| (format!("{prefix}.{p}_proj.{kind}"), rows))
                .into()
        };
        let name = |part: &str| format!("{prefix}.{part}");
        let weights = loading.stacked(&qkv("weight"), hidden)?;
        let qkv_bias = bias.then(|| loading.joined(&qkv("bias"))).transpose()?;
        let norms = match head_norms {
            Some(eps) => Some((
                loading.vector(&name("q_norm.weight"), head_dim)?,
                loading.vector(&name("k_norm.weight"), head_dim)?,
                eps,
            )),
            None => None,
        };
        let o = loading.matrix(&name("o_proj.weight"), hidden, q)?;
        let o_bias = bias.then(|| loading.vector(&name("o_proj.bias"), hidden)).transpose()?;
        Ok(Self { config, qkv: weights, qkv_bias, norms, o, o_bias })
    }

    /// Adds what `normed` attends to in cache layer `layer` to `hidden`.
    pub(super) fn forward(
        &self,
        backend: &mut B,
        (layer, rope): (usize, &B::Rope),
        normed: &B::Tensor,
        (qkv, attended): (&mut B::Tensor, &mut B::Tensor),
        hidden: &mut B::Tensor,
    ) {
        let spec = self.config.spec();
        let norms = self.norms.as_ref().map(|(q, k, eps)| HeadNorms { q, k, eps: *eps });
        backend.linear(normed, &self.qkv, self.qkv_bias.as_ref(), Store::Overwrite, qkv);
        backend.qk_norm_rope_write(layer, spec, norms, rope, qkv);
        backend.attention(layer, spec, qkv, attended);
        backend.linear(attended, &self.o, self.o_bias.as_ref(), Store::Accumulate, hidden);
    }
}

/// `SwiGLU`: two projections of which one gates the other, and one back.
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
            gate_up: loading.stacked(&gate_up.into(), hidden)?,
            down: loading.matrix(&format!("{prefix}.down_proj.weight"), hidden, intermediate)?,
        })
    }

    /// Adds its result for `normed` to `hidden`.
    pub(super) fn forward(
        &self,
        backend: &mut B,
        normed: &B::Tensor,
        (gate_up, activated): (&mut B::Tensor, &mut B::Tensor),
        hidden: &mut B::Tensor,
    ) {
        backend.linear(normed, &self.gate_up, None, Store::Overwrite, gate_up);
        backend.silu_mul(gate_up, activated);
        backend.linear(activated, &self.down, None, Store::Accumulate, hidden);
    }
}
