//! GLM-4.5 and 4.7 with experts: grouped attention with a rotary embedding of half of each head.
//! GLM-4.7-Flash has the layers of DeepSeek-V3.

use super::common;
use super::deepseek_v3;
use super::{AttentionBias, AttentionConfig, GroupedConfig, LayerConfig, ModelConfig};
use crate::models::LoadError;
use crate::models::fields::Fields;

/// GLM-4.5, GLM-4.5-Air, GLM-4.6 and GLM-4.7.
pub(super) fn read_moe(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    fields.only_text("hidden_act", "silu")?;
    let bias = fields.flag("attention_bias")?.unwrap_or(false);
    let grouped = GroupedConfig {
        bias: if bias { AttentionBias::Qkv } else { AttentionBias::None },
        head_norms: fields.flag("use_qk_norm")?.unwrap_or(false),
        ..common::grouped(fields, |heads| common::hidden_by_heads(fields, heads))?
    };
    let rope = common::partial_rope(fields, grouped.shape.head_dim, 0.5)?;
    let attention = AttentionConfig::Grouped(grouped);
    let dense = fields.optional_size("first_k_dense_replace", 0..=1 << 16)?.unwrap_or(1);
    let layer = |mlp| LayerConfig { attention, rope: rope.clone(), window: None, mlp };
    let mlps = deepseek_v3::mlps(fields, |i| i < dense)?;
    common::decoder(fields, mlps.into_iter().map(layer).collect())
}

/// GLM-4.7-Flash. Without `mlp_layer_types`, all layers but the first have experts.
pub(super) fn read_lite(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    if let Some(sparse) = common::kinds(fields, "mlp_layer_types", ["dense", "sparse"])? {
        return deepseek_v3::read_with(fields, |i| !sparse[i]);
    }
    let dense = fields.optional_size("first_k_dense_replace", 0..=1 << 16)?.unwrap_or(1);
    deepseek_v3::read_with(fields, |i| i < dense)
}
