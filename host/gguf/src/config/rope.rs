//! Rotary embedding: base, stretching, and the factors of single frequencies that tensors hold.

use serde_json::{Map, Value, json};

use super::Fields;
use crate::error::{GgufError, printable};
use crate::tensor_type::TensorType;
use crate::value::decimal;

/// Tensor of the numbers that frequencies are divided by (Llama 3.1).
pub(super) const DIVISORS: &str = "rope_freqs.weight";
/// The same for short and for long contexts (`LongRoPE`).
const SHORT_AND_LONG: [&str; 2] = ["rope_factors_short.weight", "rope_factors_long.weight"];
/// Most divisors of a file whose header alone is there: the widest heads have fewer.
const MOST_DIVISORS: usize = 1 << 12;
const DEFAULT_BASE: f64 = 10_000.0;

/// Adds what the configuration says of the rotary embedding.
pub(super) fn add(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    let theta = fields.number("rope.freq_base")?.unwrap_or(DEFAULT_BASE);
    config.insert("rope_theta".to_owned(), json!(theta));
    if let Some(rotated) = fields.size("rope.dimension_count")?
        && let Some(head_dim) = config.get("head_dim").and_then(Value::as_u64)
        && rotated != head_dim
        && head_dim > 0
    {
        #[expect(clippy::cast_precision_loss, reason = "widths are far below 2⁵²")]
        let part = rotated as f64 / head_dim as f64;
        config.insert("partial_rotary_factor".to_owned(), json!(part));
    }
    let scaling = scaling(fields)?.map(|scaling| ("rope_scaling".to_owned(), scaling));
    config.extend(scaling);
    Ok(())
}

/// Stretching of frequencies, of each by itself or of all alike.
fn scaling(fields: &Fields<'_, '_>) -> Result<Option<Value>, GgufError> {
    if let Some(divisors) = divisors(fields, DIVISORS)? {
        return Ok(Some(json!({"rope_type": "longrope", "short_factor": divisors, "long_factor": divisors,
            "factor": 1.0, "attention_factor": 1.0})));
    }
    let [short, long] = SHORT_AND_LONG.map(|tensor| divisors(fields, tensor));
    if let (Some(short), Some(long)) = (short?, long?) {
        return Ok(Some(json!({"rope_type": "longrope", "short_factor": short, "long_factor": long,
            "attention_factor": fields.number("rope.scaling.attn_factor")?,
            "original_max_position_embeddings": original_context(fields)?})));
    }
    let kind = fields.gguf.keys.text(&fields.key("rope.scaling.type"))?;
    let factor = fields.number("rope.scaling.factor")?.unwrap_or(1.0);
    match kind {
        None | Some("none") => Ok(None),
        #[expect(clippy::float_cmp, reason = "a stretching by exactly one is none")]
        Some("linear") if factor == 1.0 => Ok(None),
        Some("linear") => Ok(Some(json!({"rope_type": "linear", "factor": factor}))),
        Some("yarn") => yarn(fields, factor).map(Some),
        Some(kind) => {
            let reason = format!("{} {} is not supported", fields.key("rope.scaling.type"), printable(kind));
            Err(fields.gguf.keys.error(reason))
        }
    }
}

/// Reads a tensor of divisors.
pub(super) fn divisors(fields: &Fields<'_, '_>, name: &str) -> Result<Option<Vec<f64>>, GgufError> {
    let Some(found) = fields.gguf.tensor(name) else { return Ok(None) };
    if found.1.kind != TensorType::F32 || found.1.shape.len() != 1 {
        return Err(fields.gguf.keys.error(format!("tensor {name}: expected a vector of F32")));
    }
    let Some(bytes) = fields.gguf.bytes(found) else {
        // Only the header is there: any divisors show whether the model is supported.
        return Ok(Some(vec![1.0; found.1.shape[0].min(MOST_DIVISORS)]));
    };
    Ok(Some(bytes.as_chunks().0.iter().map(|bytes| decimal(f32::from_le_bytes(*bytes))).collect()))
}

fn original_context(fields: &Fields<'_, '_>) -> Result<Option<u64>, GgufError> {
    fields.size("rope.scaling.original_context_length")
}

fn yarn(fields: &Fields<'_, '_>, factor: f64) -> Result<Value, GgufError> {
    let number = |name: &str| fields.number(&format!("rope.scaling.{name}"));
    Ok(json!({"rope_type": "yarn", "factor": factor,
        "original_max_position_embeddings": original_context(fields)?,
        "attention_factor": number("yarn_attn_factor")?,
        "beta_fast": number("yarn_beta_fast")?,
        "beta_slow": number("yarn_beta_slow")?}))
}
