//! `config.json` of a model directory as a typed description, every size within bounds that make later products safe.
//! A file for each family.

mod qwen3;

use serde_json::Value;

pub use qwen3::Qwen3Config;

use super::LoadError;
use super::fields::Fields;
use crate::files::ModelFiles;

/// The file's name.
const FILE: &str = "config.json";
/// Architectures that there is code for.
const SUPPORTED: &str = "Qwen3ForCausalLM (model_type qwen3)";

/// What the engine must know of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelConfig {
    /// Ids are below this.
    pub vocab: usize,
    /// Positions are below this.
    pub context: usize,
    /// What each layer keeps of a token.
    pub cache: Vec<LayerCache>,
    /// Its layers, and their sizes.
    pub architecture: Architecture,
}

/// What one layer keeps of a sequence's tokens.
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
        /// Tokens.
        window: usize,
    },
    /// One compressed row for all heads, of all tokens.
    Latent {
        /// Its width.
        width: usize,
    },
}

/// A family that there is code for.
#[derive(Debug, Clone, PartialEq)]
pub enum Architecture {
    /// Qwen3, dense.
    Qwen3(Qwen3Config),
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
        match architecture(fields)? {
            "Qwen3ForCausalLM" | "qwen3" => qwen3::read(fields),
            other => {
                let found = other.chars().take(80).collect();
                Err(LoadError::Architecture { file: file.to_owned(), found, supported: SUPPORTED })
            }
        }
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
