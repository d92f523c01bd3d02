//! Keys of a GGUF file, from the configuration of a tiny checkpoint.

use serde_json::Value;

use super::gemma4;
use super::writer::{Key, Writer};

/// Architectures: the checkpoint's class, and the file's name.
const ARCHITECTURES: [(&str, &str); 20] = [
    ("LlamaForCausalLM", "llama"),
    ("MistralForCausalLM", "llama"),
    ("MixtralForCausalLM", "llama"),
    ("Ministral3ForCausalLM", "mistral3"),
    ("SmolLM3ForCausalLM", "smollm3"),
    ("GraniteForCausalLM", "granite"),
    ("Gemma3ForCausalLM", "gemma3"),
    ("Gemma4ForCausalLM", gemma4::ARCHITECTURE),
    ("Phi3ForCausalLM", "phi3"),
    ("Qwen2ForCausalLM", "qwen2"),
    ("Qwen3ForCausalLM", "qwen3"),
    ("Qwen3MoeForCausalLM", "qwen3moe"),
    ("Qwen3_5ForCausalLM", "qwen35"),
    ("Qwen3_5MoeForCausalLM", "qwen35moe"),
    ("Qwen3NextForCausalLM", "qwen3next"),
    ("GptOssForCausalLM", "gpt-oss"),
    ("Glm4MoeForCausalLM", "glm4moe"),
    ("DeepseekV3ForCausalLM", "deepseek2"),
    ("Lfm2ForCausalLM", "lfm2"),
    ("Lfm2MoeForCausalLM", "lfm2moe"),
];

/// Whole numbers: the configuration's fields, and keys behind the architecture.
const SIZES: [(&str, &str); 29] = [
    ("max_position_embeddings", "context_length"),
    ("hidden_size", "embedding_length"),
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
    ("linear_conv_kernel_dim", "ssm.conv_kernel"),
    ("linear_key_head_dim", "ssm.state_size"),
    ("linear_num_key_heads", "ssm.group_count"),
    ("linear_num_value_heads", "ssm.time_step_rank"),
    ("full_attention_interval", "full_attention_interval"),
    ("shared_expert_intermediate_size", "expert_shared_feed_forward_length"),
    ("conv_L_cache", "shortconv.l_cache"),
    ("num_dense_layers", "leading_dense_block_count"),
];

/// Keys that Gemma 4 has layer by layer, or by kinds of layers.
const BY_LAYERS: [&str; 4] =
    ["feed_forward_length", "attention.head_count_kv", "attention.key_length", "attention.value_length"];

/// Numbers: the configuration's fields, and keys behind the architecture.
const NUMBERS: [(&str, &str); 8] = [
    ("norm_eps", "attention.layer_norm_rms_epsilon"),
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
    let mut written = if name.starts_with("lfm2") { lfm2(writer, name, config) } else { Vec::new() };
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
        if let Some(value) = number(&config[field]).filter(|_| !written.contains(&key)) {
            written.push(key);
            writer.key(&format!("{name}.{key}"), Key::F32(value));
        }
    }
    let size = |field: &str| u32::try_from(config[field].as_u64().unwrap()).unwrap();
    let ahead = super::delta::layers_ahead(name);
    writer.key(&format!("{name}.block_count"), Key::U32(size("num_hidden_layers") + ahead));
    match name {
        "gpt-oss" => writer.key("gpt-oss.expert_feed_forward_length", Key::U32(size("intermediate_size"))),
        "deepseek2" => {
            let width = size("qk_nope_head_dim") + size("qk_rope_head_dim");
            writer.key("deepseek2.attention.key_length_mla", Key::U32(width));
        }
        _ => super::delta::keys(writer, name, config),
    }
    if matches!(name, "deepseek2" | "glm4moe" | "lfm2moe") {
        writer.key(&format!("{name}.expert_gating_func"), Key::U32(2));
        let normalised = config["norm_topk_prob"] == Value::Bool(true);
        writer.key(&format!("{name}.expert_weights_norm"), Key::Bool(normalised));
    }
}

/// LFM2: key and value heads of each layer, and the width of dense feed-forward parts as it is.
/// Returns the keys that it writes.
fn lfm2(writer: &mut Writer, name: &str, config: &Value) -> Vec<&'static str> {
    let size = |field: &str| i32::try_from(config[field].as_i64().unwrap()).unwrap();
    let kinds = config["layer_types"].as_array().unwrap().iter();
    let heads = kinds.map(|kind| if *kind == "conv" { 0 } else { size("num_key_value_heads") });
    writer.key(&format!("{name}.attention.head_count_kv"), Key::I32s(&heads.collect::<Vec<_>>()));
    if config["block_auto_adjust_ff_dim"] != true {
        return vec!["attention.head_count_kv"];
    }
    let scaled =
        config["block_ffn_dim_multiplier"].as_f64().unwrap() * f64::from(2 * size("intermediate_size") / 3);
    let width = (scaled as u32).next_multiple_of(u32::try_from(size("block_multiple_of")).unwrap());
    writer.key(&format!("{name}.feed_forward_length"), Key::U32(width));
    vec!["attention.head_count_kv", "feed_forward_length"]
}
