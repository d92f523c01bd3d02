//! Mixtures of experts that need no more than a few fields: Mixtral's, Qwen3's and gpt-oss's.

use serde_json::{Map, Value, json};

use super::Fields;
use crate::error::GgufError;

/// Refuses experts, for architectures that have dense layers only.
pub(super) fn none(fields: &Fields<'_, '_>, _: &mut Map<String, Value>) -> Result<(), GgufError> {
    match fields.size("expert_count")? {
        None | Some(0) => Ok(()),
        Some(_) => Err(fields
            .gguf
            .keys
            .error(format!("experts of architecture {} are not supported", fields.prefix))),
    }
}

/// Adds the number of experts, and of those that a token goes to. `name` is the configuration's
/// name of the first.
pub(super) fn counts(
    fields: &Fields<'_, '_>,
    config: &mut Map<String, Value>,
    name: &str,
) -> Result<(), GgufError> {
    config.insert(name.to_owned(), json!(fields.needed_size("expert_count")?));
    config.insert("num_experts_per_tok".to_owned(), json!(fields.needed_size("expert_used_count")?));
    Ok(())
}

/// Llama, or with experts Mixtral: all layers have them, and their weights in the sum add up to one.
pub(super) fn llama(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    if matches!(fields.size("expert_count")?, None | Some(0)) {
        return Ok(());
    }
    let key = "expert_weights_scale";
    if fields.number(key)?.is_some_and(|factor| factor != 0.0 && factor.to_bits() != 1f64.to_bits()) {
        return Err(fields.gguf.keys.error(format!("{} is not supported", fields.key(key))));
    }
    config.insert("architectures".to_owned(), json!(["MixtralForCausalLM"]));
    config.insert("model_type".to_owned(), json!("mixtral"));
    counts(fields, config, "num_local_experts")
}

/// Qwen3: all layers have experts, whose weights in the sum add up to one.
pub(super) fn qwen3(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    counts(fields, config, "num_experts")?;
    let width = fields.needed_size("expert_feed_forward_length")?;
    config.insert("moe_intermediate_size".to_owned(), json!(width));
    config.insert("norm_topk_prob".to_owned(), json!(true));
    Ok(())
}

/// gpt-oss: every other layer has a window, beginning with the first. Bounds of `YaRN` aren't
/// rounded, as the original configuration says and the file doesn't.
pub(super) fn gpt_oss(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    counts(fields, config, "num_local_experts")?;
    let width = fields.needed_size("expert_feed_forward_length")?;
    config.insert("intermediate_size".to_owned(), json!(width));
    config.insert("sliding_window".to_owned(), json!(fields.size("attention.sliding_window")?));
    if let Some(Value::Object(scaling)) = config.get_mut("rope_scaling") {
        scaling.insert("truncate".to_owned(), json!(false));
    }
    Ok(())
}
