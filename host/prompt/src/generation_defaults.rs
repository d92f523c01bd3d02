//! Generation defaults of a model's files: the ids that end a turn, and the sampling parameters for
//! requests that don't set them.
//!
//! Values are checked here, so that later code can rely on their ranges. Called when a model is
//! loaded.

use engine::ModelFiles;
use serde_json::Value;

use super::files::{ChatFilesError, GENERATION_FILE, read_json};
use super::tokenizer::Tokenizer;

/// Generation defaults of a model; `None` for a parameter that its files don't set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GenerationDefaults {
    /// Ids that end a turn: `eos_token_id` and the tokenizer's `eos_token`, each once.
    pub eos_token_ids: Vec<u32>,
    /// Temperature; 0 (greedy) where the model says `do_sample: false`.
    pub temperature: Option<f32>,
    /// Probability mass of nucleus sampling, in (0, 1].
    pub top_p: Option<f32>,
    /// Number of likeliest tokens that are sampled from; 0 is all.
    pub top_k: Option<u32>,
    /// Probability that a token needs, as a share of the likeliest token's, in [0, 1].
    pub min_p: Option<f32>,
    /// Penalty of tokens in prompt or output, in (0, 100]: divides their positive logits and
    /// multiplies their negative ones.
    pub repetition_penalty: Option<f32>,
}

/// Parameters of GGUF files where their keys set none: those of llama.cpp, with which people run
/// such files. At temperature 1, with nothing cut off, a small model at four bits writes nonsense.
const OF_GGUF: GenerationDefaults = GenerationDefaults {
    eos_token_ids: Vec::new(),
    temperature: Some(0.8),
    top_p: Some(0.95),
    top_k: Some(40),
    min_p: Some(0.05),
    repetition_penalty: None,
};

impl GenerationDefaults {
    /// Reads `generation_config.json`, and `eos_token_id` of `config.json` if the former has none.
    /// `eos_token` is the literal that `tokenizer_config.json` names. Both files may be missing.
    pub fn load(
        files: &ModelFiles,
        tokenizer: &Tokenizer,
        eos_token: Option<&str>,
    ) -> Result<Self, ChatFilesError> {
        let generation = read_json(files, GENERATION_FILE)?.unwrap_or(Value::Null);
        let mut eos_token_ids = ids(files, GENERATION_FILE, &generation)?;
        if eos_token_ids.is_empty() {
            let config = read_json(files, "config.json")?.unwrap_or(Value::Null);
            eos_token_ids = ids(files, "config.json", &config)?;
        }
        if let Some(id) = eos_token.and_then(|literal| tokenizer.token_id(literal))
            && !eos_token_ids.contains(&id)
        {
            eos_token_ids.push(id);
        }
        let mut defaults = Self {
            eos_token_ids,
            temperature: number(files, &generation, "temperature", |t| (0.0..=100.0).contains(&t))?,
            top_p: number(files, &generation, "top_p", |p| p > 0.0 && p <= 1.0)?,
            top_k: count(files, &generation, "top_k")?,
            min_p: number(files, &generation, "min_p", |p| (0.0..=1.0).contains(&p))?,
            repetition_penalty: number(files, &generation, "repetition_penalty", |r| r > 0.0 && r <= 100.0)?,
        };
        if generation.get("do_sample") == Some(&Value::Bool(false)) {
            defaults.temperature = Some(0.0);
        }
        Ok(if matches!(files, ModelFiles::Gguf(_)) { defaults.or(&OF_GGUF) } else { defaults })
    }

    /// These parameters, and `others` where they are none.
    fn or(self, others: &Self) -> Self {
        Self {
            temperature: self.temperature.or(others.temperature),
            top_p: self.top_p.or(others.top_p),
            top_k: self.top_k.or(others.top_k),
            min_p: self.min_p.or(others.min_p),
            ..self
        }
    }
}

/// Reads `eos_token_id`: a number, a list of numbers, or nothing.
fn ids(files: &ModelFiles, file: &str, config: &Value) -> Result<Vec<u32>, ChatFilesError> {
    let list = match config.get("eos_token_id") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) => list.as_slice(),
        Some(one) => std::slice::from_ref(one),
    };
    let mut ids = Vec::with_capacity(list.len());
    for value in list {
        let id = value.as_u64().and_then(|id| u32::try_from(id).ok());
        let id = id.ok_or_else(|| invalid_value(files, file, "eos_token_id", value))?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

fn number(
    files: &ModelFiles,
    config: &Value,
    key: &str,
    valid: impl Fn(f32) -> bool,
) -> Result<Option<f32>, ChatFilesError> {
    let Some(value) = config.get(key).filter(|value| !value.is_null()) else { return Ok(None) };
    #[expect(clippy::cast_possible_truncation, reason = "sampling parameters are f32")]
    let number = value.as_f64().map(|number| number as f32).filter(|&number| valid(number));
    number.map(Some).ok_or_else(|| invalid_value(files, GENERATION_FILE, key, value))
}

fn count(files: &ModelFiles, config: &Value, key: &str) -> Result<Option<u32>, ChatFilesError> {
    let Some(value) = config.get(key).filter(|value| !value.is_null()) else { return Ok(None) };
    let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
    count.map(Some).ok_or_else(|| invalid_value(files, GENERATION_FILE, key, value))
}

fn invalid_value(files: &ModelFiles, file: &str, key: &str, value: &Value) -> ChatFilesError {
    ChatFilesError::new(files, file, format!("{key} can't be {value}"), "correct it, or remove the line")
}
