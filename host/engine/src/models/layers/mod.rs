//! A decoder's layers over any backend: attention and a feed-forward part, each behind a norm, each
//! added to the residual stream.

mod attention;
mod mla;
mod mlp;
mod moe;

use super::config::{AttentionConfig, LayerConfig, MlpConfig, ModelConfig};
use super::loading::Loading;
use super::ops::{Norm, TensorRole};
use super::{Backend, LoadError};
use attention::GroupedAttention;
use mla::LatentAttention;
use mlp::GatedMlp;
use moe::MoeMlp;

/// One layer.
#[derive(Debug)]
pub(super) struct Layer<B: Backend> {
    input_norm: B::Vector,
    attention: Attention<B>,
    post_norm: B::Vector,
    mlp: Mlp<B>,
}

#[derive(Debug)]
enum Attention<B: Backend> {
    Grouped(GroupedAttention<B>),
    Latent(LatentAttention<B>),
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
    normed: B::Tensor,
    grouped: attention::AttentionScratch<B::Tensor>,
    latent: mla::MlaLayerScratch<B::Tensor>,
    gated: mlp::MlpScratch<B::Tensor>,
    experts: moe::MoeLayerScratch<B>,
}

impl<B: Backend> LayerScratch<B> {
    /// Allocates activations for the layers of a model; layers of one kind have one shape.
    pub(super) fn new(backend: &mut B, config: &ModelConfig) -> Result<Self, LoadError> {
        let (grouped, latent) = match &config.attention {
            AttentionConfig::Grouped(sizes) => (Some(sizes), None),
            AttentionConfig::Latent(sizes) => (None, Some(sizes)),
        };
        let gated = config.layers.iter().find_map(|layer| match layer.mlp {
            MlpConfig::Gated { intermediate } => Some(intermediate),
            MlpConfig::Experts(_) => None,
        });
        let experts = config.layers.iter().find_map(|layer| match &layer.mlp {
            MlpConfig::Experts(sizes) => Some(sizes),
            MlpConfig::Gated { .. } => None,
        });
        Ok(Self {
            normed: backend.tensor(TensorRole::Inputs, config.hidden)?,
            grouped: attention::AttentionScratch::new(backend, grouped)?,
            latent: mla::MlaLayerScratch::new(backend, latent)?,
            gated: mlp::MlpScratch::new(backend, gated)?,
            experts: moe::MoeLayerScratch::new(backend, experts)?,
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
        let name = |part: &str| format!("model.layers.{index}.{part}");
        let LayerConfig { window, mlp } = &model.layers[index];
        let (hidden, prefix) = (model.hidden, name("self_attn"));
        let layer = Self {
            input_norm: loading.vector(&name("input_layernorm.weight"), hidden)?,
            attention: match &model.attention {
                AttentionConfig::Grouped(config) => {
                    let sizes = (*config, *window);
                    Attention::Grouped(GroupedAttention::load(loading, &prefix, hidden, sizes)?)
                }
                AttentionConfig::Latent(config) => {
                    Attention::Latent(LatentAttention::load(loading, &prefix, hidden, config)?)
                }
            },
            post_norm: loading.vector(&name("post_attention_layernorm.weight"), hidden)?,
            mlp: match mlp {
                MlpConfig::Gated { intermediate } => {
                    Mlp::Gated(GatedMlp::load(loading, &name("mlp"), (hidden, *intermediate))?)
                }
                MlpConfig::Experts(config) => {
                    Mlp::Experts(Box::new(MoeMlp::load(loading, &name("mlp"), hidden, config)?))
                }
            },
        };
        loading.part_done();
        Ok(layer)
    }

    /// Runs layer `index` on the residual stream.
    pub(super) fn forward(
        &self,
        backend: &mut B,
        (index, rope, eps): (usize, &B::Rope, f32),
        scratch: &mut LayerScratch<B>,
        hidden: &mut B::Tensor,
    ) {
        let LayerScratch { normed, grouped, latent, gated, experts } = scratch;
        let place = (index, rope, Norm { weight: &self.input_norm, eps });
        match &self.attention {
            Attention::Grouped(layer) => layer.forward(backend, place, normed, grouped, hidden),
            Attention::Latent(layer) => layer.forward(backend, place, normed, latent, hidden),
        }
        let norm = Norm { weight: &self.post_norm, eps };
        match &self.mlp {
            Mlp::Gated(layer) => layer.forward(backend, norm, normed, gated, hidden),
            Mlp::Experts(layer) => layer.forward(backend, norm, normed, experts, hidden),
        }
    }
}
