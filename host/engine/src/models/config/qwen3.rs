//! Qwen3, dense.
//!
//! Reads both spellings of the rotary parameters: `rope_parameters` (transformers 5) and `rope_theta` with `rope_scaling`
//! (published checkpoints).

use serde_json::Value;

use super::{Architecture, LayerCache, ModelConfig};
use crate::models::LoadError;
use crate::models::fields::Fields;
use crate::models::rope::RopeSpec;

/// Sizes and constants of a dense Qwen3 model.
#[derive(Debug, Clone, PartialEq)]
pub struct Qwen3Config {
    /// Width of the residual stream.
    pub hidden: usize,
    /// Width of the feed-forward layers.
    pub intermediate: usize,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; divides `heads`.
    pub kv_heads: usize,
    /// Width of a head; even.
    pub head_dim: usize,
    /// Added to the mean square in norms.
    pub rms_norm_eps: f32,
    /// The head is the embedding.
    pub tied: bool,
    /// q, k, v and o have biases.
    pub attention_bias: bool,
    /// Rotary embedding.
    pub rope: RopeSpec,
}

/// Reads a model of this family.
#[expect(clippy::cast_possible_truncation, reason = "the norm's constant is rounded to f32")]
pub(super) fn read(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    refuse_unsupported(fields)?;
    let (heads, kv_heads, head_dim) = heads(fields)?;
    let context = fields.size("max_position_embeddings", 1..=1 << 26)?;
    let vocab = fields.size("vocab_size", 1..=1 << 24)?;
    let config = Qwen3Config {
        hidden: fields.size("hidden_size", 1..=1 << 18)?,
        intermediate: fields.size("intermediate_size", 1..=1 << 20)?,
        heads,
        kv_heads,
        head_dim,
        rms_norm_eps: fields.positive("rms_norm_eps")?.unwrap_or(1e-6) as f32,
        tied: fields.flag("tie_word_embeddings")?.unwrap_or(false),
        attention_bias: fields.flag("attention_bias")?.unwrap_or(false),
        rope: RopeSpec::from_fields(fields, context)?,
    };
    let layers = fields.size("num_hidden_layers", 1..=4096)?;
    let cache = vec![LayerCache::Full { kv_heads, head_dim }; layers];
    Ok(ModelConfig { vocab, context, cache, architecture: Architecture::Qwen3(config) })
}

/// (query heads, key heads, width of a head)
fn heads(fields: Fields<'_>) -> Result<(usize, usize, usize), LoadError> {
    let heads = fields.size("num_attention_heads", 1..=4096)?;
    let kv_heads = fields.optional_size("num_key_value_heads", 1..=4096)?.unwrap_or(heads);
    if !heads.is_multiple_of(kv_heads) {
        let reason = format!(
            "\"num_attention_heads\" ({heads}) must be a multiple of \"num_key_value_heads\" ({kv_heads})"
        );
        return Err(fields.invalid(reason));
    }
    let head_dim = fields.optional_size("head_dim", 2..=4096)?.unwrap_or(128);
    if !head_dim.is_multiple_of(2) {
        return Err(fields.invalid(format!("\"head_dim\" must be even, found {head_dim}")));
    }
    Ok((heads, kv_heads, head_dim))
}

/// Features that would change results and that there is no code for.
fn refuse_unsupported(fields: Fields<'_>) -> Result<(), LoadError> {
    let activation = fields.text("hidden_act")?.unwrap_or("silu");
    if activation != "silu" {
        return Err(
            fields.invalid(format!("\"hidden_act\" {activation:?} is not supported; supported: \"silu\""))
        );
    }
    if fields.flag("use_sliding_window")?.unwrap_or(false) {
        return Err(fields.invalid("\"use_sliding_window\" is not supported for this architecture"));
    }
    if let Some(Value::Array(kinds)) = fields.get("layer_types")
        && let Some(kind) = kinds.iter().find(|kind| kind.as_str() != Some("full_attention"))
    {
        return Err(fields.error("layer_types", "\"full_attention\" for every layer", kind));
    }
    if fields.get("quantization_config").is_some() {
        return Err(
            fields.invalid("quantised weights are not supported; use the bf16, f16 or f32 checkpoint")
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::ops::YarnScaling;

    const BASE: &str = r#"{"architectures": ["Qwen3ForCausalLM"], "vocab_size": 100, "hidden_size": 8, "intermediate_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6,
        "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "tie_word_embeddings": true"#;

    fn parse(rest: &str) -> Result<Qwen3Config, String> {
        let text = format!("{BASE}{rest}}}");
        match ModelConfig::parse("config.json", text.as_bytes()) {
            Ok(ModelConfig { architecture: Architecture::Qwen3(config), .. }) => Ok(config),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn both_spellings_of_the_rotary_parameters_mean_the_same() {
        let new = parse(
            r#", "rope_parameters": {"rope_type": "yarn", "rope_theta": 5e5, "factor": 4.0, "original_max_position_embeddings": 16}"#,
        );
        let old = parse(
            r#", "rope_theta": 500000, "rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 16}"#,
        );
        assert_eq!(new, old);
        let yarn = new.unwrap().rope.yarn.unwrap();
        assert_eq!((yarn.factor, yarn.original_context, yarn.beta_fast), (4.0, 16.0, 32.0));
        let plain = parse(r#", "rope_theta": 1e6, "rope_scaling": null"#).unwrap();
        assert_eq!(
            plain,
            parse(r#", "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0}"#).unwrap()
        );
        assert_eq!(plain.rope.yarn, None::<YarnScaling>);
    }

    #[test]
    fn what_is_wrong_is_named_in_one_line() {
        for (rest, wanted) in [
            (
                r#", "vocab_size": 0"#,
                r#"config.json: "vocab_size" must be a whole number from 1 to 16777216, found 0"#,
            ),
            (
                r#", "hidden_size": "8""#,
                r#"config.json: "hidden_size" must be a whole number from 1 to 262144, found "8""#,
            ),
            (
                r#", "num_key_value_heads": 3"#,
                r#"config.json: "num_attention_heads" (4) must be a multiple of "num_key_value_heads" (3)"#,
            ),
            (r#", "head_dim": 7"#, r#"config.json: "head_dim" must be even, found 7"#),
            (r#", "hidden_size": null"#, r#"config.json: "hidden_size" is missing"#),
            (
                r#", "hidden_act": "gelu""#,
                r#"config.json: "hidden_act" "gelu" is not supported; supported: "silu""#,
            ),
            (
                r#", "rms_norm_eps": -1"#,
                r#"config.json: "rms_norm_eps" must be a number above zero, found -1"#,
            ),
            (
                r#", "rope_scaling": {"rope_type": "llama3", "factor": 8}"#,
                r#"config.json: "rope_scaling.rope_type" "llama3" is not supported; supported: "default", "yarn""#,
            ),
            (
                r#", "architectures": ["GptOssForCausalLM"]"#,
                "config.json: architecture GptOssForCausalLM is not supported; supported: Qwen3ForCausalLM (model_type qwen3)",
            ),
        ] {
            assert_eq!(parse(rest).unwrap_err(), wanted);
        }
        let error = ModelConfig::parse("config.json", b"{").unwrap_err().to_string();
        assert!(error.starts_with("config.json: not JSON: "), "{error}");
    }
}
