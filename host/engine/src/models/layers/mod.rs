//! A decoder's layers over any backend: attention and a feed-forward part, each behind a norm, each
//! added to the residual stream, perhaps behind a second norm.

mod attention;
mod both;
mod delta;
mod mla;
mod mlp;
mod moe;
mod per_layer;
mod short_conv;
mod stream;

use super::config::{AttentionConfig, GatedLayout, LayerConfig, MlpConfig, ModelConfig, StateShape};
use super::loading::Loading;
use super::ops::Norm;
use super::{Backend, LoadError};
use attention::{AttentionScratch, GroupedAttention};
use both::{BothMlps, BothScratch};
use delta::DeltaMixer;
use mla::LatentAttention;
use mlp::{GatedMlp, MlpScratch};
use moe::MoeMlp;
pub(super) use per_layer::PerLayerTable;
use per_layer::{PerLayerInput, PerLayerScratch};
use short_conv::ShortConvMixer;
pub(super) use stream::ResidualStream;

/// One layer.
#[derive(Debug)]
pub(super) struct Layer<B: Backend> {
    /// Norm before the mixer.
    input_norm: Norm<B::Vector>,
    mixer: Mixer<B>,
    /// Norm before the feed-forward part.
    mlp_norm: Norm<B::Vector>,
    mlp: Mlp<B>,
    own_rows: Option<PerLayerInput<B>>,
    /// Factor of the stream behind the layer.
    factor: Option<f32>,
}

/// The part of a layer that mixes tokens.
#[derive(Debug)]
enum Mixer<B: Backend> {
    Grouped(GroupedAttention<B>),
    Latent(LatentAttention<B>),
    Delta(DeltaMixer<B>),
    ShortConv(ShortConvMixer<B>),
}

#[derive(Debug)]
enum Mlp<B: Backend> {
    Gated(GatedMlp<B>),
    Experts(Box<MoeMlp<B>>),
    Both(Box<BothMlps<B>>),
}

/// Activations of a step, which all layers of the same widths share. Those for kinds of layers that a
/// model lacks have width one.
#[derive(Debug)]
pub(super) struct LayerScratch<B: Backend> {
    /// Those of grouped attention, by their widths.
    grouped: Vec<([usize; 3], AttentionScratch<B::Tensor>)>,
    latent: mla::MlaLayerScratch<B::Tensor>,
    delta: delta::DeltaScratch<B::Tensor>,
    /// Those of dense feed-forward parts, by their widths.
    gated: Vec<(usize, MlpScratch<B::Tensor>)>,
    short_conv: short_conv::ShortConvScratch<B::Tensor>,
    experts: moe::MoeLayerScratch<B>,
    both: BothScratch<B>,
    pub(super) per_layer: PerLayerScratch<B::Tensor>,
}

impl<B: Backend> LayerScratch<B> {
    /// Allocates activations for the layers of a model.
    pub(super) fn new(backend: &mut B, config: &ModelConfig) -> Result<Self, LoadError> {
        let layers = || config.layers.iter();
        let latent = layers().find_map(|layer| match &layer.attention {
            AttentionConfig::Latent(sizes) => Some(sizes),
            _ => None,
        });
        let grouped = layers().filter_map(|layer| match &layer.attention {
            AttentionConfig::Grouped(sizes) => Some(AttentionScratch::<B::Tensor>::widths(sizes)),
            _ => None,
        });
        let (delta, conv) = match config.states() {
            Some((StateShape::Delta(shape), _)) => (Some(shape), None),
            Some((StateShape::ShortConv(shape), _)) => (None, Some(shape)),
            None => (None, None),
        };
        let gated = layers().filter_map(|layer| Some(layer.mlp.gated()?.intermediate));
        let experts = layers().find_map(|layer| match &layer.mlp {
            MlpConfig::Experts(sizes) => Some(sizes),
            MlpConfig::Gated(_) | MlpConfig::Both(..) => None,
        });
        let both = layers().find_map(|layer| match &layer.mlp {
            MlpConfig::Both(_, sizes) => Some(sizes),
            MlpConfig::Gated(_) | MlpConfig::Experts(_) => None,
        });
        Ok(Self {
            grouped: each_once(grouped, |widths| AttentionScratch::new(backend, widths))?,
            latent: mla::MlaLayerScratch::new(backend, latent)?,
            delta: delta::DeltaScratch::new(backend, delta)?,
            gated: each_once(gated, |width| MlpScratch::new(backend, width))?,
            short_conv: short_conv::ShortConvScratch::new(backend, conv)?,
            experts: moe::MoeLayerScratch::new(backend, experts)?,
            both: BothScratch::new(backend, (both, config.hidden))?,
            per_layer: PerLayerScratch::new(backend, config)?,
        })
    }
}

/// Makes a value for each different key.
fn each_once<K: PartialEq + Copy, T>(
    keys: impl Iterator<Item = K>,
    mut make: impl FnMut(K) -> Result<T, LoadError>,
) -> Result<Vec<(K, T)>, LoadError> {
    let mut all: Vec<(K, T)> = Vec::new();
    for key in keys {
        if all.iter().all(|(known, _)| *known != key) {
            all.push((key, make(key)?));
        }
    }
    Ok(all)
}

/// The value of a key, which has one.
fn of_key<K: PartialEq + Copy, T>(all: &mut [(K, T)], key: K) -> &mut T {
    let found = all.iter_mut().find(|(known, _)| *known == key);
    &mut found.expect("activations are allocated for all layers").1
}

