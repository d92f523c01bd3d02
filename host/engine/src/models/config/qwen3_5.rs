//! Qwen3.5 and 3.6, dense and with experts, and Qwen3-Next: the gated delta rule in three layers of
//! four, attention with an output gate in the fourth.

use serde_json::Value;

use super::common;
use super::{
    AttentionConfig, ExpertLayout, ExpertsConfig, GroupedConfig, LayerConfig, MlpConfig, ModelConfig,
    ProjectionLayout, SharedExpert,
};
use crate::models::LoadError;
use crate::models::fields::Fields;
use crate::models::ops::{DeltaLayout, DeltaShape, ExpertActivation, HeadPairing, Scoring};

/// Default width of a head of attention, and the part of it that is rotated.
const HEAD_DIM: usize = 256;
const ROTATED: f64 = 0.25;

/// Qwen3.5, dense.
pub(super) fn read_dense(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    let mlp = MlpConfig::swiglu(common::intermediate(fields, "intermediate_size")?);
    read(fields, DeltaLayout::Whole, vec![mlp; common::layers(fields)?])
}

/// Qwen3.5 with experts in all layers.
pub(super) fn read_moe(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    let experts = MlpConfig::Experts(experts(fields)?);
    read(fields, DeltaLayout::Whole, vec![experts; common::layers(fields)?])
}

/// Qwen3-Next, whose projections are stored by key heads, unless they come from a GGUF file.
pub(super) fn read_next(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    let experts = experts(fields)?;
    let step = fields.optional_size("decoder_sparse_step", 1..=1 << 16)?.unwrap_or(1);
    let dense = fields.indices("mlp_only_layers", 1 << 16)?;
    let mlp = |i: usize| {
        if (i + 1).is_multiple_of(step) && !dense.contains(&i) {
            return Ok(MlpConfig::Experts(experts.clone()));
        }
        Ok(MlpConfig::swiglu(common::intermediate(fields, "intermediate_size")?))
    };
    let mlps = (0..common::layers(fields)?).map(mlp).collect::<Result<_, LoadError>>()?;
    let is_whole = fields.flag("linear_projections_are_whole")?.unwrap_or(false);
    read(fields, if is_whole { DeltaLayout::Whole } else { DeltaLayout::ByKeyHead }, mlps)
}

/// Reads a model whose layers have these feed-forward parts.
fn read(fields: Fields<'_>, layout: DeltaLayout, mlps: Vec<MlpConfig>) -> Result<ModelConfig, LoadError> {
    fields.only_text("hidden_act", "silu")?;
    let grouped = GroupedConfig {
        bias: common::all_biases(fields, false)?,
        head_norms: true,
        layout: ProjectionLayout::WithGates,
        ..common::grouped(fields, |_| Ok(HEAD_DIM))?
    };
    if grouped.bias != super::AttentionBias::None {
        return Err(fields.invalid("\"attention_bias\" true is not supported for this architecture"));
    }
    let rope = common::partial_rope(fields, grouped.shape.head_dim, ROTATED)?;
    let delta = delta(fields, layout)?;
    let is_attention = attention_layers(fields)?;
    if !is_attention.contains(&true) {
        return Err(fields.invalid("\"layer_types\" must have a \"full_attention\""));
    }
    let layer = |(is_attention, mlp): (bool, MlpConfig)| LayerConfig {
        attention: if is_attention {
            AttentionConfig::Grouped(grouped)
        } else {
            AttentionConfig::Delta(delta)
        },
        rope: rope.clone(),
        window: None,
        mlp,
    };
    let config = common::decoder(fields, is_attention.into_iter().zip(mlps).map(layer).collect())?;
    Ok(ModelConfig { norm_offset: common::norm_offset(fields)?, ..config })
}

/// Sizes of the layers with the gated delta rule.
fn delta(fields: Fields<'_>, layout: DeltaLayout) -> Result<DeltaShape, LoadError> {
    let size =
        |name, default, most| Ok::<_, LoadError>(fields.optional_size(name, 1..=most)?.unwrap_or(default));
    // GGUF files have value heads in another order.
    let is_strided = fields.flag("linear_value_heads_are_strided")?.unwrap_or(false);
    let shape = DeltaShape {
        key_heads: size("linear_num_key_heads", 16, 1024)?,
        value_heads: size("linear_num_value_heads", 32, 1024)?,
        key_dim: size("linear_key_head_dim", 128, 1024)?,
        value_dim: size("linear_value_head_dim", 128, 1024)?,
        taps: fields.optional_size("linear_conv_kernel_dim", 2..=64)?.unwrap_or(4),
        layout,
        pairing: if is_strided { HeadPairing::Strided } else { HeadPairing::Neighbours },
    };
    if shape.value_heads.is_multiple_of(shape.key_heads) {
        return Ok(shape);
    }
    let DeltaShape { key_heads, value_heads, .. } = shape;
    let reason = format!(
        "\"linear_num_value_heads\" ({value_heads}) must be a multiple of \"linear_num_key_heads\" ({key_heads})"
    );
    Err(fields.invalid(reason))
}

/// Which layers have attention, from `layer_types` or else every `full_attention_interval`th.
fn attention_layers(fields: Fields<'_>) -> Result<Vec<bool>, LoadError> {
    let count = common::layers(fields)?;
    let Some(kinds) = fields.get("layer_types") else {
        let interval = fields.optional_size("full_attention_interval", 1..=1 << 16)?.unwrap_or(4);
        return Ok((0..count).map(|i| (i + 1).is_multiple_of(interval)).collect());
    };
    let is_attention = |kind: &Value| match kind.as_str() {
        Some("full_attention") => Some(true),
        Some("linear_attention") => Some(false),
        _ => None,
    };
    let all = kinds.as_array().filter(|kinds| kinds.len() == count);
    let all: Option<Vec<bool>> = all.and_then(|kinds| kinds.iter().map(is_attention).collect());
    let expected = format!("{count} of \"linear_attention\" and \"full_attention\"");
    all.ok_or_else(|| fields.error("layer_types", &expected, kinds))
}

fn experts(fields: Fields<'_>) -> Result<ExpertsConfig, LoadError> {
    let (experts, per_token) = common::experts(fields, ["num_experts", "num_local_experts"])?;
    let shared = common::intermediate(fields, "shared_expert_intermediate_size")?;
    Ok(ExpertsConfig {
        experts,
        per_token,
        intermediate: common::intermediate(fields, "moe_intermediate_size")?,
        scoring: Scoring::Softmax { normalize: fields.flag("norm_topk_prob")?.unwrap_or(true) },
        activation: ExpertActivation::SwiGlu,
        layout: ExpertLayout::Separate { correction: false },
        shared: Some(SharedExpert { intermediate: shared, gated: true }),
    })
}
