//! Qwen2.5, and the text of Qwen2.5-VL: grouped attention with biases on queries, keys and values,
//! dense.

use super::common;
use super::llama;
use super::{AttentionBias, LayerConfig, ModelConfig};
use crate::models::LoadError;
use crate::models::fields::Fields;

/// Layers from `max_window_layers` on have a window, where the configuration asks for windows.
pub(super) fn read(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    let layer = llama::layer(fields, AttentionBias::Qkv)?;
    let asked = fields.flag("use_sliding_window")?.unwrap_or(false);
    let window = if asked { common::window(fields)? } else { None };
    let first = fields.optional_size("max_window_layers", 0..=1 << 16)?.unwrap_or(28);
    let windows = common::windows(fields, window, |i| i >= first)?;
    let layers = windows.into_iter().map(|window| LayerConfig { window, ..layer.clone() });
    common::decoder(fields, layers.collect())
}
