//! What a file of Gemma 4 has of its own: keys layer by layer, rotary factors, names.

use serde_json::Value;

use super::keys::number;
use super::writer::{Key, Writer};

pub(crate) const ARCHITECTURE: &str = "gemma4";

/// Names within a layer: the checkpoint's, and the file's.
const NAMES: [(&str, &str); 14] = [
    ("post_feedforward_layernorm.weight", "post_ffw_norm.weight"),
    ("post_feedforward_layernorm_1.weight", "post_ffw_norm_1.weight"),
    ("post_feedforward_layernorm_2.weight", "post_ffw_norm_2.weight"),
    ("pre_feedforward_layernorm.weight", "ffn_norm.weight"),
    ("pre_feedforward_layernorm_2.weight", "pre_ffw_norm_2.weight"),
    ("per_layer_input_gate.weight", "inp_gate.weight"),
    ("per_layer_projection.weight", "proj.weight"),
    ("post_per_layer_input_norm.weight", "post_norm.weight"),
    ("layer_scalar", "layer_output_scale.weight"),
    ("router.proj.weight", "ffn_gate_inp.weight"),
    ("router.scale", "ffn_gate_inp.scale"),
    ("router.per_expert_scale", "ffn_down_exps.scale"),
    ("experts.gate_up_proj", "ffn_gate_up_exps.weight"),
    ("experts.down_proj", "ffn_down_exps.weight"),
];

/// The file's name of a tensor outside of layers, or within one; `None` for a name that is as in
/// other files.
pub(crate) fn tensor(name: &str) -> Option<String> {
    let whole = match name {
        "model.embed_tokens_per_layer.weight" => "per_layer_token_embd.weight",
        "model.per_layer_model_projection.weight" => "per_layer_model_proj.weight",
        "model.per_layer_projection_norm.weight" => "per_layer_proj_norm.weight",
        _ => {
            let (layer, rest) = name.strip_prefix("model.layers.")?.split_once('.')?;
            let part = NAMES.iter().find(|(own, _)| *own == rest)?.1;
            return Some(format!("blk.{layer}.{part}"));
        }
    };
    Some(whole.to_owned())
}

/// Writes keys and rotary factors that differ between layers.
pub(crate) fn write(writer: &mut Writer, config: &Value) {
    let kinds = config["layer_types"].as_array().unwrap();
    let windows: Vec<bool> = kinds.iter().map(|kind| kind == "sliding_attention").collect();
    let size = |value: &Value| u32::try_from(value.as_u64().unwrap()).unwrap();
    let shared = config["num_kv_shared_layers"].as_u64().unwrap_or(0) as usize;
    let full = windows.iter().position(|has_window| !has_window).unwrap();
    let of_full = &config["per_layer_config"][full.to_string()];
    let or_else =
        |value: &Value, name: &str| if value.is_null() { config[name].clone() } else { value.clone() };
    let width = size(&or_else(&of_full["head_dim"], "global_head_dim"));
    let full_heads = or_else(&of_full["num_key_value_heads"], "num_global_key_value_heads");
    let key = |name: &str| format!("{ARCHITECTURE}.{name}");
    writer.key(&key("attention.sliding_window_pattern"), Key::Bools(&windows));
    writer.key(&key("attention.shared_kv_layers"), Key::U32(shared as u32));
    for (ending, width) in [("", width), ("_swa", size(&config["head_dim"]))] {
        for name in ["attention.key_length", "attention.value_length", "rope.dimension_count"] {
            writer.key(&key(&format!("{name}{ending}")), Key::U32(width));
        }
    }
    let heads = config["num_key_value_heads"].as_i64().unwrap() as i32;
    if let Some(full_heads) = full_heads.as_i64() {
        let each = windows.iter().map(|has_window| if *has_window { heads } else { full_heads as i32 });
        writer.key(&key("attention.head_count_kv"), Key::I32s(&each.collect::<Vec<_>>()));
    } else {
        writer.key(&key("attention.head_count_kv"), Key::I32s(&[heads].repeat(windows.len())));
    }
    let dense = config["intermediate_size"].as_i64().unwrap() as i32;
    if config["use_double_wide_mlp"] == true {
        let own = windows.len() - shared;
        let each = (0..windows.len()).map(|layer| if layer < own { dense } else { 2 * dense });
        writer.key(&key("feed_forward_length"), Key::I32s(&each.collect::<Vec<_>>()));
    } else {
        writer.key(&key("feed_forward_length"), Key::U32(dense as u32));
    }
    let rows = size(&config["hidden_size_per_layer_input"]);
    writer.key(&key("embedding_length_per_layer_input"), Key::U32(rows));
    if let Some(cap) = number(&config["final_logit_softcapping"]) {
        writer.key(&key("final_logit_softcapping"), Key::F32(cap));
    }
    if let Some(chosen) = config["top_k_experts"].as_u64() {
        writer.key(&key("expert_used_count"), Key::U32(chosen as u32));
    }
    let [of_windows, of_all] =
        ["sliding_attention", "full_attention"].map(|kind| &config["rope_parameters"][kind]);
    writer.key(&key("rope.freq_base"), Key::F32(number(&of_all["rope_theta"]).unwrap()));
    writer.key(&key("rope.freq_base_swa"), Key::F32(number(&of_windows["rope_theta"]).unwrap()));
    let half = width as usize / 2;
    let pairs = (f64::from(width) * of_all["partial_rotary_factor"].as_f64().unwrap() / 2.0) as usize;
    let factors = (0..half).map(|pair| if pair < pairs { 1.0 } else { 1e30f32 });
    writer.tensor("rope_freqs.weight", 0, &[half], factors.flat_map(f32::to_le_bytes).collect());
}
