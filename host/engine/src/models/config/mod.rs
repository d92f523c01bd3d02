//! `config.json` of a model directory as a typed description, every size within bounds that keep
//! later products from overflowing. One file for each family.

mod common;
mod deepseek_v3;
mod gpt_oss;
mod layers;
mod llama;
mod quantization;
mod qwen3;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use layers::{
    AttentionConfig, ExpertLayout, ExpertsConfig, GroupedConfig, LatentConfig, LayerConfig, MlpConfig,
};
pub use quantization::Quantization;

use super::LoadError;
use super::fields::Fields;
use super::ops::RopeSpec;
use crate::files::ModelFiles;

const FILE: &str = "config.json";

type Reader = fn(Fields<'_>) -> Result<ModelConfig, LoadError>;

/// Supported architectures: the class that checkpoints are saved from, the `model_type`s, and the
/// reader of the configuration.
const FAMILIES: [(&str, &[&str], Reader); 6] = [
    ("LlamaForCausalLM", &["llama"], llama::read_llama),
    ("MistralForCausalLM", &["mistral"], llama::read_mistral),
    ("Qwen3ForCausalLM", &["qwen3"], qwen3::read_dense),
    ("Qwen3MoeForCausalLM", &["qwen3_moe"], qwen3::read_moe),
    ("GptOssForCausalLM", &["gpt_oss"], gpt_oss::read),
    ("DeepseekV3ForCausalLM", &["deepseek_v3", "kimi_k2"], deepseek_v3::read),
];

/// Configuration of a model: a decoder of layers that add attention and a feed-forward part to a
/// residual stream.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelConfig {
    /// Size of the vocabulary: token ids are below it.
    pub vocab: usize,
    /// Context length: positions are below it.
    pub context: usize,
    /// Width of the residual stream.
    pub hidden: usize,
    /// Added to the mean square in norms.
    pub rms_norm_eps: f32,
    /// Whether the embedding is also the head.
    pub tied: bool,
    /// Rotary embedding.
    pub rope: RopeSpec,
    /// Attention, of the same widths in all layers.
    pub attention: AttentionConfig,
    /// Configuration of each layer, for what differs between layers.
    pub layers: Vec<LayerConfig>,
    /// Format of quantised weights; `None`: weights are plain numbers.
    pub quantization: Option<Quantization>,
}

/// What one layer keeps of a sequence's tokens in the KV cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerCache {
    /// Keys and values of all tokens.
    Full {
        /// Key and value heads.
        kv_heads: usize,
        /// Width of a head.
        head_dim: usize,
    },
    /// Keys and values of the last tokens.
    Window {
        /// Key and value heads.
        kv_heads: usize,
        /// Width of a head.
        head_dim: usize,
        /// Number of tokens.
        window: usize,
    },
    /// Compressed rows of all tokens, each shared by all heads.
    Latent {
        /// Width of the compressed row.
        width: usize,
    },
}

impl ModelConfig {
    /// Reads `config.json`.
    pub fn read(files: &ModelFiles) -> Result<Self, LoadError> {
        let file = files.describe(FILE);
        let bytes = files.read(FILE)?.ok_or_else(|| LoadError::Missing { file: file.clone() })?;
        Self::parse(&file, &bytes)
    }

    /// Reads the text of a `config.json`; `file` names it in errors.
    pub fn parse(file: &str, text: &[u8]) -> Result<Self, LoadError> {
        let value: Value = serde_json::from_slice(text)
            .map_err(|error| LoadError::invalid(file, format!("not JSON: {error}")))?;
        let object = value.as_object().ok_or_else(|| LoadError::invalid(file, "not a JSON object"))?;
        let fields = Fields::new(file, "", object);
        let name = architecture(fields)?;
        let family = FAMILIES.iter().find(|(class, types, _)| *class == name || types.contains(&name));
        match family {
            Some((_, _, read)) => read(fields),
            None => Err(LoadError::Architecture {
                file: file.to_owned(),
                found: name.chars().take(80).collect(),
                supported: supported(),
            }),
        }
    }

    /// What each layer keeps in the KV cache.
    pub fn cache(&self) -> Vec<LayerCache> {
        self.layers.iter().map(|layer| self.attention.cache(layer.window)).collect()
    }
}

/// The class that the checkpoint was saved from, or its `model_type`.
fn architecture(fields: Fields<'_>) -> Result<&str, LoadError> {
    let classes = match fields.get("architectures") {
        None => None,
        Some(Value::Array(names)) => names.first(),
        Some(other) => return Err(fields.error("architectures", "a list of names", other)),
    };
    match classes {
        Some(Value::String(name)) => Ok(name),
        Some(other) => Err(fields.error("architectures", "a list of names", other)),
        None => fields.text("model_type")?.ok_or_else(|| fields.absent("architectures")),
    }
}

/// List of the supported architectures for people: `LlamaForCausalLM (model_type llama), …`.
fn supported() -> String {
    let one =
        |(class, types, _): &(&str, &[&str], Reader)| format!("{class} (model_type {})", types.join(" or "));
    FAMILIES.iter().map(one).collect::<Vec<_>>().join(", ")
}
