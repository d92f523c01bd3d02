//! Keys of a GGUF file, from the configuration of a tiny checkpoint.

use serde_json::Value;

use super::gemma4;
use super::writer::{Key, Writer};

/// Architectures: the checkpoint's class, and the file's name.
const ARCHITECTURES: [(&str, &str); 14] = [
    ("LlamaForCausalLM", "llama"),
    ("MistralForCausalLM", "llama"),
    ("Ministral3ForCausalLM", "mistral3"),
    ("SmolLM3ForCausalLM", "smollm3"),
    ("GraniteForCausalLM", "granite"),
    ("Gemma3ForCausalLM", "gemma3"),
    ("Gemma4ForCausalLM", gemma4::ARCHITECTURE),
    ("Phi3ForCausalLM", "phi3"),
    ("Qwen2ForCausalLM", "qwen2"),
    ("Qwen3ForCausalLM", "qwen3"),
    ("Qwen3MoeForCausalLM", "qwen3moe"),
    ("GptOssForCausalLM", "gpt-oss"),
    ("Glm4MoeForCausalLM", "glm4moe"),
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

/// Keys that Gemma 4 has layer by layer, or by kinds of layers.
const BY_LAYERS: [&str; 4] =
    ["feed_forward_length", "attention.head_count_kv", "attention.key_length", "attention.value_length"];

/// Numbers: the configuration's fields, and keys behind the architecture.
const NUMBERS: [(&str, &str); 7] = [
    ("rms_norm_eps", "attention.layer_norm_rms_epsilon"),
    ("routed_scaling_factor", "expert_weights_scale"),
    ("attention_multiplier", "attention.scale"),
    ("embedding_multiplier", "embedding_scale"),
    ("residual_multiplier", "residual_scale"),
    ("logits_scaling", "logit_scale"),
    ("rope_local_base_freq", "rope.freq_base_swa"),
];

/// Name of the architecture in files.
pub(crate) fn architecture(config: &Value) -> &'static str {
    let class = config["architectures"][0].as_str().unwrap();
    ARCHITECTURES.iter().find(|(other, _)| *other == class).unwrap().1
}

/// A number as files have it.
pub(crate) fn number(value: &Value) -> Option<f32> {
    value.as_f64().map(|number| number as f32)
}

/// Writes the keys of a checkpoint, but for those of its rotary embedding.
pub(crate) fn write(writer: &mut Writer, config: &Value) {
    let name = architecture(config);
    writer.key("general.architecture", Key::Text(name));
    let mut written = Vec::new();
    for (field, key) in SIZES {
        let is_own = match name {
            "deepseek2" => key.starts_with("attention.key_length"),
            gemma4::ARCHITECTURE => BY_LAYERS.contains(&key),
            _ => false,
        };
        if let Some(size) = config[field].as_u64().filter(|_| !is_own && !written.contains(&key)) {
            written.push(key);
            writer.key(&format!("{name}.{key}"), Key::U32(u32::try_from(size).unwrap()));
        }
    }
    for (field, key) in NUMBERS {
        if let Some(value) = number(&config[field]) {
            writer.key(&format!("{name}.{key}"), Key::F32(value));
        }
    }
    let size = |field: &str| u32::try_from(config[field].as_u64().unwrap()).unwrap();
    match name {
        "gpt-oss" => writer.key("gpt-oss.expert_feed_forward_length", Key::U32(size("intermediate_size"))),
        "deepseek2" => {
            let width = size("qk_nope_head_dim") + size("qk_rope_head_dim");
            writer.key("deepseek2.attention.key_length_mla", Key::U32(width));
        }
        _ => {}
    }
    if matches!(name, "deepseek2" | "glm4moe") {
        writer.key(&format!("{name}.expert_gating_func"), Key::U32(2));
        let normalised = config["norm_topk_prob"] == Value::Bool(true);
        writer.key(&format!("{name}.expert_weights_norm"), Key::Bool(normalised));
    }
}
