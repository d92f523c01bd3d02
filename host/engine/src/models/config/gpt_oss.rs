//! gpt-oss: grouped attention with sinks and biases, every other layer over a window, experts of
//! all layers in one tensor.

use ops::MXFP4_BLOCK;

use super::common;
use super::{
    AttentionConfig, ExpertLayout, ExpertsConfig, GroupedConfig, LayerConfig, MlpConfig, ModelConfig,
};
use crate::models::LoadError;
use crate::models::fields::Fields;
use crate::models::ops::{ExpertActivation, RopeScaling, RopeSpec, Scoring, YarnScaling};

/// Default width of a head.
const HEAD_DIM: usize = 64;
/// Default window, in tokens.
const WINDOW: usize = 128;

pub(super) fn read(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    fields.only_text("hidden_act", "silu")?;
    let (experts, per_token) = common::experts(fields, ["num_local_experts", "num_experts"])?;
    let intermediate = common::intermediate(fields, "intermediate_size")?;
    let experts = ExpertsConfig {
        experts,
        per_token,
        intermediate,
        scoring: Scoring::SoftmaxOfChosen,
        activation: activation(fields)?,
        layout: ExpertLayout::Packed,
        shared: None,
    };
    let mlp = MlpConfig::Experts(experts);
    let grouped = GroupedConfig {
        bias: common::all_biases(fields, true)?,
        sinks: true,
        ..common::grouped(fields, |_| Ok(HEAD_DIM))?
    };
    let rope = rope(fields, grouped.shape.head_dim)?;
    let attention = AttentionConfig::Grouped(grouped);
    let layer = |window| LayerConfig { attention, rope: rope.clone(), window, mlp: mlp.clone() };
    let window = common::window(fields)?.unwrap_or(WINDOW);
    let windows = common::windows(fields, Some(window), |i| i.is_multiple_of(2))?;
    let config = common::decoder(fields, windows.into_iter().map(layer).collect())?;
    let mxfp4 = config.quantization == Some(super::Quantization::Mxfp4);
    for (name, width) in [("hidden_size", config.hidden), ("intermediate_size", intermediate)] {
        if mxfp4 && !width.is_multiple_of(MXFP4_BLOCK) {
            let reason =
                format!("\"{name}\" ({width}) must be a multiple of {MXFP4_BLOCK}, the block of mxfp4");
            return Err(fields.invalid(reason));
        }
    }
    Ok(config)
}

#[expect(clippy::cast_possible_truncation, reason = "constants are rounded to f32")]
fn activation(fields: Fields<'_>) -> Result<ExpertActivation, LoadError> {
    Ok(ExpertActivation::ClampedSwiGlu {
        alpha: fields.positive("swiglu_alpha")?.unwrap_or(1.702) as f32,
        limit: fields.positive("swiglu_limit")?.unwrap_or(7.0) as f32,
    })
}

/// The rotary embedding; where the configuration has none, that of the published models.
fn rope(fields: Fields<'_>, head_dim: usize) -> Result<RopeSpec, LoadError> {
    if RopeSpec::parameters(fields)?.is_some() {
        return common::rope(fields, head_dim);
    }
    let yarn = YarnScaling {
        factor: 32.0,
        original_context: 4096.0,
        beta_fast: 32.0,
        beta_slow: 1.0,
        truncate: false,
        attention_factor: 0.1 * 32f64.ln() + 1.0,
        score_factor: 1.0,
    };
    let theta = fields.positive("rope_theta")?.unwrap_or(150_000.0);
    Ok(RopeSpec { scaling: Some(RopeScaling::Yarn(yarn)), ..RopeSpec::plain(head_dim, theta) })
}
