//! Shared code of the prompt room's tests: the embedded model's files, chats from JSON, the tests'
//! own templates.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use engine::ModelFiles;
use prompt::PromptLimits;
use prompt::{
    ChatFiles, ChatFormat, ChatMessage, Content, Conversation, HistoryCall, Prompt, Role, Tokenizer,
    ToolDeclaration,
};
use serde_json::Value;

/// Path below the package's folder.
pub(crate) fn path(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

/// The embedded model's files.
pub(crate) fn model_files() -> ModelFiles {
    ModelFiles::Directory(path("../models/qwen3-tiny"))
}

/// The embedded model's tokenizer.
pub(crate) fn tokenizer() -> Arc<Tokenizer> {
    static TOKENIZER: LazyLock<Arc<Tokenizer>> =
        LazyLock::new(|| Arc::new(Tokenizer::load(&model_files()).unwrap()));
    Arc::clone(&TOKENIZER)
}

/// Chat format of a template with the embedded model's tokenizer.
pub(crate) fn format(template: &str) -> ChatFormat {
    format_with(template, tokenizer())
}

/// Chat format of a template with any tokenizer.
pub(crate) fn format_with(template: &str, tokenizer: Arc<Tokenizer>) -> ChatFormat {
    let special = [("bos_token", "<|endoftext|>"), ("eos_token", "<|im_end|>")];
    let special_tokens = special.map(|(name, literal)| (name.to_owned(), literal.to_owned())).to_vec();
    let chat = ChatFiles { template: template.to_owned(), tool_template: None, special_tokens };
    ChatFormat::new(&chat, tokenizer, &PromptLimits::default(), 1 << 20).unwrap()
}

/// The embedded model's template and special tokens.
pub(crate) fn chat_files() -> ChatFiles {
    ChatFiles::load(&model_files(), None).unwrap()
}

/// The embedded model's own chat format.
pub(crate) fn model_format() -> ChatFormat {
    ChatFormat::load(&model_files(), &chat_files(), tokenizer(), &PromptLimits::default(), 1 << 20).unwrap()
}

/// Text of a prompt.
pub(crate) fn text(prompt: &Prompt) -> String {
    tokenizer().decode(&prompt.ids).unwrap()
}

/// Text of a prompt that is replayed to the parser.
pub(crate) fn generation_prompt(prompt: &Prompt) -> String {
    prompt.generation_prompt.iter().map(|(_, text)| text.as_str()).collect()
}

/// Conversation of messages without tools.
pub(crate) fn conversation(messages: Vec<ChatMessage>) -> Conversation {
    Conversation { messages, tools: Vec::new() }
}

/// Conversation from messages and tools in the shape of Chat Completions; `None` if content isn't
/// text or a role is unknown.
pub(crate) fn from_json(messages: &Value, tools: &Value) -> Option<Conversation> {
    let messages = messages.as_array()?.iter().map(message).collect::<Option<_>>()?;
    let tool = |tool: &Value| ToolDeclaration {
        name: tool["function"]["name"].as_str().unwrap_or_default().to_owned(),
        declaration: tool.to_string(),
    };
    Some(Conversation { messages, tools: tools.as_array().into_iter().flatten().map(tool).collect() })
}

fn message(json: &Value) -> Option<ChatMessage> {
    let owned = |key: &str| json.get(key).and_then(Value::as_str).map(str::to_owned);
    let role = match json["role"].as_str()? {
        "system" => Role::System,
        "developer" => Role::Developer,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        _ => return None,
    };
    let content = match json.get("content") {
        None | Some(Value::Null) => Content::default(),
        Some(Value::Array(parts)) => parts.iter().map(|part| part["text"].as_str()).collect::<Option<_>>()?,
        Some(content) => content.as_str()?.into(),
    };
    let tool_calls =
        json.get("tool_calls").and_then(Value::as_array).into_iter().flatten().map(call).collect();
    Some(ChatMessage {
        role,
        content,
        reasoning: owned("reasoning_content"),
        tool_calls,
        tool_call_id: owned("tool_call_id"),
        name: owned("name"),
        is_summary: false,
    })
}

fn call(json: &Value) -> HistoryCall {
    let arguments = &json["function"]["arguments"];
    HistoryCall {
        id: json["id"].as_str().unwrap_or_default().to_owned(),
        name: json["function"]["name"].as_str().unwrap_or_default().to_owned(),
        arguments: arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned),
    }
}
