//! A model of any family: the embedding, layers around the residual stream, and the head. Tensor
//! names are those of published checkpoints, which families share.

use super::config::{AttentionConfig, GroupedConfig, LayerConfig, ProjectionLayout};
use super::layers::{Layer, LayerScratch, PerLayerTable, ResidualStream};
use super::loading::Loading;
use super::ops::{Norm, RopeSpec};
use super::{Backend, EngineProgress, LoadError, ModelConfig, WeightRole, Weights};

/// A model's weights on a backend, and the activations of a step.
#[derive(Debug)]
pub struct Decoder<B: Backend> {
    /// Rotary embeddings of layers, each once.
    ropes: Vec<B::Rope>,
    layers: Vec<PlacedLayer<B>>,
    /// Factor of the embedding's rows.
    embedding_factor: f32,
    embedding: B::Matrix,
    per_layer: Option<PerLayerTable<B>>,
    norm: Norm<B::Vector>,
    /// `None`: the embedding is the head.
    head: Option<B::Matrix>,
    logit_cap: Option<f32>,
    stream: ResidualStream<B>,
    scratch: LayerScratch<B>,
}

/// A layer, and what it is given.
#[derive(Debug)]
struct PlacedLayer<B: Backend> {
    layer: Layer<B>,
    /// Index of the layer whose keys and values it reads among those that keep such, or its own among
    /// those that keep states.
    index: usize,
    /// Index of its rotary embedding.
    rope: usize,
}

impl<B: Backend> Decoder<B> {
    /// Loads the weights that `config` calls for to the backend; a missing tensor or a shape that
    /// the configuration doesn't call for is an error.
    pub fn load(
        backend: &mut B,
        config: &ModelConfig,
        weights: &Weights,
        progress: &mut dyn FnMut(EngineProgress),
    ) -> Result<Self, LoadError> {
        let (ropes, rope_of) = ropes(backend, config)?;
        let (vocab, hidden) = (config.vocab, config.hidden);
        let mut loading = Loading::new(backend, config, weights, progress);
        let table = WeightRole::Embedding { tied: config.tied };
        let embedding = loading.matrix_for(table, "model.embed_tokens.weight", vocab, hidden)?;
        let per_layer =
            config.per_layer_rows.map(|rows| PerLayerTable::load(&mut loading, config, rows)).transpose()?;
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
        let logit_cap = config.logit_cap;
        Ok(Self {
            ropes,
            layers,
            embedding_factor,
            embedding,
            per_layer,
            norm,
            head,
            logit_cap,
            stream,
            scratch,
        })
    }

    /// Runs the step that the backend has begun; the logits stay on the backend.
    pub fn forward(&mut self, backend: &mut B) {
        let Self { stream, scratch, .. } = self;
        backend.embed(&self.embedding, self.embedding_factor, &mut stream.hidden);
        if let Some(table) = &self.per_layer {
            table.fill(backend, stream, &mut scratch.per_layer);
        }
        for PlacedLayer { layer, index, rope } in &self.layers {
            layer.forward(backend, (*index, &self.ropes[*rope]), scratch, stream);
        }
        let head = self.head.as_ref().unwrap_or(&self.embedding);
        backend.logits(&stream.hidden, self.norm.as_ref(), head, self.logit_cap);
    }
}

/// Index of each layer among those that keep keys and values (for one that reads those of another
/// layer, the index of that layer), or among those that keep states.
fn indices(config: &ModelConfig) -> Vec<usize> {
    let (mut cached, mut with_state) = (0, 0);
    let mut all: Vec<usize> = Vec::new();
    for layer in &config.layers {
        let count = match layer.attention {
            AttentionConfig::Grouped(GroupedConfig {
                layout: ProjectionLayout::Queries { keys_of }, ..
            }) => {
                all.push(all[keys_of]);
                continue;
            }
            AttentionConfig::Grouped(_) | AttentionConfig::Latent(_) => &mut cached,
            AttentionConfig::Delta(_) | AttentionConfig::ShortConv(_) => &mut with_state,
        };
        all.push(*count);
        *count += 1;
    }
    all
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