impl<B: Backend> Mixer<B> {
    /// Loads the mixer of the layer whose tensors' names begin with `layer`; `post_norm` is the
    /// norm of its result, if it has one.
    fn load(
        loading: &mut Loading<'_, B>,
        layer: &str,
        post_norm: &str,
        hidden: usize,
        LayerConfig { attention, window, .. }: &LayerConfig,
    ) -> Result<Self, LoadError> {
        let prefix = format!("{layer}.self_attn");
        Ok(match attention {
            AttentionConfig::Grouped(config) => {
                Self::Grouped(GroupedAttention::load(loading, &prefix, post_norm, hidden, *config, *window)?)
            }
            AttentionConfig::Latent(config) => {
                Self::Latent(LatentAttention::load(loading, &prefix, hidden, config)?)
            }
            AttentionConfig::Delta(shape) => {
                let prefix = format!("{layer}.linear_attn");
                Self::Delta(DeltaMixer::load(loading, &prefix, hidden, *shape)?)
            }
            AttentionConfig::ShortConv(config) => {
                Self::ShortConv(ShortConvMixer::load(loading, &format!("{layer}.conv"), *config)?)
            }
        })
    }
}

impl<B: Backend> Mlp<B> {
    /// Loads the feed-forward part of the layer whose tensors' names begin with `layer`.
    fn load(
        loading: &mut Loading<'_, B>,
        layer: &str,
        hidden: usize,
        config: &MlpConfig,
    ) -> Result<Self, LoadError> {
        Ok(match config {
            MlpConfig::Gated(config) => {
                let part = if config.layout == GatedLayout::SharedExpert { "shared_mlp" } else { "mlp" };
                let prefix = format!("{layer}.{part}");
                let post_norm = format!("{layer}.post_feedforward_layernorm.weight");
                Self::Gated(GatedMlp::load(loading, &prefix, &post_norm, hidden, *config)?)
            }
            MlpConfig::Experts(config) => {
                let prefix = format!("{layer}.mlp");
                Self::Experts(Box::new(MoeMlp::load(loading, &prefix, hidden, config)?))
            }
            MlpConfig::Both(dense, experts) => {
                Self::Both(Box::new(BothMlps::load(loading, layer, hidden, *dense, experts)?))
            }
        })
    }
}

impl<B: Backend> Layer<B> {
    /// Loads layer `index` of a model.
    pub(super) fn load(
        loading: &mut Loading<'_, B>,
        model: &ModelConfig,
        index: usize,
    ) -> Result<Self, LoadError> {
        let (layer, config, hidden) = (format!("model.layers.{index}"), &model.layers[index], model.hidden);
        let name = |norm: &str| format!("{layer}.{norm}.weight");
        // The same name is that of the norm of the mixer's result where there is one, and else that
        // of the norm before the feed-forward part.
        let between = name("post_attention_layernorm");
        let before_mlp = name("pre_feedforward_layernorm");
        let before_mlp = if config.attention.has_post_norm() { &before_mlp } else { &between };
        let layer = Self {
            input_norm: loading.stream_norm(&name("input_layernorm"), hidden)?,
            mixer: Mixer::load(loading, &layer, &between, hidden, config)?,
            mlp_norm: loading.stream_norm(before_mlp, hidden)?,
            mlp: Mlp::load(loading, &layer, hidden, &config.mlp)?,
            own_rows: (model.per_layer_rows)
                .map(|rows| PerLayerInput::load(loading, &layer, index, hidden, rows.width))
                .transpose()?,
            factor: (model.layer_factors)
                .then(|| {
                    Ok::<_, LoadError>(loading.tensor(&format!("{layer}.layer_scalar"), &[1])?.to_f32()[0])
                })
                .transpose()?,
        };
        loading.part_done();
        Ok(layer)
    }

    /// Runs the layer on the residual stream; `index` is its place among those that keep keys and
    /// values, or among those that keep states.
    pub(super) fn forward(
        &self,
        backend: &mut B,
        (index, rope): (usize, &B::Rope),
        scratch: &mut LayerScratch<B>,
        stream: &mut ResidualStream<B>,
    ) {
        let LayerScratch { grouped, latent, delta, short_conv, gated, experts, both, per_layer } = scratch;
        let place = (index, rope, self.input_norm.as_ref());
        match &self.mixer {
            Mixer::Grouped(layer) => layer.forward(backend, place, of_key(grouped, layer.widths), stream),
            Mixer::Latent(layer) => layer.forward(backend, place, latent, stream),
            Mixer::Delta(layer) => layer.forward(backend, (index, place.2), delta, stream),
            Mixer::ShortConv(layer) => layer.forward(backend, (index, place.2), short_conv, stream),
        }
        let norm = self.mlp_norm.as_ref();
        match &self.mlp {
            Mlp::Gated(layer) => layer.forward(backend, norm, of_key(gated, layer.intermediate), stream),
            Mlp::Experts(layer) => layer.forward(backend, norm, experts, stream),
            Mlp::Both(layer) => {
                let gated = of_key(gated, layer.dense.intermediate);
                layer.forward(backend, norm, gated, both, stream);
            }
        }
        if let Some(layer) = &self.own_rows {
            layer.forward(backend, per_layer, stream);
        }
        if let Some(factor) = self.factor {
            backend.scale(factor, &mut stream.hidden);
        }
    }
}
