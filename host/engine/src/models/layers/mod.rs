//! A decoder's layers over any backend: attention and a feed-forward part, each behind a norm, each
//! added to the residual stream, perhaps behind a second norm.

mod attention;
mod delta;
mod mla;
mod mlp;
mod moe;
mod short_conv;
mod stream;

use super::config::{AttentionConfig, GatedLayout, LayerConfig, MlpConfig, ModelConfig, StateShape};
use super::loading::Loading;
use super::ops::Norm;
use super::{Backend, LoadError};
use attention::GroupedAttention;
use delta::DeltaMixer;
use mla::LatentAttention;
use mlp::GatedMlp;
use moe::MoeMlp;
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
}

/// Activations of a step, which all layers share. Those for kinds of layers that a model lacks have
/// width one, so that no activations are optional.
#[derive(Debug)]
pub(super) struct LayerScratch<B: Backend> {
    grouped: attention::AttentionScratch<B::Tensor>,
    latent: mla::MlaLayerScratch<B::Tensor>,
    delta: delta::DeltaScratch<B::Tensor>,
    short_conv: short_conv::ShortConvScratch<B::Tensor>,
    gated: mlp::MlpScratch<B::Tensor>,
    experts: moe::MoeLayerScratch<B>,
}

impl<B: Backend> LayerScratch<B> {
    /// Allocates activations for the layers of a model; layers of one kind have one shape.
    pub(super) fn new(backend: &mut B, config: &ModelConfig) -> Result<Self, LoadError> {
        let grouped = config.layers.iter().find_map(|layer| match &layer.attention {
            AttentionConfig::Grouped(sizes) => Some(sizes),
            _ => None,
        });
        let latent = config.layers.iter().find_map(|layer| match &layer.attention {
            AttentionConfig::Latent(sizes) => Some(sizes),
            _ => None,
        });
        let (delta, conv) = match config.states() {
            Some((StateShape::Delta(shape), _)) => (Some(shape), None),
            Some((StateShape::ShortConv(shape), _)) => (None, Some(shape)),
            None => (None, None),
        };
        let gated = config.layers.iter().find_map(|layer| match &layer.mlp {
            MlpConfig::Gated(sizes) => Some(sizes.intermediate),
            MlpConfig::Experts(_) => None,
        });
        let experts = config.layers.iter().find_map(|layer| match &layer.mlp {
            MlpConfig::Experts(sizes) => Some(sizes),
            MlpConfig::Gated(_) => None,
        });
        Ok(Self {
            grouped: attention::AttentionScratch::new(backend, grouped)?,
            latent: mla::MlaLayerScratch::new(backend, latent)?,
            delta: delta::DeltaScratch::new(backend, delta)?,
            short_conv: short_conv::ShortConvScratch::new(backend, conv)?,
            gated: mlp::MlpScratch::new(backend, gated)?,
            experts: moe::MoeLayerScratch::new(backend, experts)?,
        })
    }
}

impl<B: Backend> Mixer<B> {
    /// Loads the mixer of the layer whose tensors' names begin with `layer`; `post_norm` is the
    /// norm of its result, if it has one.
    fn load(
        loading: &mut Loading<'_, B>,
        (layer, post_norm): (&str, &str),
        hidden: usize,
        LayerConfig { attention, window, .. }: &LayerConfig,
    ) -> Result<Self, LoadError> {
        let prefix = format!("{layer}.self_attn");
        Ok(match attention {
            AttentionConfig::Grouped(config) => {
                let (names, config) = ((&*prefix, post_norm), (*config, *window));
                Self::Grouped(GroupedAttention::load(loading, names, hidden, config)?)
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
                Self::Gated(GatedMlp::load(loading, (&prefix, &post_norm), hidden, *config)?)
            }
            MlpConfig::Experts(config) => {
                let prefix = format!("{layer}.mlp");
                Self::Experts(Box::new(MoeMlp::load(loading, &prefix, hidden, config)?))
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
            mixer: Mixer::load(loading, (&layer, &between), hidden, config)?,
            mlp_norm: loading.stream_norm(before_mlp, hidden)?,
            mlp: Mlp::load(loading, &layer, hidden, &config.mlp)?,
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
        let LayerScratch { grouped, latent, delta, short_conv, gated, experts } = scratch;
        let place = (index, rope, self.input_norm.as_ref());
        match &self.mixer {
            Mixer::Grouped(layer) => layer.forward(backend, place, grouped, stream),
            Mixer::Latent(layer) => layer.forward(backend, place, latent, stream),
            Mixer::Delta(layer) => layer.forward(backend, (index, place.2), delta, stream),
            Mixer::ShortConv(layer) => layer.forward(backend, (index, place.2), short_conv, stream),
        }
        let norm = self.mlp_norm.as_ref();
        match &self.mlp {
            Mlp::Gated(layer) => layer.forward(backend, norm, gated, stream),
            Mlp::Experts(layer) => layer.forward(backend, norm, experts, stream),
        }
    }
}
