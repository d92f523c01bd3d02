//! `SmolLM3`: as Llama, but in some layers positions play no part.

use serde_json::Value;

use super::common;
use super::llama;
use super::{LayerConfig, ModelConfig};
use crate::models::LoadError;
use crate::models::fields::Fields;
use crate::models::ops::RopeSpec;

/// Without `no_rope_layers`, every fourth layer has no rotary embedding.
pub(super) fn read(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    fields.refuse_flag("use_sliding_window")?;
    common::only_full_attention(fields)?;
    let rotated = llama::layer(fields, common::all_biases(fields, false)?)?;
    let plain = LayerConfig { rope: RopeSpec { rotated: 0, ..rotated.rope.clone() }, ..rotated.clone() };
    let count = common::layers(fields)?;
    let interval = fields.optional_size("no_rope_layer_interval", 1..=1 << 16)?.unwrap_or(4);
    let layer = |has_rope: bool| if has_rope { rotated.clone() } else { plain.clone() };
    let layers = match fields.get("no_rope_layers") {
        None => (1..=count).map(|i| layer(!i.is_multiple_of(interval))).collect(),
        Some(kinds) => {
            // Despite the field's name, 1 stands for a layer that has one.
            let has_rope = |kind: &Value| kind.as_u64().filter(|kind| *kind <= 1).map(|kind| kind == 1);
            let all = kinds.as_array().filter(|kinds| kinds.len() == count);
            let all: Option<Vec<bool>> = all.and_then(|kinds| kinds.iter().map(has_rope).collect());
            let expected = format!("{count} of 0 and 1");
            let all = all.ok_or_else(|| fields.error("no_rope_layers", &expected, kinds))?;
            all.into_iter().map(layer).collect()
        }
    };
    common::decoder(fields, layers)
}
