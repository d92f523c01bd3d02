//! `messages` of a chat request. Reasoning that clients send back is read from `reasoning_content`, else from `reasoning`.

use serde_json::json;

use super::super::content;
use super::super::error::ApiError;
use super::super::history::{self, History};
use super::super::json::Object;
use super::super::request::Defaults;
use super::super::warnings::Warnings;
use super::function_call::function_call;
use super::legacy;
use model::prompt::{Content, HistoryCall, Message, Role};

/// Reads `messages` into the conversation.
pub(super) fn messages(
    body: &Object<'_>,
    defaults: &Defaults,
    warnings: &mut Warnings,
) -> Result<Vec<Message>, ApiError> {
    let path = body.at("messages");
    let list = body.list("messages")?.ok_or_else(|| path.missing("a list of messages"))?;
    if list.is_empty() {
        return Err(path.invalid("there is no message in it to answer"));
    }
    history::check_count(list, defaults.limits.messages, path)?;
    let mut history = History::default();
    for (index, value) in list.iter().enumerate() {
        message(Object::new(value, path.element(index))?, &mut history, warnings)?;
    }
    Ok(history.into_messages())
}

/// Whether the answer continues the last message: `prefix` of an assistant message, as `DeepSeek` and Mistral have it.
pub(super) fn last_is_prefix(body: &Object<'_>) -> Result<bool, ApiError> {
    let path = body.at("messages");
    let messages = body.list_or_empty("messages")?.iter().enumerate();
    let Some((index, last)) = messages.last() else { return Ok(false) };
    Ok(Object::new(last, path.element(index))?.boolean("prefix")?.unwrap_or(false))
}

fn message(message: Object<'_>, history: &mut History, warnings: &mut Warnings) -> Result<(), ApiError> {
    let role = match message.required_string("role")? {
        "system" => Role::System,
        "developer" => Role::Developer,
        "user" => Role::User,
        "assistant" => return assistant(message, history, warnings),
        "function" => return legacy::result(message, required_content(message, warnings)?, history),
        "tool" => {
            let content = required_content(message, warnings)?;
            history.result(message.string("tool_call_id")?, message.string("name")?, content);
            return Ok(());
        }
        _ => return Err(message.at("role").invalid("expected system, developer, user, assistant or tool")),
    };
    let content = required_content(message, warnings)?;
    history.message(role, content);
    Ok(())
}

fn required_content(message: Object<'_>, warnings: &mut Warnings) -> Result<Content, ApiError> {
    let path = message.at("content");
    let content = message.get("content").ok_or_else(|| path.missing("a string or a list of parts"))?;
    content::read(content, path, warnings)
}

fn assistant(message: Object<'_>, history: &mut History, warnings: &mut Warnings) -> Result<(), ApiError> {
    let mut content = match message.get("content") {
        None => Content::default(),
        Some(content) => content::read(content, message.at("content"), warnings)?,
    };
    // A refusal is part of the text that the model wrote; only the protocol has a field of its own for it.
    if let Some(refusal) = message.string("refusal")?.filter(|refusal| !refusal.is_empty()) {
        content.push(refusal);
    }
    let reasoning = match message.string("reasoning_content")? {
        Some(reasoning) => Some(reasoning),
        None => message.string("reasoning")?,
    };
    let path = message.at("tool_calls");
    let calls = message.list_or_empty("tool_calls")?.iter().enumerate();
    let calls = calls.map(|(index, value)| call(Object::new(value, path.element(index))?));
    let mut calls = calls.collect::<Result<Vec<_>, ApiError>>()?;
    calls.extend(legacy::call(message, history)?);
    let reasoning = reasoning.filter(|reasoning| !reasoning.is_empty()).map(str::to_owned);
    history.assistant_message(content, reasoning, calls);
    Ok(())
}

fn call(call: Object<'_>) -> Result<HistoryCall, ApiError> {
    let id = call.required_string("id")?.to_owned();
    if let Some(custom) = call.object("custom")? {
        let arguments = json!({ "input": custom.required_string("input")? }).to_string();
        return Ok(HistoryCall { id, name: custom.required_string("name")?.to_owned(), arguments });
    }
    let path = call.at("function");
    let function = call.object("function")?.ok_or_else(|| path.missing("an object"))?;
    function_call(function, id)
}
