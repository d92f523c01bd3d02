//! Granite 3 and 4, dense: as Llama, with factors of the embedding, the scores, what layers add to
//! the residual stream, and the logits.

use serde_json::Value;

use super::common;
use super::llama;
use super::{
    AttentionConfig, Factors, GatedConfig, GatedLayout, GroupedConfig, LayerConfig, MlpConfig, ModelConfig,
};
use crate::models::LoadError;
use crate::models::fields::Fields;
use crate::models::ops::RopeSpec;

/// Granite 3, and Granite 4 where it has this class.
pub(super) fn read_dense(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    common::only_full_attention(fields)?;
    let layer = llama::layer(fields, common::all_biases(fields, false)?)?;
    read(fields, layer)
}

/// Granite 4, whose class may have layers with a state and experts; here all layers are attention
/// and the expert that all tokens go to.
pub(super) fn read_hybrid(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    let count = common::layers(fields)?;
    let is_attention = |kind: &Value| matches!(kind.as_str(), Some("attention" | "full_attention"));
    let kinds = fields.get("layer_types").ok_or_else(|| fields.absent("layer_types"))?;
    if !kinds.as_array().is_some_and(|kinds| kinds.len() == count && kinds.iter().all(is_attention)) {
        return Err(fields.error("layer_types", &format!("{count} of \"attention\""), kinds));
    }
    fields.only_number("num_local_experts", 0.0)?;
    let layer = llama::layer(fields, common::all_biases(fields, false)?)?;
    let rope = match fields.text("position_embedding_type")? {
        Some("rope") => layer.rope,
        None | Some("nope") => RopeSpec { rotated: 0, ..layer.rope },
        Some(other) => {
            let name = fields.place("position_embedding_type");
            return Err(
                fields.invalid(format!("{name} {other:?} is not supported; supported: \"rope\", \"nope\""))
            );
        }
    };
    let shared = GatedConfig::swiglu(common::intermediate(fields, "shared_intermediate_size")?);
    let mlp = MlpConfig::Gated(GatedConfig { layout: GatedLayout::SharedExpert, ..shared });
    read(fields, LayerConfig { rope, mlp, ..layer })
}

/// Reads a model whose layers are all like `layer`, but for the factor of scores.
#[expect(clippy::cast_possible_truncation, reason = "factors are rounded to f32")]
fn read(fields: Fields<'_>, layer: LayerConfig) -> Result<ModelConfig, LoadError> {
    let factor = |name| Ok::<_, LoadError>(fields.positive(name)?.unwrap_or(1.0));
    let attention = match layer.attention {
        AttentionConfig::Grouped(sizes) => {
            AttentionConfig::Grouped(GroupedConfig { scale: factor("attention_multiplier")? as f32, ..sizes })
        }
        other => other,
    };
    let layers = vec![LayerConfig { attention, ..layer }; common::layers(fields)?];
    let factors = Factors {
        embedding: factor("embedding_multiplier")? as f32,
        residual: factor("residual_multiplier")? as f32,
        logits: factor("logits_scaling")?.recip() as f32,
    };
    Ok(ModelConfig { factors, ..common::decoder(fields, layers)? })
}
