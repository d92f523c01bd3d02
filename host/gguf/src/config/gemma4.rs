//! Gemma 4: sizes that differ between layers with a window and those that see all tokens, layers
//! that share keys and values, and rows that each layer has of its own.

use serde_json::{Map, Value, json};

use super::{Fields, experts, rope};
use crate::error::GgufError;

/// Table of the rows that layers have of their own.
const PER_LAYER_TABLE: &str = "per_layer_token_embd.weight";
/// From this on, what a frequency is divided by makes it none.
const NO_FREQUENCY: f64 = 1e20;

pub(super) fn own(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    let windows = windows(fields)?;
    let shared = fields.size("attention.shared_kv_layers")?.unwrap_or(0);
    let own_layers = windows.len().saturating_sub(usize::try_from(shared).unwrap_or(usize::MAX));
    let names = windows.iter().map(|has| if *has { "sliding_attention" } else { "full_attention" });
    let has_values = |layer: usize| fields.gguf.has_tensor(&format!("blk.{layer}.attn_v.weight"));
    let first_full = windows[..own_layers].iter().position(|has_window| !has_window);
    let mut set = |name: &str, value: Value| config.insert(name.to_owned(), value);
    set("layer_types", names.collect());
    set("num_kv_shared_layers", json!(shared));
    set("sliding_window", json!(fields.size("attention.sliding_window")?));
    set("attention_k_eq_v", json!(first_full.is_some_and(|layer| !has_values(layer))));
    set("final_logit_softcapping", json!(fields.number("final_logit_softcapping")?));
    let widths = head_widths(fields)?;
    set("per_layer_config", heads(fields, &windows, widths)?);
    set("rope_parameters", ropes(fields, widths)?);
    per_layer_rows(fields, config)?;
    dense_parts(fields, windows.len(), own_layers, config)?;
    experts_beside(fields, config)
}

/// Whether each layer has a window.
fn windows(fields: &Fields<'_, '_>) -> Result<Vec<bool>, GgufError> {
    const NAME: &str = "attention.sliding_window_pattern";
    let layers = fields.layers()?;
    let list = fields.gguf.keys.needed_array(&fields.key(NAME))?;
    let all: Option<Vec<bool>> = list.iter().map(|value| value.as_bool()).collect();
    let error = || fields.gguf.keys.error(format!("{} must be {layers} of true and false", fields.key(NAME)));
    all.filter(|all| all.len() as u64 == layers).ok_or_else(error)
}

/// Widths of heads in layers with a window, and in those that see all tokens.
fn head_widths(fields: &Fields<'_, '_>) -> Result<[u64; 2], GgufError> {
    let width = |ending: &str| {
        let keys = fields.needed_size(&format!("attention.key_length{ending}"))?;
        let values = fields.size(&format!("attention.value_length{ending}"))?.unwrap_or(keys);
        let rotated = fields.size(&format!("rope.dimension_count{ending}"))?.unwrap_or(keys);
        if (values, rotated) == (keys, keys) {
            return Ok(keys);
        }
        let reason = format!("keys of {keys}, {rotated} of them rotated, and values of {values} dimensions");
        Err(fields.gguf.keys.error(format!("{reason} are not supported")))
    };
    Ok([width("_swa")?, width("")?])
}

/// Heads of each layer.
fn heads(
    fields: &Fields<'_, '_>,
    windows: &[bool],
    [of_windows, of_full]: [u64; 2],
) -> Result<Value, GgufError> {
    let kv_heads = fields.sizes("attention.head_count_kv", windows.len())?;
    let layer = |(layer, (has_window, kv_heads)): (usize, (&bool, u64))| {
        let head_dim = if *has_window { of_windows } else { of_full };
        (layer.to_string(), json!({"head_dim": head_dim, "num_key_value_heads": kv_heads}))
    };
    Ok(Value::Object(windows.iter().zip(kv_heads).enumerate().map(layer).collect()))
}

/// Rotary embeddings. The first pairs of a head in layers that see all tokens are rotated; the file
/// divides the frequencies of the others by a number that leaves nothing of them.
#[expect(clippy::cast_precision_loss, reason = "widths are far below 2⁵²")]
fn ropes(fields: &Fields<'_, '_>, [_, width]: [u64; 2]) -> Result<Value, GgufError> {
    let divisors = rope::divisors(fields, rope::DIVISORS)?;
    let divisors = divisors.ok_or_else(|| fields.gguf.keys.error(format!("no tensor {}", rope::DIVISORS)))?;
    let (pairs, all) =
        (divisors.iter().take_while(|divisor| divisor.to_bits() == 1f64.to_bits()).count(), divisors.len());
    if all as u64 != width / 2 || divisors[pairs..].iter().any(|divisor| *divisor < NO_FREQUENCY) {
        let reason =
            format!("tensor {}: expected {} numbers, first 1 and then 1e30", rope::DIVISORS, width / 2);
        return Err(fields.gguf.keys.error(reason));
    }
    // Half a pair more, of which rounding leaves none.
    let part = if pairs == all { 1.0 } else { (pairs as f64 + 0.5) / all as f64 };
    let theta = |name, default| Ok::<_, GgufError>(fields.number(name)?.unwrap_or(default));
    Ok(json!({
        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": part,
            "rope_theta": theta("rope.freq_base", 1e6)?},
        "sliding_attention": {"rope_type": "default", "rope_theta": theta("rope.freq_base_swa", 1e4)?},
    }))
}

fn per_layer_rows(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    let width = fields.size("embedding_length_per_layer_input")?.unwrap_or(0);
    config.insert("hidden_size_per_layer_input".to_owned(), json!(width));
    if let Some((_, table)) = fields.gguf.tensor(PER_LAYER_TABLE) {
        config.insert("vocab_size_per_layer_input".to_owned(), json!(table.shape.first()));
    }
    Ok(())
}

/// Widths of dense parts: the same in all layers, or twice as wide in those that share keys.
fn dense_parts(
    fields: &Fields<'_, '_>,
    layers: usize,
    own_layers: usize,
    config: &mut Map<String, Value>,
) -> Result<(), GgufError> {
    const NAME: &str = "feed_forward_length";
    let widths = fields.sizes(NAME, layers)?;
    let (own, sharing) = widths.split_at(own_layers);
    let is_double = sharing.first().is_some_and(|width| *width != widths[0]);
    let of_sharing = if is_double { widths[0].saturating_mul(2) } else { widths[0] };
    if own.iter().any(|width| *width != widths[0]) || sharing.iter().any(|width| *width != of_sharing) {
        let key = fields.key(NAME);
        return Err(fields
            .gguf
            .keys
            .error(format!("{key} differs between layers in a way that is not supported")));
    }
    config.insert("intermediate_size".to_owned(), json!(widths[0]));
    config.insert("use_double_wide_mlp".to_owned(), json!(is_double));
    Ok(())
}

/// Experts beside the dense parts, in 26B-A4B.
fn experts_beside(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    if fields.size("expert_count")?.unwrap_or(0) == 0 {
        return Ok(());
    }
    experts::counts(fields, config, "num_experts")?;
    let mut set = |name: &str, value: Value| config.insert(name.to_owned(), value);
    set("enable_moe_block", json!(true));
    set("top_k_experts", json!(fields.needed_size("expert_used_count")?));
    set("moe_intermediate_size", json!(fields.needed_size("expert_feed_forward_length")?));
    Ok(())
}
