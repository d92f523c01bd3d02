//! A decoder's layers over any backend: attention and a feed-forward part, each behind a norm, each added to the residual stream.

mod attention;
mod mla;
mod mlp;
mod moe;

use super::config::{AttentionConfig, LayerConfig, MlpConfig, ModelConfig};
use super::loading::Loading;
use super::ops::Norm;
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

/// Activations of a step, which all layers share.
#[derive(Debug)]
pub(super) struct Scratch<B: Backend> {
    normed: B::Tensor,
    attention: AttentionScratch<B>,
    gated: Option<mlp::Scratch<B::Tensor>>,
    experts: Option<moe::Scratch<B>>,
}

#[derive(Debug)]
enum AttentionScratch<B: Backend> {
    Grouped(attention::Scratch<B::Tensor>),
    Latent(mla::Scratch<B::Tensor>),
}

impl<B: Backend> Scratch<B> {
    /// Makes room for what the layers of a model have.
    pub(super) fn new(backend: &mut B, config: &ModelConfig) -> Result<Self, LoadError> {
        let attention = match &config.attention {
            AttentionConfig::Grouped(sizes) => {
                AttentionScratch::Grouped(attention::Scratch::new(backend, sizes)?)
            }
            AttentionConfig::Latent(sizes) => AttentionScratch::Latent(mla::Scratch::new(backend, sizes)?),
        };
        let (mut gated, mut experts) = (None, None);
        for layer in &config.layers {
            match &layer.mlp {
                MlpConfig::Gated { intermediate } if gated.is_none() => {
                    gated = Some(mlp::Scratch::new(backend, *intermediate)?);
                }
                MlpConfig::Experts(sizes) if experts.is_none() => {
                    experts = Some(moe::Scratch::new(backend, sizes)?);
                }
                MlpConfig::Gated { .. } | MlpConfig::Experts(_) => {}
            }
        }
        Ok(Self { normed: backend.tensor(config.hidden)?, attention, gated, experts })
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
        scratch: &mut Scratch<B>,
        hidden: &mut B::Tensor,
    ) {
        let Scratch { normed, attention, gated, experts } = scratch;
        let place = (index, rope, eps);
        backend.rms_norm(hidden, Norm { weight: &self.input_norm, eps }, normed);
        match (&self.attention, attention) {
            (Attention::Grouped(layer), AttentionScratch::Grouped(scratch)) => {
                layer.forward(backend, place, normed, scratch, hidden);
            }
            (Attention::Latent(layer), AttentionScratch::Latent(scratch)) => {
                layer.forward(backend, place, normed, scratch, hidden);
            }
            _ => unreachable!("a model's layers attend alike"),
        }
        backend.rms_norm(hidden, Norm { weight: &self.post_norm, eps }, normed);
        match (&self.mlp, gated, experts) {
            (Mlp::Gated(layer), Some(scratch), _) => layer.forward(backend, normed, scratch, hidden),
            (Mlp::Experts(layer), _, Some(scratch)) => layer.forward(backend, normed, scratch, hidden),
            _ => unreachable!("activations were made for every kind of layer"),
        }
    }
}
