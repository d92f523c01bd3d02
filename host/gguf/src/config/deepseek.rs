//! DeepSeek-V3, and models with its attention or its experts. The file describes attention in its absorbed form,
//! with one wide head; the configuration has the widths of the original heads.

use serde_json::{Map, Value, json};

use super::{Fields, experts};
use crate::error::GgufError;

/// Number of the router's scoring by sigmoid.
const SIGMOID: u64 = 2;

pub(super) fn own(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    let (rotated, rank) =
        (fields.needed_size("rope.dimension_count")?, fields.needed_size("attention.kv_lora_rank")?);
    let key = match fields.size("attention.key_length_mla")? {
        Some(key) => key,
        None => fields.needed_size("attention.key_length")?,
    };
    let value = match fields.size("attention.value_length_mla")? {
        Some(value) => value,
        None => fields.needed_size("attention.value_length")?,
    };
    let mut set = |name: &str, value: Value| config.insert(name.to_owned(), value);
    set("kv_lora_rank", json!(rank));
    set("q_lora_rank", json!(fields.size("attention.q_lora_rank")?));
    set("qk_rope_head_dim", json!(rotated));
    set("qk_nope_head_dim", json!(key.saturating_sub(rotated)));
    set("v_head_dim", json!(value));
    set("head_dim", Value::Null);
    set("partial_rotary_factor", Value::Null);
    experts_of_v3(fields, config)?;
    scores_factor(fields, config)
}

/// GLM-4.5 and later ones: DeepSeek-V3's experts behind grouped attention.
pub(super) fn glm4(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    experts_of_v3(fields, config)
}

/// Experts that a sigmoid scores, in groups, beside shared ones.
fn experts_of_v3(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    let mut set = |name: &str, value: Value| config.insert(name.to_owned(), value);
    set("first_k_dense_replace", json!(fields.size("leading_dense_block_count")?));
    set("moe_intermediate_size", json!(fields.size("expert_feed_forward_length")?));
    set("n_shared_experts", json!(fields.size("expert_shared_count")?));
    set("n_group", json!(fields.size("expert_group_count")?.filter(|count| *count > 0)));
    set("topk_group", json!(fields.size("expert_group_used_count")?.filter(|count| *count > 0)));
    set("routed_scaling_factor", json!(fields.number("expert_weights_scale")?));
    let normalised = fields.gguf.keys.flag(&fields.key("expert_weights_norm"))?;
    set("norm_topk_prob", json!(normalised.unwrap_or(false)));
    let scoring = if fields.size("expert_gating_func")? == Some(SIGMOID) { "sigmoid" } else { "softmax" };
    set("scoring_func", json!(scoring));
    experts::counts(fields, config, "n_routed_experts")
}

/// Adds the factor of scores of a stretched context. The file has a tenth of it.
fn scores_factor(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    if let Some(tenth) = fields.number("rope.scaling.yarn_log_multiplier")?
        && let Some(Value::Object(scaling)) = config.get_mut("rope_scaling")
    {
        // One tenth is not exact in the file's f32.
        let factor = (tenth * 10.0 * 1e6).round() / 1e6;
        scaling.insert("mscale".to_owned(), json!(factor));
        scaling.insert("mscale_all_dim".to_owned(), json!(factor));
    }
    Ok(())
}
