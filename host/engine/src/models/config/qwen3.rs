//! Qwen3, dense and mixture of experts: grouped attention with norms on query and key heads. The
//! text of Qwen3-VL has the layers of the dense one.

use super::common;
use super::{
    AttentionConfig, ExpertLayout, ExpertsConfig, GroupedConfig, LayerConfig, MlpConfig, ModelConfig,
};
use crate::models::LoadError;
use crate::models::fields::Fields;
use crate::models::ops::{ExpertActivation, Scoring};

/// Default width of a head.
const HEAD_DIM: usize = 128;

/// All layers have the same feed-forward part.
pub(super) fn read_dense(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    let mlp = MlpConfig::swiglu(common::intermediate(fields, "intermediate_size")?);
    read(fields, vec![mlp; common::layers(fields)?])
}

/// Every `decoder_sparse_step`th layer has experts, except those in `mlp_only_layers`; all others
/// are dense.
pub(super) fn read_moe(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    let count = common::layers(fields)?;
    let step = fields.optional_size("decoder_sparse_step", 1..=1 << 16)?.unwrap_or(1);
    let dense = fields.indices("mlp_only_layers", 1 << 16)?;
    let (experts, per_token) = common::experts(fields, ["num_experts", "num_local_experts"])?;
    let experts = ExpertsConfig {
        experts,
        per_token,
        intermediate: common::intermediate(fields, "moe_intermediate_size")?,
        scoring: Scoring::Softmax { normalize: fields.flag("norm_topk_prob")?.unwrap_or(false) },
        activation: ExpertActivation::SwiGlu,
        layout: ExpertLayout::Separate { correction: false },
        shared: None,
    };
    let mlp = |i: usize| {
        if (i + 1).is_multiple_of(step) && !dense.contains(&i) {
            return Ok(MlpConfig::Experts(experts.clone()));
        }
        Ok(MlpConfig::swiglu(common::intermediate(fields, "intermediate_size")?))
    };
    read(fields, (0..count).map(mlp).collect::<Result<_, LoadError>>()?)
}

/// Reads a model whose layers have these feed-forward parts.
fn read(fields: Fields<'_>, mlps: Vec<MlpConfig>) -> Result<ModelConfig, LoadError> {
    fields.only_text("hidden_act", "silu")?;
    fields.refuse_flag("use_sliding_window")?;
    common::only_full_attention(fields)?;
    let grouped = GroupedConfig {
        bias: common::all_biases(fields, false)?,
        head_norms: true,
        ..common::grouped(fields, |_| Ok(HEAD_DIM))?
    };
    let rope = common::rope(fields, grouped.shape.head_dim)?;
    let attention = AttentionConfig::Grouped(grouped);
    let layer = |mlp| LayerConfig { attention, rope: rope.clone(), window: None, mlp };
    common::decoder(fields, mlps.into_iter().map(layer).collect())
}
