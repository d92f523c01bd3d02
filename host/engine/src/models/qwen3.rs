//! Qwen3, dense: pre-norm transformer, grouped-query attention with norms on query and key heads, `SwiGLU`.
//! (Qwen3 technical report, arXiv:2505.09388; tensor names as in published checkpoints.)

use kernels::cpu::{QkvShape, Store};

use super::{Backend, HeadNorms, LoadError, Progress, Qwen3Config, WeightTensor, Weights};
use crate::batch::{Batch, RunError};

/// The model's weights on a backend, and the activations of a step.
#[derive(Debug)]
pub struct Qwen3<B: Backend> {
    config: Qwen3Config,
    embedding: B::Matrix,
    layers: Vec<Layer<B>>,
    norm: B::Vector,
    /// None: the embedding is the head.
    head: Option<B::Matrix>,
    scratch: Scratch<B::Tensor>,
}

#[derive(Debug)]
struct Layer<B: Backend> {
    input_norm: B::Vector,
    qkv: B::Matrix,
    qkv_bias: Option<B::Vector>,
    q_norm: B::Vector,
    k_norm: B::Vector,
    o: B::Matrix,
    o_bias: Option<B::Vector>,
    post_norm: B::Vector,
    gate_up: B::Matrix,
    down: B::Matrix,
}

#[derive(Debug, Default)]
struct Scratch<T> {
    hidden: T,
    normed: T,
    qkv: T,
    attended: T,
    gate_up: T,
    activated: T,
}

impl<B: Backend> Qwen3<B> {
    /// Puts the weights on the backend; a missing tensor or a shape that the configuration doesn't call for is an error.
    pub fn load(
        backend: &mut B,
        config: &Qwen3Config,
        weights: &Weights,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, LoadError> {
        let of = config.layers + 2;
        let mut loading = Loading { backend, weights, bytes: 0 };
        let embedding =
            loading.matrix(&[("model.embed_tokens.weight".to_owned(), config.vocab)], config.hidden)?;
        progress(Progress { parts: 1, of, bytes: loading.bytes });
        let mut layers = Vec::new();
        for layer in 0..config.layers {
            layers.push(Layer::load(&mut loading, config, layer)?);
            progress(Progress { parts: layer + 2, of, bytes: loading.bytes });
        }
        let norm = loading.vector(&[("model.norm.weight".to_owned(), config.hidden)])?;
        let head = if config.tied {
            None
        } else {
            Some(loading.matrix(&[("lm_head.weight".to_owned(), config.vocab)], config.hidden)?)
        };
        progress(Progress { parts: of, of, bytes: loading.bytes });
        Ok(Self { config: config.clone(), embedding, layers, norm, head, scratch: Scratch::default() })
    }

    /// Runs one step; logits `[logit_rows, vocab]`.
    pub fn forward<'b>(&mut self, backend: &'b mut B, batch: &Batch) -> Result<&'b [f32], RunError> {
        let s = &mut self.scratch;
        let eps = self.config.rms_norm_eps;
        backend.begin(batch, &self.config.rope, self.config.qkv_shape());
        backend.embed(&self.embedding, &mut s.hidden);
        for (i, layer) in self.layers.iter().enumerate() {
            layer.attend(backend, i, eps, s);
            layer.feed_forward(backend, eps, s);
        }
        backend.logit_rows(&s.hidden, &mut s.attended);
        backend.rms_norm(&s.attended, &self.norm, eps, &mut s.normed);
        backend.logits(&s.normed, self.head.as_ref().unwrap_or(&self.embedding))
    }
}

