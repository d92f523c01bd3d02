//! Reader of the chat template and the special tokens of a model directory in Hugging Face's
//! layout.
//!
//! The operator chooses the files, so an error about a missing or broken one is one line that names
//! the file, what is wrong with it and what to do. Called when a model is loaded.

use std::borrow::Cow;
use std::collections::BTreeMap;

use engine::{FileError, ModelFiles};
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

    /// Makes an error about the model's tokenizer, which is another model's.
    pub fn of_tokenizer(files: &ModelFiles, reason: String) -> Self {
        Self::new(files, "tokenizer", reason, "fetch the tokenizer and config.json of one model")
    }

    /// Makes an error about the model's chat template.
    pub fn of_template(files: &ModelFiles, reason: impl Into<String>) -> Self {
        Self::new(files, "chat template", reason, "correct it, or give another template")
    }
}

/// Chat template of a model, and the special tokens that the template may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatFiles {
    /// The chat template.
    pub template: String,
    /// Template for conversations with tools, where the model has a separate one.
    pub tool_template: Option<String>,
    /// Names (`bos_token`, `eos_token`, …) and literals of the special tokens that the model's
    /// files define.
    pub special_tokens: Vec<(String, String)>,
}

/// Names of special tokens that every tokenizer may have: keys of `tokenizer_config.json`, and
/// variables of templates.
const SPECIAL_TOKENS: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];
const TEMPLATE_FILE: &str = "chat_template.jinja";
/// Template for conversations with tools, beside [`TEMPLATE_FILE`].
const TOOL_TEMPLATE_FILE: &str = "additional_chat_templates/tool_use.jinja";
pub(super) const GENERATION_FILE: &str = "generation_config.json";
pub(super) const CONFIG_FILE: &str = "tokenizer_config.json";
/// Files in which older processors keep the template, under the same key as [`CONFIG_FILE`].
const PROCESSOR_FILES: [&str; 2] = ["chat_template.json", "processor_config.json"];
/// Older file of special tokens. It counts only where [`CONFIG_FILE`] has no
/// `added_tokens_decoder`.
const SPECIAL_TOKENS_FILE: &str = "special_tokens_map.json";
/// Files that are read where a model has them, beside its tokenizer.
pub const PROMPT_FILES: [&str; 7] = [
    GENERATION_FILE,
    CONFIG_FILE,
    TEMPLATE_FILE,
    TOOL_TEMPLATE_FILE,
    PROCESSOR_FILES[0],
    PROCESSOR_FILES[1],
    SPECIAL_TOKENS_FILE,
];

/// Template of a base model, which has none: it refuses each conversation, and says what to do.
const BASE_TEMPLATE: &str = "{{ raise_exception('This model has no chat template: it continues texts \
    (/v1/completions). To chat with it, start the server with --chat-template FILE.') }}";

impl ChatFiles {
    /// [`Self::load`] to serve the model: one without a template is a base model
    /// ([`Self::is_of_base_model`]).
    pub fn load_to_serve(files: &ModelFiles, chat_template: Option<String>) -> Result<Self, ChatFilesError> {
        Self::read(files, chat_template, || Ok(BASE_TEMPLATE.to_owned()))
    }

    /// Whether the model has no template, and refuses conversations.
    pub fn is_of_base_model(&self) -> bool {
        self.template == BASE_TEMPLATE
    }

    /// Reads the templates (`chat_template.jinja` and `additional_chat_templates/tool_use.jinja`
    /// first, then `chat_template` of `tokenizer_config.json`, then that of a processor's files)
    /// and the special tokens. A template given by the operator replaces the model's.
    pub fn load(files: &ModelFiles, chat_template: Option<String>) -> Result<Self, ChatFilesError> {
        Self::read(files, chat_template, || Err(without_template(files)))
    }

    fn read(
        files: &ModelFiles,
        chat_template: Option<String>,
        without: impl FnOnce() -> Result<String, ChatFilesError>,
    ) -> Result<Self, ChatFilesError> {
        let config = read_json(files, CONFIG_FILE)?.unwrap_or(Value::Null);
        let special_tokens = special_tokens(files, &config)?;
        let (template, tool_template) = match chat_template {
            Some(template) => (template, None),
            None => match templates(files, &config)? {
                Some(templates) => templates,
                None => (without()?, None),
            },
        };
        Ok(Self { template, tool_template, special_tokens })
    }
}

