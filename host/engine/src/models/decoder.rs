//! A model of any family: the embedding, layers around the residual stream, and the head. Tensor
//! names are those of published checkpoints, which families share.

use super::config::{AttentionConfig, LayerConfig};
use super::layers::{Layer, LayerScratch, ResidualStream};
use super::loading::Loading;
use super::ops::{Norm, RopeSpec};
use super::{Backend, LoadError, ModelConfig, Progress, WeightRole, Weights};

/// A model's weights on a backend, and the activations of a step.
#[derive(Debug)]
pub struct Model<B: Backend> {
    /// Rotary embeddings of layers, each once.
    ropes: Vec<B::Rope>,
    layers: Vec<PlacedLayer<B>>,
    /// Factor of the embedding's rows.
    embedding_factor: f32,
    embedding: B::Matrix,
    norm: Norm<B::Vector>,
    /// `None`: the embedding is the head.
    head: Option<B::Matrix>,
    stream: ResidualStream<B>,
    scratch: LayerScratch<B>,
}

/// A layer, and what it is given.
#[derive(Debug)]
struct PlacedLayer<B: Backend> {
    layer: Layer<B>,
    /// Index among the layers that keep keys and values, or among those that keep states.
    index: usize,
    /// Index of its rotary embedding.
    rope: usize,
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
        let (ropes, rope_of) = ropes(backend, config)?;
        let (vocab, hidden) = (config.vocab, config.hidden);
        let mut loading = Loading::new(backend, config, weights, progress);
        let table = WeightRole::Embedding { tied: config.tied };
        let embedding = loading.matrix_for(table, "model.embed_tokens.weight", vocab, hidden)?;
        loading.part_done();
        let places = rope_of.into_iter().zip(indices(config)).enumerate();
        let place = |(layer, (rope, index))| {
            Ok(PlacedLayer { layer: Layer::load(&mut loading, config, layer)?, index, rope })
        };
        let layers = places.map(place).collect::<Result<_, LoadError>>()?;
        // A factor of the logits is one of the head's input.
        let norm = loading.scaled_stream_norm("model.norm.weight", hidden, config.factors.logits)?;
        let head = (!config.tied)
            .then(|| loading.matrix_for(WeightRole::Head, "lm_head.weight", vocab, hidden))
            .transpose()?;
        loading.part_done();
        loading.finish()?;
        // Allocated last: by now the sizes are checked against those of the weights.
        let post_norms = config.layers.iter().any(LayerConfig::has_post_norm);
        let stream = ResidualStream::new(backend, hidden, post_norms)?;
        let scratch = LayerScratch::new(backend, config)?;
        let embedding_factor = config.factors.embedding / config.factors.residual;
        Ok(Self { ropes, layers, embedding_factor, embedding, norm, head, stream, scratch })
    }

    /// Runs the step that the backend has begun; the logits stay on the backend.
    pub fn forward(&mut self, backend: &mut B) {
        let Self { stream, scratch, .. } = self;
        backend.embed(&self.embedding, self.embedding_factor, &mut stream.hidden);
        for PlacedLayer { layer, index, rope } in &self.layers {
            layer.forward(backend, (*index, &self.ropes[*rope]), scratch, stream);
        }
        let head = self.head.as_ref().unwrap_or(&self.embedding);
        backend.logits(&stream.hidden, self.norm.as_ref(), head);
    }
}

/// Index of each layer among those that keep keys and values, or among those that keep states.
fn indices(config: &ModelConfig) -> Vec<usize> {
    let (mut cached, mut with_state) = (0.., 0..);
    let next = |layer: &LayerConfig| match layer.attention {
        AttentionConfig::Grouped(_) | AttentionConfig::Latent(_) => cached.next(),
        AttentionConfig::Delta(_) | AttentionConfig::ShortConv(_) => with_state.next(),
    };
    config.layers.iter().filter_map(next).collect()
}

/// The different rotary embeddings of a model, and for each layer the index of its own.
fn ropes<B: Backend>(backend: &mut B, config: &ModelConfig) -> Result<(Vec<B::Rope>, Vec<usize>), LoadError> {
    let mut kinds: Vec<&RopeSpec> = Vec::new();
    let mut of_layers = Vec::new();
    for LayerConfig { rope, .. } in &config.layers {
        of_layers.push(kinds.iter().position(|known| *known == rope).unwrap_or_else(|| {
            kinds.push(rope);
            kinds.len() - 1
        }));
    }
    let ropes = kinds.into_iter().map(|rope| backend.rope(rope.table(config.context)));
    Ok((ropes.collect::<Result<_, _>>()?, of_layers))
}
