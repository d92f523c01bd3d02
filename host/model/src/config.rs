//! Reader of the fields of `config.json` that the host needs; the engine reads the others.

use engine::ModelFiles;
use serde::Deserialize;

use super::load_error::ModelLoadError;

/// Fields of `config.json` that the host needs.
#[derive(Debug, Deserialize)]
pub(super) struct Config {
    /// Model type, by which parsers claim a model in their descriptors.
    pub(super) model_type: Option<String>,
    /// Architectures, by which parsers may claim a model, too.
    pub(super) architectures: Option<Vec<String>>,
    /// Most tokens of prompt and answer together.
    pub(super) max_position_embeddings: Option<usize>,
    vocab_size: Option<usize>,
    /// The language model of one that also takes images or audio.
    #[serde(rename = "text_config")]
    text: Option<TextConfig>,
}

#[derive(Debug, Deserialize)]
struct TextConfig {
    vocab_size: Option<usize>,
}

impl Config {
    /// Rows of the embedding: token ids are below it.
    pub(super) fn rows(&self) -> Option<usize> {
        self.vocab_size.or_else(|| self.text.as_ref()?.vocab_size)
    }

    pub(super) fn load(files: &ModelFiles) -> Result<Self, ModelLoadError> {
        let wrong = |reason: String| ModelLoadError::Config { file: files.describe("config.json"), reason };
        let bytes = files.read("config.json")?;
        let bytes = bytes.ok_or_else(|| wrong("no such file; is this a model directory?".to_owned()))?;
        serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))
    }
}
