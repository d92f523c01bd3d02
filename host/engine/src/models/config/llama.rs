//! Llama, Mistral and Mixtral: grouped attention without norms on heads.

use super::common::{self, hidden_by_heads};
use super::{
    AttentionBias, AttentionConfig, ExpertLayout, ExpertsConfig, GroupedConfig, LayerConfig, MlpConfig,
    ModelConfig,
};
use crate::models::LoadError;
use crate::models::fields::Fields;
use crate::models::ops::{ExpertActivation, Scoring};

/// Llama 2 and 3.
pub(super) fn read_llama(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    common::only_full_attention(fields)?;
    let layer = layer(fields, common::all_biases(fields, false)?)?;
    common::decoder(fields, vec![layer; common::layers(fields)?])
}

/// Mistral 7B and other models of its class. In the first Mistral 7B every layer has a window.
pub(super) fn read_mistral(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    let layer = mistral_layer(fields)?;
    common::decoder(fields, vec![layer; common::layers(fields)?])
}

/// Mixtral: Mistral's layers with experts, whose weights in the sum add up to one.
pub(super) fn read_mixtral(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    let (experts, per_token) = common::experts(fields, ["num_local_experts", "num_experts"])?;
    let mlp = MlpConfig::Experts(ExpertsConfig {
        experts,
        per_token,
        intermediate: common::intermediate(fields, "intermediate_size")?,
        scoring: Scoring::Softmax { normalize: true },
        activation: ExpertActivation::SwiGlu,
        layout: ExpertLayout::Separate { correction: false },
        shared: None,
    });
    let layer = LayerConfig { mlp, ..mistral_layer(fields)? };
    common::decoder(fields, vec![layer; common::layers(fields)?])
}

fn mistral_layer(fields: Fields<'_>) -> Result<LayerConfig, LoadError> {
    common::only_full_attention(fields)?;
    let window = common::window(fields)?;
    Ok(LayerConfig { window, ..layer(fields, AttentionBias::None)? })
}

/// A layer without a window.
pub(super) fn layer(fields: Fields<'_>, bias: AttentionBias) -> Result<LayerConfig, LoadError> {
    fields.only_text("hidden_act", "silu")?;
    fields.refuse_flag("mlp_bias")?;
    let attention = common::grouped(fields, |heads| hidden_by_heads(fields, heads))?;
    let rope = common::rope(fields, attention.shape.head_dim)?;
    let attention = AttentionConfig::Grouped(GroupedConfig { bias, ..attention });
    let mlp = MlpConfig::swiglu(common::intermediate(fields, "intermediate_size")?);
    Ok(LayerConfig { attention, rope, window: None, mlp })
}
