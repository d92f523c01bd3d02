//! Qwen3, dense: pre-norm transformer, grouped-query attention with norms on query and key heads, `SwiGLU`.
//! (Qwen3 technical report, arXiv:2505.09388; tensor names as in published checkpoints.)

use super::layers::{Attention, AttentionConfig, GatedMlp};
use super::loading::Loading;
use super::ops::Norm;
use super::{Backend, LoadError, ModelConfig, Progress, Qwen3Config, Weights};

/// The model's weights on a backend, and the activations of a step.
#[derive(Debug)]
pub struct Qwen3<B: Backend> {
    eps: f32,
    rope: B::Rope,
    embedding: B::Matrix,
    layers: Vec<Layer<B>>,
    norm: B::Vector,
    /// None: the embedding is the head.
    head: Option<B::Matrix>,
    activations: Activations<B::Tensor>,
}

#[derive(Debug)]
struct Layer<B: Backend> {
    input_norm: B::Vector,
    attention: Attention<B>,
    post_norm: B::Vector,
    mlp: GatedMlp<B>,
}

#[derive(Debug)]
struct Activations<T> {
    hidden: T,
    normed: T,
    qkv: T,
    attended: T,
    gate_up: T,
    activated: T,
}

impl<B: Backend> Qwen3<B> {
    /// Puts the weights on the backend; a missing tensor or a shape that the configuration doesn't call for is an error.
    pub(super) fn load(
        backend: &mut B,
        model: &ModelConfig,
        config: &Qwen3Config,
        weights: &Weights,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, LoadError> {
        let rope = backend.rope(&config.rope, config.head_dim)?;
        let (vocab, hidden, layers) = (model.vocab, config.hidden, model.cache.len());
        let mut loading = Loading::new(backend, weights, layers + 2, progress);
        let embedding = loading.matrix("model.embed_tokens.weight", vocab, hidden)?;
        loading.part_done();
        let layers =
            (0..layers).map(|layer| Layer::load(&mut loading, config, layer)).collect::<Result<_, _>>()?;
        let norm = loading.vector("model.norm.weight", hidden)?;
        let head = if config.tied { None } else { Some(loading.matrix("lm_head.weight", vocab, hidden)?) };
        loading.part_done();
        // Last: sizes are those of the weights by now.
        let activations = Activations::new(backend, config)?;
        Ok(Self { eps: config.rms_norm_eps, rope, embedding, layers, norm, head, activations })
    }

    /// Runs the step that the backend began; its logits stay there.
    pub(super) fn forward(&mut self, backend: &mut B) {
        let a = &mut self.activations;
        let eps = self.eps;
        backend.embed(&self.embedding, &mut a.hidden);
        for (i, layer) in self.layers.iter().enumerate() {
            backend.rms_norm(&a.hidden, Norm { weight: &layer.input_norm, eps }, &mut a.normed);
            let scratch = (&mut a.qkv, &mut a.attended);
            layer.attention.forward(backend, (i, &self.rope), &a.normed, scratch, &mut a.hidden);
            backend.rms_norm(&a.hidden, Norm { weight: &layer.post_norm, eps }, &mut a.normed);
            layer.mlp.forward(backend, &a.normed, (&mut a.gate_up, &mut a.activated), &mut a.hidden);
        }
        let head = self.head.as_ref().unwrap_or(&self.embedding);
        backend.logits(&a.hidden, Norm { weight: &self.norm, eps }, head);
    }
}

impl<B: Backend> Layer<B> {
    fn load(loading: &mut Loading<'_, B>, config: &Qwen3Config, layer: usize) -> Result<Self, LoadError> {
        let name = |part: &str| format!("model.layers.{layer}.{part}");
        let sizes = (config.hidden, config.intermediate);
        let this = Self {
            input_norm: loading.vector(&name("input_layernorm.weight"), config.hidden)?,
            attention: Attention::load(loading, &name("self_attn"), config.attention())?,
            post_norm: loading.vector(&name("post_attention_layernorm.weight"), config.hidden)?,
            mlp: GatedMlp::load(loading, &name("mlp"), sizes)?,
        };
        loading.part_done();
        Ok(this)
    }
}

impl<T> Activations<T> {
    fn new<B: Backend<Tensor = T>>(backend: &mut B, config: &Qwen3Config) -> Result<Self, LoadError> {
        let spec = config.attention().spec::<B::Vector>();
        Ok(Self {
            hidden: backend.tensor(config.hidden)?,
            normed: backend.tensor(config.hidden)?,
            qkv: backend.tensor(spec.qkv_width())?,
            attended: backend.tensor(spec.out_width())?,
            gate_up: backend.tensor(2 * config.intermediate)?,
            activated: backend.tensor(config.intermediate)?,
        })
    }
}

impl Qwen3Config {
    fn attention(&self) -> AttentionConfig {
        AttentionConfig {
            hidden: self.hidden,
            heads: self.heads,
            kv_heads: self.kv_heads,
            head_dim: self.head_dim,
            bias: self.attention_bias,
            head_norms: Some(self.rms_norm_eps),
            window: None,
        }
    }
}