impl<B: Backend> Layer<B> {
    fn load(loading: &mut Loading<'_, B>, config: &Qwen3Config, layer: usize) -> Result<Self, LoadError> {
        let name = |part: &str| format!("model.layers.{layer}.{part}");
        let (hidden, ffn) = (config.hidden, config.intermediate);
        let (q, kv) = (config.heads * config.head_dim, config.kv_heads * config.head_dim);
        let qkv = |kind: &str| {
            [("q", q), ("k", kv), ("v", kv)]
                .map(|(p, rows)| (name(&format!("self_attn.{p}_proj.{kind}")), rows))
        };
        let biased = config.attention_bias;
        Ok(Self {
            input_norm: loading.vector(&[(name("input_layernorm.weight"), hidden)])?,
            qkv: loading.matrix(&qkv("weight"), hidden)?,
            qkv_bias: biased.then(|| loading.vector(&qkv("bias"))).transpose()?,
            q_norm: loading.vector(&[(name("self_attn.q_norm.weight"), config.head_dim)])?,
            k_norm: loading.vector(&[(name("self_attn.k_norm.weight"), config.head_dim)])?,
            o: loading.matrix(&[(name("self_attn.o_proj.weight"), hidden)], q)?,
            o_bias: biased.then(|| loading.vector(&[(name("self_attn.o_proj.bias"), hidden)])).transpose()?,
            post_norm: loading.vector(&[(name("post_attention_layernorm.weight"), hidden)])?,
            gate_up: loading
                .matrix(&[(name("mlp.gate_proj.weight"), ffn), (name("mlp.up_proj.weight"), ffn)], hidden)?,
            down: loading.matrix(&[(name("mlp.down_proj.weight"), hidden)], ffn)?,
        })
    }

    fn attend(&self, backend: &mut B, i: usize, eps: f32, s: &mut Scratch<B::Tensor>) {
        backend.rms_norm(&s.hidden, &self.input_norm, eps, &mut s.normed);
        backend.linear(&s.normed, &self.qkv, self.qkv_bias.as_ref(), Store::Set, &mut s.qkv);
        backend.qk_norm_rope_write(i, &mut s.qkv, HeadNorms { q: &self.q_norm, k: &self.k_norm, eps });
        backend.attention(i, &s.qkv, &mut s.attended);
        backend.linear(&s.attended, &self.o, self.o_bias.as_ref(), Store::Add, &mut s.hidden);
    }

    fn feed_forward(&self, backend: &mut B, eps: f32, s: &mut Scratch<B::Tensor>) {
        backend.rms_norm(&s.hidden, &self.post_norm, eps, &mut s.normed);
        backend.linear(&s.normed, &self.gate_up, None, Store::Set, &mut s.gate_up);
        backend.silu_mul(&s.gate_up, &mut s.activated);
        backend.linear(&s.activated, &self.down, None, Store::Add, &mut s.hidden);
    }
}

impl Qwen3Config {
    fn qkv_shape(&self) -> QkvShape {
        QkvShape { heads: self.heads, kv_heads: self.kv_heads, head_dim: self.head_dim }
    }
}

/// Tensors on their way to the backend, and their bytes so far.
struct Loading<'a, B> {
    backend: &'a mut B,
    weights: &'a Weights,
    bytes: u64,
}

impl<B: Backend> Loading<'_, B> {
    /// Parts `(name, rows)`, stacked.
    fn matrix(&mut self, parts: &[(String, usize)], cols: usize) -> Result<B::Matrix, LoadError> {
        let tensors = self.tensors(parts, &[cols])?;
        self.backend.matrix(&tensors)
    }

    /// Parts `(name, length)`, one after the other.
    fn vector(&mut self, parts: &[(String, usize)]) -> Result<B::Vector, LoadError> {
        let tensors = self.tensors(parts, &[])?;
        self.backend.vector(&tensors)
    }

    fn tensors(&mut self, parts: &[(String, usize)], rest: &[usize]) -> Result<Vec<WeightTensor>, LoadError> {
        let mut tensors = Vec::new();
        for (name, first) in parts {
            let tensor = self.weights.tensor(name, &[&[*first], rest].concat())?;
            self.bytes += tensor.bytes().len() as u64;
            tensors.push(tensor);
        }
        Ok(tensors)
    }
}
