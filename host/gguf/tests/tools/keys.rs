//! Keys of a GGUF file, from the configuration of a tiny checkpoint.

use std::collections::BTreeMap;

use serde_json::Value;

use super::convert::Stored;
use super::writer::{Key, Writer};

/// Architectures: the checkpoint's class, and the file's name.
const ARCHITECTURES: [(&str, &str); 6] = [
    ("LlamaForCausalLM", "llama"),
    ("MistralForCausalLM", "llama"),
    ("Qwen3ForCausalLM", "qwen3"),
    ("Qwen3MoeForCausalLM", "qwen3moe"),
    ("GptOssForCausalLM", "gpt-oss"),
    ("DeepseekV3ForCausalLM", "deepseek2"),
];

/// Whole numbers: the configuration's fields, and keys behind the architecture.
const SIZES: [(&str, &str); 22] = [
    ("max_position_embeddings", "context_length"),
    ("hidden_size", "embedding_length"),
    ("num_hidden_layers", "block_count"),
    ("intermediate_size", "feed_forward_length"),
    ("moe_intermediate_size", "expert_feed_forward_length"),
    ("num_attention_heads", "attention.head_count"),
    ("num_key_value_heads", "attention.head_count_kv"),
    ("head_dim", "attention.key_length"),
    ("head_dim", "attention.value_length"),
    ("sliding_window", "attention.sliding_window"),
    ("num_experts", "expert_count"),
    ("num_local_experts", "expert_count"),
    ("n_routed_experts", "expert_count"),
    ("num_experts_per_tok", "expert_used_count"),
    ("first_k_dense_replace", "leading_dense_block_count"),
    ("n_shared_experts", "expert_shared_count"),
    ("n_group", "expert_group_count"),
    ("topk_group", "expert_group_used_count"),
    ("q_lora_rank", "attention.q_lora_rank"),
    ("kv_lora_rank", "attention.kv_lora_rank"),
    ("qk_rope_head_dim", "rope.dimension_count"),
    ("v_head_dim", "attention.value_length_mla"),
];

/// Writes the keys of a checkpoint; what its rotary embedding needs in tensors is written too.
pub(crate) fn write(writer: &mut Writer, config: &Value, _: &BTreeMap<String, Stored>) {
    let class = config["architectures"][0].as_str().unwrap();
    let name = ARCHITECTURES.iter().find(|(other, _)| *other == class).unwrap().1;
    writer.key("general.architecture", Key::Text(name));
    let mut written = Vec::new();
    for (field, key) in SIZES {
        let is_latent = name == "deepseek2" && key.starts_with("attention.key_length");
        if let Some(size) = config[field].as_u64().filter(|_| !is_latent && !written.contains(&key)) {
            written.push(key);
            writer.key(&format!("{name}.{key}"), Key::U32(u32::try_from(size).unwrap()));
        }
    }
    let number = |value: &Value| value.as_f64().map(|number| number as f32);
    let mut float = |key: &str, value: Option<f32>| {
        if let Some(value) = value {
            writer.key(&format!("{name}.{key}"), Key::F32(value));
        }
    };
    float("attention.layer_norm_rms_epsilon", number(&config["rms_norm_eps"]));
    float("expert_weights_scale", number(&config["routed_scaling_factor"]));
    let rope = if config["rope_parameters"].is_object() {
        &config["rope_parameters"]
    } else {
        &config["rope_scaling"]
    };
    let theta = number(&rope["rope_theta"]).or_else(|| number(&config["rope_theta"]));
    float("rope.freq_base", theta);
    if rope["rope_type"] == "yarn" || rope["type"] == "yarn" {
        float("rope.scaling.factor", number(&rope["factor"]));
        float("rope.scaling.yarn_beta_fast", number(&rope["beta_fast"]));
        float("rope.scaling.yarn_beta_slow", number(&rope["beta_slow"]));
        float("rope.scaling.yarn_attn_factor", number(&rope["attention_factor"]));
        float("rope.scaling.yarn_log_multiplier", number(&rope["mscale_all_dim"]).map(|all| 0.1 * all));
        let original = rope["original_max_position_embeddings"].as_u64();
        writer.key(&format!("{name}.rope.scaling.type"), Key::Text("yarn"));
        if let Some(original) = original {
            let key = format!("{name}.rope.scaling.original_context_length");
            writer.key(&key, Key::U32(u32::try_from(original).unwrap()));
        }
    }
    if name == "gpt-oss" {
        let width = u32::try_from(config["intermediate_size"].as_u64().unwrap()).unwrap();
        writer.key("gpt-oss.expert_feed_forward_length", Key::U32(width));
    }
    if name == "deepseek2" {
        let width =
            config["qk_nope_head_dim"].as_u64().unwrap() + config["qk_rope_head_dim"].as_u64().unwrap();
        writer.key("deepseek2.attention.key_length_mla", Key::U32(u32::try_from(width).unwrap()));
        writer.key("deepseek2.expert_gating_func", Key::U32(2));
        writer.key("deepseek2.expert_weights_norm", Key::Bool(config["norm_topk_prob"] == Value::Bool(true)));
    }
}
