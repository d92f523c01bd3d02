//! Llama and Mistral: grouped attention without norms on heads, dense.

use super::common::{self, hidden_by_heads};
use super::{AttentionConfig, GroupedConfig, LayerConfig, MlpConfig, ModelConfig};
use crate::models::LoadError;
use crate::models::fields::Fields;
use crate::models::ops::RopeSpec;

/// Llama 2 and 3.
pub(super) fn read_llama(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    fields.refuse_flag("mlp_bias")?;
    common::only_full_attention(fields)?;
    let bias = fields.flag("attention_bias")?.unwrap_or(false);
    read(fields, bias, None)
}

/// Mistral 7B and other models of its class. In the first Mistral 7B every layer has a window.
pub(super) fn read_mistral(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    common::only_full_attention(fields)?;
    read(fields, false, fields.optional_size("sliding_window", 1..=1 << 26)?)
}

fn read(fields: Fields<'_>, bias: bool, window: Option<usize>) -> Result<ModelConfig, LoadError> {
    fields.only_text("hidden_act", "silu")?;
    let attention = common::grouped(fields, |heads| hidden_by_heads(fields, heads))?;
    let intermediate = common::intermediate(fields, "intermediate_size")?;
    let layer = LayerConfig { window, mlp: MlpConfig::Gated { intermediate } };
    let rope = RopeSpec::from_fields(fields, common::context(fields)?)?;
    let attention = AttentionConfig::Grouped(GroupedConfig { bias, ..attention });
    common::decoder(fields, rope, attention, vec![layer; common::layers(fields)?])
}
