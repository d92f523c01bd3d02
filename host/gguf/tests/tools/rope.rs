//! Keys and tensors of a GGUF file for the rotary embedding of a tiny checkpoint.

use std::f64::consts::PI;

use serde_json::Value;

use super::keys::{architecture, number};
use super::writer::{Key, Writer};

/// Writes them.
pub(crate) fn write(writer: &mut Writer, config: &Value) {
    let name = architecture(config);
    let inner = ["rope_parameters", "rope_scaling"].map(|field| &config[field]);
    let rope = inner.into_iter().find(|rope| rope.is_object()).unwrap_or(&Value::Null);
    let field = |key: &str| if rope[key].is_null() { &config[key] } else { &rope[key] };
    if let Some(theta) = number(field("rope_theta")) {
        writer.key(&format!("{name}.rope.freq_base"), Key::F32(theta));
    }
    let width = |field: &str| config[field].as_u64();
    let head = width("head_dim")
        .unwrap_or_else(|| width("hidden_size").unwrap() / width("num_attention_heads").unwrap());
    if let Some(part) = field("partial_rotary_factor").as_f64() {
        let rotated = (head as f64 * part) as u32;
        writer.key(&format!("{name}.rope.dimension_count"), Key::U32(rotated));
    }
    let scaling = |writer: &mut Writer, key: &str, value: Option<f32>| {
        if let Some(value) = value {
            writer.key(&format!("{name}.rope.scaling.{key}"), Key::F32(value));
        }
    };
    let kind = if rope["rope_type"].is_null() { &rope["type"] } else { &rope["rope_type"] };
    let kind = kind.as_str().unwrap_or("default");
    if let ("yarn" | "longrope", Some(original)) = (kind, field("original_max_position_embeddings").as_u64())
    {
        let key = format!("{name}.rope.scaling.original_context_length");
        writer.key(&key, Key::U32(u32::try_from(original).unwrap()));
    }
    match kind {
        "yarn" => {
            writer.key(&format!("{name}.rope.scaling.type"), Key::Text("yarn"));
            for (field, key) in [
                ("factor", "factor"),
                ("beta_fast", "yarn_beta_fast"),
                ("beta_slow", "yarn_beta_slow"),
                ("attention_factor", "yarn_attn_factor"),
            ] {
                scaling(writer, key, number(&rope[field]));
            }
            let part = if name == "deepseek2" { 0.1 } else { 1.0 };
            scaling(writer, "yarn_log_multiplier", number(&rope["mscale_all_dim"]).map(|all| part * all));
            if let Some(beta) = number(&rope["llama_4_scaling_beta"]) {
                writer.key(&format!("{name}.attention.temperature_scale"), Key::F32(beta));
            }
        }
        "longrope" => {
            scaling(writer, "attn_factor", number(&rope["attention_factor"]));
            for (field, tensor) in [("short_factor", "short"), ("long_factor", "long")] {
                let factors = rope[field].as_array().unwrap().iter().map(|factor| number(factor).unwrap());
                vector(writer, &format!("rope_factors_{tensor}.weight"), factors);
            }
        }
        "llama3" => {
            let theta = field("rope_theta").as_f64().unwrap();
            let factors =
                (0..head / 2).map(|pair| llama3(rope, theta.powf(-2.0 * pair as f64 / head as f64)));
            vector(writer, "rope_freqs.weight", factors);
        }
        _ => {}
    }
}

fn vector(writer: &mut Writer, name: &str, values: impl Iterator<Item = f32>) {
    let bytes: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
    writer.tensor(name, 0, &[bytes.len() / 4], bytes);
}

/// What a frequency is divided by.
fn llama3(rope: &Value, frequency: f64) -> f32 {
    let number = |key: &str| rope[key].as_f64().unwrap();
    let turns = number("original_max_position_embeddings") * frequency / (2.0 * PI);
    let (low, high) = (number("low_freq_factor"), number("high_freq_factor"));
    let kept = ((turns - low) / (high - low)).clamp(0.0, 1.0);
    (1.0 / (kept + (1.0 - kept) / number("factor"))) as f32
}
