//! What the host itself must know of `config.json`; the engine reads the rest.

use engine::ModelFiles;
use serde::Deserialize;

use super::load_error::ModelLoadError;

/// The fields.
#[derive(Debug, Deserialize)]
pub(super) struct Config {
    /// What parsers name in their descriptors.
    pub(super) model_type: Option<String>,
    /// Names of its code, which parsers may name, too.
    pub(super) architectures: Option<Vec<String>>,
    /// Tokens of prompt and answer together.
    pub(super) max_position_embeddings: Option<usize>,
}

impl Config {
    pub(super) fn load(files: &ModelFiles) -> Result<Self, ModelLoadError> {
        let wrong = |reason: String| ModelLoadError::Config { file: files.describe("config.json"), reason };
        let bytes = files.read("config.json")?;
        let bytes = bytes.ok_or_else(|| wrong("no such file; is this a model directory?".to_owned()))?;
        serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))
    }
}
