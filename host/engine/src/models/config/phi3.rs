//! Phi-3 and Phi-4-mini: as Llama, with projections of one input in one tensor, and a rotary
//! embedding of perhaps only a part of each head.

use super::common;
use super::{
    AttentionConfig, GatedConfig, GatedLayout, GroupedConfig, LayerConfig, MlpConfig, ModelConfig,
    ProjectionLayout,
};
use crate::models::LoadError;
use crate::models::fields::Fields;

pub(super) fn read(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    fields.only_text("hidden_act", "silu")?;
    common::only_full_attention(fields)?;
    let grouped = GroupedConfig {
        layout: ProjectionLayout::Fused,
        ..common::grouped(fields, |heads| common::hidden_by_heads(fields, heads))?
    };
    let mlp = GatedConfig {
        layout: GatedLayout::Fused,
        ..GatedConfig::swiglu(common::intermediate(fields, "intermediate_size")?)
    };
    let layer = LayerConfig {
        attention: AttentionConfig::Grouped(grouped),
        rope: common::partial_rope(fields, grouped.shape.head_dim, 1.0)?,
        window: common::window(fields)?,
        mlp: MlpConfig::Gated(mlp),
    };
    common::decoder(fields, vec![layer; common::layers(fields)?])
}
