//! Qwen3, dense and mixture of experts: grouped attention with norms on query and key heads.

use super::common;
use super::{
    AttentionConfig, ExpertLayout, ExpertsConfig, GroupedConfig, LayerConfig, MlpConfig, ModelConfig,
};
use crate::models::LoadError;
use crate::models::fields::Fields;
use crate::models::ops::{ExpertActivation, RopeSpec, Scoring};

/// Default width of a head.
const HEAD_DIM: usize = 128;

/// All layers have the same feed-forward part.
pub(super) fn read_dense(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    let mlp = MlpConfig::Gated { intermediate: common::intermediate(fields, "intermediate_size")? };
    let layers = vec![LayerConfig { window: None, mlp }; common::layers(fields)?];
    read(fields, layers)
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
    let layer = |i: usize| {
        let mlp = if (i + 1).is_multiple_of(step) && !dense.contains(&i) {
            MlpConfig::Experts(experts.clone())
        } else {
            MlpConfig::Gated { intermediate: common::intermediate(fields, "intermediate_size")? }
        };
        Ok(LayerConfig { window: None, mlp })
    };
    read(fields, (0..count).map(layer).collect::<Result<_, LoadError>>()?)
}

fn read(fields: Fields<'_>, layers: Vec<LayerConfig>) -> Result<ModelConfig, LoadError> {
    fields.only_text("hidden_act", "silu")?;
    fields.refuse_flag("use_sliding_window")?;
    common::only_full_attention(fields)?;
    let attention = GroupedConfig {
        bias: fields.flag("attention_bias")?.unwrap_or(false),
        head_norms: true,
        ..common::grouped(fields, |_| Ok(HEAD_DIM))?
    };
    let rope = RopeSpec::from_fields(fields, common::context(fields)?)?;
    common::decoder(fields, rope, AttentionConfig::Grouped(attention), layers)
}
