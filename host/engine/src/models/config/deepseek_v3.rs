//! DeepSeek-V3 (arXiv:2412.19437), and Moonlight and Kimi K2, which have its architecture:
//! attention over a compressed cache, a few dense layers first, then experts with a shared one.

use super::common;
use super::{
    AttentionConfig, ExpertLayout, ExpertsConfig, LatentConfig, LayerConfig, MlpConfig, ModelConfig,
    SharedExpert,
};
use crate::models::LoadError;
use crate::models::fields::Fields;
use crate::models::ops::{ExpertActivation, MlaShape, RopeScaling, RopeSpec, SIGMOID_EPS, Scoring};

pub(super) fn read(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    let dense = fields.optional_size("first_k_dense_replace", 0..=1 << 16)?.unwrap_or(0);
    read_with(fields, |layer| layer < dense)
}

/// Reads a model whose layers have experts, but for those that `is_dense` names.
pub(super) fn read_with(
    fields: Fields<'_>,
    is_dense: impl Fn(usize) -> bool,
) -> Result<ModelConfig, LoadError> {
    refuse_unsupported(fields)?;
    let rotated = rotated(fields)?;
    let rope = common::rope(fields, rotated)?;
    let attention = AttentionConfig::Latent(attention(fields, &rope)?);
    let layer = |mlp| LayerConfig { attention, rope: rope.clone(), window: None, mlp };
    common::decoder(fields, mlps(fields, is_dense)?.into_iter().map(layer).collect())
}

/// Feed-forward part of each layer. What no layer needs isn't read.
pub(super) fn mlps(
    fields: Fields<'_>,
    is_dense: impl Fn(usize) -> bool,
) -> Result<Vec<MlpConfig>, LoadError> {
    let count = common::layers(fields)?;
    let gated = MlpConfig::swiglu(common::intermediate(fields, "intermediate_size")?);
    if (0..count).all(&is_dense) {
        return Ok(vec![gated; count]);
    }
    let experts = MlpConfig::Experts(experts(fields)?);
    Ok((0..count).map(|i| if is_dense(i) { gated.clone() } else { experts.clone() }).collect())
}

/// Width of the rotated part of a head.
fn rotated(fields: Fields<'_>) -> Result<usize, LoadError> {
    let rotated = fields.size("qk_rope_head_dim", 1..=1 << 12)?;
    if rotated.is_multiple_of(2) {
        return Ok(rotated);
    }
    Err(fields.invalid(format!("\"qk_rope_head_dim\" must be even, found {rotated}")))
}

#[expect(clippy::cast_precision_loss, reason = "widths are far below 2²³")]
#[expect(clippy::cast_possible_truncation, reason = "the factor is rounded to f32")]
fn attention(fields: Fields<'_>, rope: &RopeSpec) -> Result<LatentConfig, LoadError> {
    let width = |name| fields.size(name, 1..=1 << 12);
    let (nope, rotated) = (width("qk_nope_head_dim")?, rope.rotated);
    let stretched = match &rope.scaling {
        Some(RopeScaling::Yarn(yarn)) => yarn.score_factor,
        _ => 1.0,
    };
    Ok(LatentConfig {
        shape: MlaShape {
            heads: fields.size("num_attention_heads", 1..=4096)?,
            rank: fields.size("kv_lora_rank", 1..=1 << 16)?,
            nope,
            rope: rotated,
            value: width("v_head_dim")?,
        },
        query_rank: fields.optional_size("q_lora_rank", 1..=1 << 16)?,
        scale: (stretched / ((nope + rotated) as f64).sqrt()) as f32,
    })
}

fn experts(fields: Fields<'_>) -> Result<ExpertsConfig, LoadError> {
    let (experts, per_token) = common::experts(fields, ["n_routed_experts", "num_local_experts"])?;
    let intermediate = common::intermediate(fields, "moe_intermediate_size")?;
    let shared = fields.optional_size("n_shared_experts", 0..=256)?.unwrap_or(0);
    Ok(ExpertsConfig {
        experts,
        per_token,
        intermediate,
        scoring: scoring(fields, experts, per_token)?,
        activation: ExpertActivation::SwiGlu,
        layout: ExpertLayout::Separate { correction: true },
        shared: (shared > 0).then_some(SharedExpert { intermediate: shared * intermediate, gated: false }),
    })
}

/// Reads the router's scoring. Groups must be of one size, and the groups that are kept must have
/// enough experts.
#[expect(clippy::cast_possible_truncation, reason = "the factor is rounded to f32")]
fn scoring(fields: Fields<'_>, experts: usize, per_token: usize) -> Result<Scoring, LoadError> {
    let groups = fields.optional_size("n_group", 1..=experts)?.unwrap_or(1);
    let top_groups = fields.optional_size("topk_group", 1..=groups)?.unwrap_or(groups);
    if !experts.is_multiple_of(groups) {
        let reason = format!("\"n_routed_experts\" ({experts}) must be a multiple of \"n_group\" ({groups})");
        return Err(fields.invalid(reason));
    }
    let left = experts / groups * top_groups;
    if left < per_token {
        let reason = format!(
            "\"topk_group\" ({top_groups}) leaves {left} experts of {per_token} \"num_experts_per_tok\""
        );
        return Err(fields.invalid(reason));
    }
    Ok(Scoring::Sigmoid {
        groups,
        top_groups,
        normalize: fields.flag("norm_topk_prob")?.unwrap_or(true),
        eps: SIGMOID_EPS,
        scale: fields.positive("routed_scaling_factor")?.unwrap_or(1.0) as f32,
    })
}

/// Refuses features that would change results and aren't supported.
fn refuse_unsupported(fields: Fields<'_>) -> Result<(), LoadError> {
    fields.only_text("hidden_act", "silu")?;
    fields.only_text("scoring_func", "sigmoid")?;
    fields.only_text("topk_method", "noaux_tc")?;
    fields.refuse_flag("attention_bias")?;
    fields.only_number("moe_layer_freq", 1.0)?;
    match fields.flag("rope_interleave")? {
        Some(false) => Err(fields.invalid("\"rope_interleave\" false is not supported; supported: true")),
        _ => Ok(()),
    }
}
