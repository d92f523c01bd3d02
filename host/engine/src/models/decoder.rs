//! A model of any family: the embedding, layers around the residual stream, and the head. Tensor
//! names are those of published checkpoints, which families share.

use super::layers::{Layer, LayerScratch};
use super::loading::Loading;
use super::ops::{Norm, TensorRole};
use super::{AttentionConfig, Backend, LoadError, ModelConfig, Progress, WeightRole, Weights};

/// A model's weights on a backend, and the activations of a step.
#[derive(Debug)]
pub struct Model<B: Backend> {
    eps: f32,
    rope: B::Rope,
    embedding: B::Matrix,
    layers: Vec<Layer<B>>,
    norm: B::Vector,
    /// `None`: the embedding is the head.
    head: Option<B::Matrix>,
    hidden: B::Tensor,
    scratch: LayerScratch<B>,
}

impl<B: Backend> Model<B> {
    /// Loads the weights that `config` calls for to the backend; a missing tensor or a shape that
    /// the configuration doesn't call for is an error.
    pub fn load(
        backend: &mut B,
        config: &ModelConfig,
        weights: &Weights,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, LoadError> {
        let rotated = match &config.attention {
            AttentionConfig::Grouped(sizes) => sizes.shape.head_dim,
            AttentionConfig::Latent(sizes) => sizes.shape.rope,
        };
        let rope = backend.rope(&config.rope, rotated)?;
        let (vocab, hidden) = (config.vocab, config.hidden);
        let mut loading = Loading::new(backend, config, weights, progress);
        let table = WeightRole::Embedding { tied: config.tied };
        let embedding = loading.matrix_for(table, "model.embed_tokens.weight", vocab, hidden)?;
        loading.part_done();
        let layers = (0..config.layers.len())
            .map(|index| Layer::load(&mut loading, config, index))
            .collect::<Result<_, _>>()?;
        let norm = loading.vector("model.norm.weight", hidden)?;
        let head = (!config.tied)
            .then(|| loading.matrix_for(WeightRole::Head, "lm_head.weight", vocab, hidden))
            .transpose()?;
        loading.part_done();
        loading.finish()?;
        // Allocated last: by now the sizes are checked against those of the weights.
        let (hidden, scratch) =
            (backend.tensor(TensorRole::Sums, hidden)?, LayerScratch::new(backend, config)?);
        Ok(Self { eps: config.rms_norm_eps, rope, embedding, layers, norm, head, hidden, scratch })
    }

    /// Runs the step that the backend has begun; the logits stay on the backend.
    pub fn forward(&mut self, backend: &mut B) {
        let Self { eps, hidden, scratch, .. } = self;
        backend.embed(&self.embedding, hidden);
        for (i, layer) in self.layers.iter().enumerate() {
            layer.forward(backend, (i, &self.rope, *eps), scratch, hidden);
        }
        let head = self.head.as_ref().unwrap_or(&self.embedding);
        backend.logits(hidden, Norm { weight: &self.norm, eps: *eps }, head);
    }
}
