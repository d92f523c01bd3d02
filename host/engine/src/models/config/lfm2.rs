//! LFM2 and LFM2.5, dense and with experts: short gated convolutions, and layers of attention with
//! norms on query and key heads among them.

use super::common;
use super::{
    AttentionConfig, ExpertLayout, ExpertsConfig, GroupedConfig, LayerConfig, MlpConfig, ModelConfig,
    ShortConvConfig,
};
use crate::models::LoadError;
use crate::models::fields::Fields;
use crate::models::ops::{ExpertActivation, Scoring, ShortConvShape};

/// Widest feed-forward part.
const WIDEST: usize = 1 << 20;
/// Added to the sum that weights of experts are divided by.
const WEIGHT_EPS: f32 = 1e-6;

/// All layers have the same feed-forward part.
pub(super) fn read_dense(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    let mlp = MlpConfig::swiglu(adjusted_width(fields)?);
    read(fields, vec![mlp; common::layers(fields)?])
}

/// All layers but the first have experts.
pub(super) fn read_moe(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    let dense = fields.optional_size("num_dense_layers", 0..=1 << 16)?.unwrap_or(2);
    let mlp = |i: usize| {
        Ok(if i < dense {
            MlpConfig::swiglu(common::intermediate(fields, "intermediate_size")?)
        } else {
            MlpConfig::Experts(experts(fields)?)
        })
    };
    read(fields, (0..common::layers(fields)?).map(mlp).collect::<Result<_, LoadError>>()?)
}

/// Reads a model whose layers have these feed-forward parts.
#[expect(clippy::cast_possible_truncation, reason = "the norm's constant is rounded to f32")]
fn read(fields: Fields<'_>, mlps: Vec<MlpConfig>) -> Result<ModelConfig, LoadError> {
    let is_attention = attention_layers(fields)?;
    if !is_attention.contains(&true) {
        return Err(fields.invalid("\"layer_types\" must have a \"full_attention\""));
    }
    let grouped = common::grouped(fields, |heads| common::hidden_by_heads(fields, heads))?;
    let attention = AttentionConfig::Grouped(GroupedConfig { head_norms: true, ..grouped });
    let taps = fields.optional_size("conv_L_cache", 2..=64)?.unwrap_or(3);
    let conv = AttentionConfig::ShortConv(ShortConvConfig {
        shape: ShortConvShape { channels: common::hidden(fields)?, taps },
        bias: fields.flag("conv_bias")?.unwrap_or(false),
    });
    let with_theta = fields.with_defaults(&[("rope_theta", 1_000_000)]);
    let rope = common::rope(fields.of(&with_theta), grouped.shape.head_dim)?;
    let layer = |(is_attention, mlp)| LayerConfig {
        attention: if is_attention { attention } else { conv },
        rope: rope.clone(),
        window: None,
        mlp,
    };
    let config = common::decoder(fields, is_attention.into_iter().zip(mlps).map(layer).collect())?;
    let tied = match fields.flag("tie_embedding")? {
        Some(tied) => tied,
        None => fields.flag("tie_word_embeddings")?.unwrap_or(true),
    };
    let rms_norm_eps = fields.positive("norm_eps")?.unwrap_or(1e-5) as f32;
    Ok(ModelConfig { rms_norm_eps, tied, ..config })
}

/// Which layers have attention: those that `layer_types` or `full_attn_idxs` name, or all.
fn attention_layers(fields: Fields<'_>) -> Result<Vec<bool>, LoadError> {
    if let Some(listed) = common::kinds(fields, "layer_types", ["conv", "full_attention"])? {
        return Ok(listed);
    }
    let count = common::layers(fields)?;
    if fields.get("full_attn_idxs").is_none() {
        return Ok(vec![true; count]);
    }
    let listed = fields.indices("full_attn_idxs", count)?;
    Ok((0..count).map(|i| listed.contains(&i)).collect())
}

/// Width of the feed-forward part of dense models: two thirds of what the configuration says, times a
/// factor, rounded up to a multiple, unless it is to be taken as it is.
#[expect(clippy::cast_precision_loss, reason = "widths are far below 2⁵²")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded before")]
fn adjusted_width(fields: Fields<'_>) -> Result<usize, LoadError> {
    const FACTOR: &str = "block_ffn_dim_multiplier";
    let older = fields.get("block_ff_dim").is_some();
    let width = common::intermediate(fields, if older { "block_ff_dim" } else { "intermediate_size" })?;
    if !fields.flag("block_auto_adjust_ff_dim")?.unwrap_or(true) {
        return Ok(width);
    }
    let multiple = fields.optional_size("block_multiple_of", 1..=WIDEST)?.unwrap_or(256);
    let scaled = fields.positive(FACTOR)?.unwrap_or(1.0) * (2 * width / 3) as f64;
    if (1.0..=WIDEST as f64).contains(&scaled) {
        return Ok((scaled as usize).next_multiple_of(multiple));
    }
    Err(fields.invalid(format!("\"{FACTOR}\" makes feed-forward layers {scaled} wide")))
}

#[expect(clippy::cast_possible_truncation, reason = "the factor is rounded to f32")]
fn experts(fields: Fields<'_>) -> Result<ExpertsConfig, LoadError> {
    let (experts, per_token) = common::experts(fields, ["num_experts", "num_local_experts"])?;
    Ok(ExpertsConfig {
        experts,
        per_token,
        intermediate: common::intermediate(fields, "moe_intermediate_size")?,
        scoring: Scoring::Sigmoid {
            groups: 1,
            top_groups: 1,
            normalize: fields.flag("norm_topk_prob")?.unwrap_or(true),
            eps: WEIGHT_EPS,
            scale: fields.positive("routed_scaling_factor")?.unwrap_or(1.0) as f32,
        },
        activation: ExpertActivation::SwiGlu,
        layout: ExpertLayout::Separate { correction: fields.flag("use_expert_bias")?.unwrap_or(true) },
        shared: None,
    })
}
