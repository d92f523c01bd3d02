//! Qwen3.5 and Qwen3-Next: layers with the gated delta rule, which files describe as a state-space
//! model. Norms are stored with the one added, but for those of the states' results.

use serde_json::{Map, Value, json};

use super::{Fields, experts};
use crate::error::GgufError;
use crate::value::MetadataValue;

/// Qwen3.5, dense.
pub(super) fn qwen3_5(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    experts::none(fields, config)?;
    config.insert("linear_value_heads_are_strided".to_owned(), json!(true));
    layers(fields, config)
}

/// Qwen3.5 with experts.
pub(super) fn qwen3_5_moe(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    with_shared_expert(fields, config)?;
    config.insert("linear_value_heads_are_strided".to_owned(), json!(true));
    layers(fields, config)
}

/// Qwen3-Next. Value heads are in the checkpoint's order; the wide projection isn't by key heads any
/// longer, but in files of the first converters.
pub(super) fn qwen3_next(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    with_shared_expert(fields, config)?;
    let is_dense = |layer: &u64| !fields.gguf.has_tensor(&format!("blk.{layer}.ffn_gate_inp.weight"));
    let dense: Vec<u64> = (0..fields.layers()?).filter(is_dense).collect();
    config.insert("mlp_only_layers".to_owned(), json!(dense));
    let is_by_key_head = fields.gguf.has_tensor("blk.0.ssm_in.weight");
    config.insert("linear_projections_are_whole".to_owned(), json!(!is_by_key_head));
    layers(fields, config)
}

fn with_shared_expert(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    experts::qwen3(fields, config)?;
    let width = fields.needed_size("expert_shared_feed_forward_length")?;
    config.insert("shared_expert_intermediate_size".to_owned(), json!(width));
    Ok(())
}

/// Adds which layers have states, and the sizes of these.
fn layers(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    let value_heads = fields.needed_size("ssm.time_step_rank")?;
    let values = fields.needed_size("ssm.inner_size")?;
    if value_heads == 0 || !values.is_multiple_of(value_heads) {
        let reason = format!("{} {values} is not that of {value_heads} heads", fields.key("ssm.inner_size"));
        return Err(fields.gguf.keys.error(reason));
    }
    let mut set = |name: &str, value: Value| config.insert(name.to_owned(), value);
    set("linear_num_key_heads", json!(fields.key_heads()?));
    set("linear_num_value_heads", json!(value_heads));
    set("linear_key_head_dim", json!(fields.needed_size("ssm.state_size")?));
    set("linear_value_head_dim", json!(values / value_heads));
    set("linear_conv_kernel_dim", json!(fields.needed_size("ssm.conv_kernel")?));
    set("layer_types", json!(layer_types(fields)?));
    set("full_attention_interval", json!(fields.size("full_attention_interval")?));
    set("norms_have_one_added", json!(true));
    // A file that doesn't say so rotates whole heads.
    config.entry("partial_rotary_factor").or_insert(json!(1.0));
    Ok(())
}

/// Kind of each layer, where the file lists them. The list has also those that predict tokens
/// further ahead.
fn layer_types(fields: &Fields<'_, '_>) -> Result<Option<Vec<&'static str>>, GgufError> {
    let key = fields.key("attention.recurrent_layers");
    let Some(list) = fields.gguf.keys.array(&key)? else { return Ok(None) };
    let count = usize::try_from(fields.layers()?).unwrap_or(usize::MAX);
    let kind = |value: MetadataValue<'_>| match value {
        MetadataValue::Bool(true) => Some("linear_attention"),
        MetadataValue::Bool(false) => Some("full_attention"),
        _ => None,
    };
    let kinds: Option<Vec<_>> = list.iter().take(count).map(kind).collect();
    let kinds = kinds.filter(|kinds| kinds.len() == count);
    let reason = || format!("{key} must have true or false for each of {count} layers");
    kinds.map(Some).ok_or_else(|| fields.gguf.keys.error(reason()))
}