/// Returns the table in `tokenizer_config.json` that describes how the model's output is parsed, as
/// JSON text, if there is one (`response_template`, or its first name, `response_schema`).
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
    let remedy = match files {
        ModelFiles::Gguf(_) => "get another file of the model, or convert it anew",
        _ => "make it readable for the server",
    };
    let bytes = files.read(name).map_err(|FileError { file, reason }| ChatFilesError {
        file,
        reason,
        remedy: remedy.to_owned(),
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

/// Reads the named special tokens, each of them a string or an object with `content`: those that
/// every tokenizer may have, the model's own (`image_token`, …), and the entries of
/// `extra_special_tokens`. Where several files name one, transformers' order decides.
fn special_tokens(files: &ModelFiles, config: &Value) -> Result<Vec<(String, String)>, ChatFilesError> {
    let is_older = config.get("added_tokens_decoder").is_none();
    let map = if is_older { read_json(files, SPECIAL_TOKENS_FILE)? } else { None }.unwrap_or(Value::Null);
    let extra = |table: &Value| table.get("extra_special_tokens").cloned().unwrap_or(Value::Null);
    let is_standard = |name: &str| SPECIAL_TOKENS.contains(&name);
    let is_own = |name: &str| name.ends_with("_token") && !is_standard(name);
    let mut tokens = BTreeMap::new();
    let mut add = |table: &Value, is_wanted: &dyn Fn(&str) -> bool| {
        for (name, token) in table.as_object().into_iter().flatten().filter(|(name, _)| is_wanted(name)) {
            let literal = token.as_str().or_else(|| token.get("content")?.as_str());
            tokens.extend(literal.map(|literal| (name.clone(), literal.to_owned())));
        }
    };
    add(config, &is_standard);
    add(&map, &|name| is_standard(name) || is_own(name));
    add(config, &is_own);
    add(&extra(config), &|_| true);
    add(&extra(&map), &|_| true);
    Ok(tokens.into_iter().collect())
}

/// A template, and the one for conversations with tools if it is separate.
type Templates = (String, Option<String>);

/// Reads the model's templates; none if it has none.
fn templates(files: &ModelFiles, config: &Value) -> Result<Option<Templates>, ChatFilesError> {
    let file = |name| Ok(read_text(files, name)?.map(Cow::into_owned));
    let tool_template = file(TOOL_TEMPLATE_FILE)?;
    if let Some(template) = file(TEMPLATE_FILE)? {
        return Ok(Some((template, tool_template)));
    }
    let with_tools = |(template, listed): Templates| Some((template, tool_template.or(listed)));
    if let Some(value) = chat_template(config) {
        return named_templates(files, CONFIG_FILE, value).map(with_tools);
    }
    for name in PROCESSOR_FILES {
        if let Some(value) = read_json(files, name)?.as_ref().and_then(chat_template) {
            return named_templates(files, name, value).map(with_tools);
        }
    }
    Ok(None)
}

/// The error of a command that needs a template.
fn without_template(files: &ModelFiles) -> ChatFilesError {
    if let ModelFiles::Gguf(gguf) = files {
        let (file, reason) = (gguf.path().display().to_string(), "it has no chat template".to_owned());
        return ChatFilesError { file, reason, remedy: "give one: --chat-template FILE".to_owned() };
    }
    let reason = format!("not there, and {CONFIG_FILE} has no chat_template");
    ChatFilesError::new(files, TEMPLATE_FILE, reason, "add the file, or give a template")
}

fn chat_template(config: &Value) -> Option<&Value> {
    config.get("chat_template").filter(|template| !template.is_null())
}

/// Reads the value of `chat_template` in the file `name`: one template, or several with names, of
/// which `default` and `tool_use` are used.
fn named_templates(files: &ModelFiles, name: &str, value: &Value) -> Result<Templates, ChatFilesError> {
    if let Value::String(template) = value {
        return Ok((template.clone(), None));
    }
    let named = |name: &str| {
        let mut entries = value.as_array().into_iter().flatten();
        let entry = entries.find(|entry| entry.get("name").and_then(Value::as_str) == Some(name));
        let template = entry.and_then(|entry| entry.get("template")).or_else(|| value.get(name));
        template?.as_str().map(str::to_owned)
    };
    let default = named("default").ok_or_else(|| {
        let remedy = format!("name one of them \"default\", or add {TEMPLATE_FILE}");
        ChatFilesError::new(files, name, "chat_template has no template named \"default\"", remedy)
    })?;
    Ok((default, named("tool_use")))
}
