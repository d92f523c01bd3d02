//! `config.json` of a model directory as a typed description, every size within bounds that keep
//! later products from overflowing. One file for each family.

mod common;
mod deepseek_v3;
mod gemma3;
mod gemma4;
mod glm4;
mod gpt_oss;
mod granite;
mod layers;
mod lfm2;
mod llama;
mod ministral3;
mod phi3;
mod quantization;
mod qwen2;
mod qwen3;
mod qwen3_5;
mod smollm3;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

pub use layers::{
    AttentionBias, AttentionConfig, ExpertLayout, ExpertsConfig, GatedConfig, GatedLayout, GroupedConfig,
    LatentConfig, LayerConfig, MlpConfig, ProjectionLayout, SharedExpert, ShortConvConfig, StateShape,
};
pub use quantization::Quantization;

use super::LoadError;
use super::fields::Fields;
use crate::files::ModelFiles;

const FILE: &str = "config.json";

type Reader = fn(Fields<'_>) -> Result<ModelConfig, LoadError>;

/// Supported architectures: the class that checkpoints are saved from, the `model_type`s, and the
/// reader of the configuration.
const FAMILIES: [(&str, &[&str], Reader); 23] = [
    ("LlamaForCausalLM", &["llama"], llama::read_llama),
    ("MistralForCausalLM", &["mistral"], llama::read_mistral),
    ("MixtralForCausalLM", &["mixtral"], llama::read_mixtral),
    ("Ministral3ForCausalLM", &["ministral3"], ministral3::read),
    ("Qwen2ForCausalLM", &["qwen2"], qwen2::read),
    ("Qwen2_5_VLForConditionalGeneration", &["qwen2_5_vl", "qwen2_5_vl_text"], qwen2::read),
    ("Qwen3ForCausalLM", &["qwen3", "qwen3_vl_text"], qwen3::read_dense),
    ("Qwen3MoeForCausalLM", &["qwen3_moe"], qwen3::read_moe),
    ("Qwen3_5ForCausalLM", &["qwen3_5_text"], qwen3_5::read_dense),
    ("Qwen3_5MoeForCausalLM", &["qwen3_5_moe_text"], qwen3_5::read_moe),
    ("Qwen3NextForCausalLM", &["qwen3_next"], qwen3_5::read_next),
    ("Lfm2ForCausalLM", &["lfm2"], lfm2::read_dense),
    ("Lfm2MoeForCausalLM", &["lfm2_moe"], lfm2::read_moe),
    ("Gemma3ForCausalLM", &["gemma3_text"], gemma3::read),
    ("Gemma4ForCausalLM", &["gemma4_text"], gemma4::read),
    ("Phi3ForCausalLM", &["phi3"], phi3::read),
    ("SmolLM3ForCausalLM", &["smollm3"], smollm3::read),
    ("GraniteForCausalLM", &["granite"], granite::read_dense),
    ("GraniteMoeHybridForCausalLM", &["granitemoehybrid"], granite::read_hybrid),
    ("GptOssForCausalLM", &["gpt_oss"], gpt_oss::read),
    ("DeepseekV3ForCausalLM", &["deepseek_v3", "kimi_k2"], deepseek_v3::read),
    ("Glm4MoeForCausalLM", &["glm4_moe"], glm4::read_moe),
    ("Glm4MoeLiteForCausalLM", &["glm4_moe_lite"], glm4::read_lite),
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
    /// Added to the stored weights of norms.
    pub norm_offset: f32,
    /// Whether the embedding is also the head.
    pub tied: bool,
    /// Factors of activations.
    pub factors: Factors,
    /// Bound of logits, by a hyperbolic tangent.
    pub logit_cap: Option<f32>,
    /// Rows that each layer has of its own for every token of the vocabulary.
    pub per_layer_rows: Option<PerLayerRows>,
    /// Whether each layer has a factor of the residual stream behind it.
    pub layer_factors: bool,
    /// Configuration of each layer, at least one.
    pub layers: Vec<LayerConfig>,
    /// Format of quantised weights; `None`: weights are plain numbers.
    pub quantization: Option<Quantization>,
}

/// Rows that each layer has of its own for every token of the vocabulary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PerLayerRows {
    /// Width of a layer's row.
    pub width: usize,
    /// Number of tokens that have such rows, at least the size of the vocabulary.
    pub tokens: usize,
    /// Factor of the rows.
    pub factor: f32,
}

/// Factors of activations, each above zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factors {
    /// Of rows of the embedding, as they enter the residual stream.
    pub embedding: f32,
    /// Of what layers add to the residual stream.
    pub residual: f32,
    /// Of logits.
    pub logits: f32,
}

impl Factors {
    /// Activations as they are.
    pub const NONE: Self = Self { embedding: 1.0, residual: 1.0, logits: 1.0 };
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
        let text = text_part(Fields::new(file, "", object))?;
        let fields =
            text.as_ref().map_or(Fields::new(file, "", object), |text| Fields::new(file, TEXT, text));
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

    /// What each layer keeps in the KV cache, without layers that keep nothing of their own there.
    pub fn cache(&self) -> Vec<LayerCache> {
        self.layers.iter().filter_map(|layer| layer.attention.cache(layer.window)).collect()
    }

    /// States that layers keep of a sequence, of one shape: the shape, and the number of layers;
    /// `None` for a model without such layers.
    pub fn states(&self) -> Option<(StateShape, usize)> {
        let shapes = self.layers.iter().filter_map(|layer| layer.attention.state());
        Some((shapes.clone().next()?, shapes.count()))
    }
}

/// Place of the language model's fields in a model that has more parts than that.
const TEXT: &str = "text_config.";

/// The fields of the language model within a model that also sees or hears, with those of the whole
/// model that are about its files; `None` for a model of text alone.
fn text_part(fields: Fields<'_>) -> Result<Option<Map<String, Value>>, LoadError> {
    let Some(text) = fields.get("text_config") else { return Ok(None) };
    let mut text = text.as_object().ok_or_else(|| fields.error("text_config", "an object", text))?.clone();
    // The class of the checkpoint is that of the whole model.
    text.remove("architectures");
    for name in ["tie_word_embeddings", "quantization_config", "torch_dtype", "dtype"] {
        if let (None | Some(Value::Null), Some(value)) = (text.get(name), fields.get(name)) {
            text.insert(name.to_owned(), value.clone());
        }
    }
    Ok(Some(text))
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
        None => fields.text("model_type")?.ok_or_else(|| fields.absent("model_type")),
    }
}

/// List of the supported architectures for people, by their model types: `llama, mistral, …`.
fn supported() -> String {
    FAMILIES.iter().flat_map(|(_, types, _)| *types).copied().collect::<Vec<_>>().join(", ")
}
