//! Reader of the chat template and the special tokens of a model directory in Hugging Face's layout.
//!
//! The operator chooses the files, so an error about a missing or broken one is one line that names the file, what is
//! wrong with it and what to do. Called when a model is loaded.

use std::borrow::Cow;

use engine::ModelFiles;
use serde_json::Value;

/// Error about a model file that can't be used.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {reason}; {remedy}")]
pub struct ChatFilesError {
    /// The file, with its directory where it has one.
    pub file: String,
    /// What is wrong.
    pub reason: String,
    /// What to do.
    pub remedy: String,
}

impl ChatFilesError {
    /// Makes an error about the file `name` of `files`.
    pub(super) fn new(
        files: &ModelFiles,
        name: &str,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { file: files.describe(name), reason: reason.into(), remedy: remedy.into() }
    }
}

/// Chat template of a model, and the special tokens that the template may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatFiles {
    /// The chat template.
    pub template: String,
    /// Template for conversations with tools, where the model has a separate one.
    pub tool_template: Option<String>,
    /// Names (`bos_token`, `eos_token`, …) and literals of the special tokens that the model's files define.
    pub special_tokens: Vec<(String, String)>,
}

/// Names of special tokens: keys of `tokenizer_config.json`, and variables of templates.
const SPECIAL_TOKENS: [&str; 4] = ["bos_token", "eos_token", "unk_token", "pad_token"];
const TEMPLATE_FILE: &str = "chat_template.jinja";
pub(super) const CONFIG_FILE: &str = "tokenizer_config.json";

impl ChatFiles {
    /// Reads the template (`chat_template.jinja` first, then `chat_template` of `tokenizer_config.json`) and the special
    /// tokens. A template given by the operator replaces the model's.
    pub fn load(files: &ModelFiles, chat_template: Option<String>) -> Result<Self, ChatFilesError> {
        let config = read_json(files, CONFIG_FILE)?.unwrap_or(Value::Null);
        let special_tokens = special_tokens(&config);
        if let Some(template) = chat_template {
            return Ok(Self { template, tool_template: None, special_tokens });
        }
        if let Some(template) = read_text(files, TEMPLATE_FILE)? {
            return Ok(Self { template: template.into_owned(), tool_template: None, special_tokens });
        }
        let (template, tool_template) = configured_templates(files, &config)?;
        Ok(Self { template, tool_template, special_tokens })
    }
}

/// Returns the table in `tokenizer_config.json` that describes how the model's output is parsed, as JSON text, if there is one
/// (`response_template`, or its first name, `response_schema`).
pub fn response_template(files: &ModelFiles) -> Result<Option<String>, ChatFilesError> {
    let config = read_json(files, CONFIG_FILE)?.unwrap_or(Value::Null);
    let table = ["response_template", "response_schema"].iter().filter_map(|key| config.get(key));
    Ok(table.filter(|table| !table.is_null()).map(as_text).next())
}

/// Returns a value as JSON text. A string is taken as JSON text already.
fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Reads a UTF-8 file; `None` if it doesn't exist.
pub(super) fn read_text(files: &ModelFiles, name: &str) -> Result<Option<Cow<'static, str>>, ChatFilesError> {
    let bytes = files.read(name).map_err(|error| ChatFilesError {
        file: error.file,
        reason: error.reason,
        remedy: "make it readable for the server".to_owned(),
    })?;
    let text = match bytes {
        None => return Ok(None),
        Some(Cow::Borrowed(bytes)) => std::str::from_utf8(bytes).map(Cow::Borrowed),
        Some(Cow::Owned(bytes)) => {
            String::from_utf8(bytes).map(Cow::Owned).map_err(|error| error.utf8_error())
        }
    };
    let text = text.map_err(|error| {
        let reason = format!("not UTF-8 from byte {} on", error.valid_up_to());
        ChatFilesError::new(files, name, reason, "fetch the file again")
    })?;
    Ok(Some(text))
}

/// Reads a file that holds a JSON object; `None` if it doesn't exist.
pub(super) fn read_json(files: &ModelFiles, name: &str) -> Result<Option<Value>, ChatFilesError> {
    let Some(text) = read_text(files, name)? else { return Ok(None) };
    match serde_json::from_str(&text) {
        Ok(value @ Value::Object(_)) => Ok(Some(value)),
        Ok(_) => Err(ChatFilesError::new(files, name, "not a JSON object", "fetch the file again")),
        Err(error) => {
            Err(ChatFilesError::new(files, name, format!("not valid JSON: {error}"), "fetch the file again"))
        }
    }
}

/// Reads the special tokens of the configuration, each of them a string or an object with `content`.
fn special_tokens(config: &Value) -> Vec<(String, String)> {
    let literal = |name: &str| {
        let token = config.get(name)?;
        token.as_str().or_else(|| token.get("content")?.as_str()).map(str::to_owned)
    };
    SPECIAL_TOKENS.iter().filter_map(|&name| Some((name.to_owned(), literal(name)?))).collect()
}

/// Reads `chat_template` of the configuration: one template, or a list of named ones, of which `default` and `tool_use` are used.
fn configured_templates(
    files: &ModelFiles,
    config: &Value,
) -> Result<(String, Option<String>), ChatFilesError> {
    let found = match config.get("chat_template") {
        Some(Value::String(template)) => return Ok((template.clone(), None)),
        Some(Value::Array(templates)) => templates,
        _ => {
            let reason = format!("not there, and {CONFIG_FILE} has no chat_template");
            return Err(ChatFilesError::new(
                files,
                TEMPLATE_FILE,
                reason,
                "add the file, or give a template",
            ));
        }
    };
    let named = |name: &str| {
        let entry = found.iter().find(|entry| entry.get("name").and_then(Value::as_str) == Some(name))?;
        entry.get("template")?.as_str().map(str::to_owned)
    };
    let default = named("default").ok_or_else(|| {
        let remedy = format!("name one of them \"default\", or add {TEMPLATE_FILE}");
        ChatFilesError::new(
            files,
            CONFIG_FILE,
            "chat_template is a list without a template named \"default\"",
            remedy,
        )
    })?;
    Ok((default, named("tool_use")))
}
