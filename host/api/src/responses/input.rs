//! Reader of `input` in every shape that clients send; it makes messages. Items without effect are
//! those that `ITEM_KINDS` says so of; whatever else the model wouldn't see is refused.

use std::collections::HashSet;

use serde_json::json;

use super::compaction;
use super::continuation::Continuation;
use super::fields;
use super::hosted::input::Approvals;
use super::input_items::Input;
use super::names::flat;
use super::tools::check_found;
use super::typed::{self, TypedTool};
use crate::content;
use crate::error::ApiError;
use crate::history::History;
use crate::json::{JsonObject, List, Value};
use crate::request::Defaults;
use crate::seal::Seal;
use crate::tools::ToolBounds;
use crate::warnings::Warnings;
use prompt::{ChatMessage, HistoryCall, Role};

/// Purpose of the seal on encrypted reasoning.
pub(crate) const REASONING: &str = "responses reasoning";

/// Reads `instructions` and `input` into the conversation.
pub(super) fn messages(
    body: &JsonObject<'_>,
    input: Input<'_>,
    defaults: &Defaults,
    continuation: &Continuation,
    warnings: &mut Warnings,
) -> Result<Vec<ChatMessage>, ApiError> {
    let mut history = History::default();
    if let Some(instructions) = body.get(fields::INSTRUCTIONS)?.filter(|text| !text.is_empty()) {
        history.message(Role::System, instructions.to_owned());
    }
    let path = body.at(fields::INPUT);
    if let Some(Value::List(own)) = body.value(fields::INPUT) {
        List::new(own, path).check_len(defaults.limits.messages, "of them")?;
    }
    match input.of.require(fields::INPUT)? {
        Value::String(text) => history.message(Role::User, text.get().to_owned()),
        // One that waited was checked before it was stored.
        Value::List(_) => items(input, defaults, continuation.queued.is_none(), &mut history, warnings)?,
        other => return Err(path.expected("a string or a list of items", other)),
    }
    if history.ends_in_bare_reasoning() {
        // A stream broke off after its reasoning: the model reasons again.
        history.drop_last();
        warnings.add("reasoning at the end of the input without an answer left out");
    }
    let messages = history.into_messages();
    if messages.is_empty() && !continuation.prompt_only {
        return Err(path.invalid("there is no message in it to answer"));
    }
    Ok(messages)
}

/// Adds the items to the history; the request's own are checked if that is asked for.
fn items(
    input: Input<'_>,
    defaults: &Defaults,
    check: bool,
    history: &mut History,
    warnings: &mut Warnings,
) -> Result<(), ApiError> {
    let approvals = Approvals::of(input)?;
    let (mut ids, mut told) = (HashSet::new(), Warnings::default());
    for (index, (path, value)) in input.items().enumerate() {
        let item = JsonObject::new(value, path)?;
        let is_own = index >= input.before();
        let is_new = item.get(fields::ID.optional())?.is_none_or(|id| id.is_empty() || ids.insert(id));
        if is_own && check {
            check_own(item, is_new, history)?;
        }
        // Of items before, their senders were told.
        let warnings = if is_own { &mut *warnings } else { &mut told };
        self::item(item, (&defaults.seal, &approvals), history, warnings)?;
    }
    Ok(())
}

/// Checks an item that is only stored for now, as if a model read it.
pub(crate) fn check_item(
    item: JsonObject<'_>,
    defaults: &Defaults,
    warnings: &mut Warnings,
) -> Result<(), ApiError> {
    if item.get(fields::TYPE.optional())? == Some(compaction::TRIGGER) {
        let what = "it asks for a response and says nothing: send it to /v1/responses";
        return Err(item.at(fields::TYPE).invalid(what));
    }
    if item.get(fields::TYPE.optional())? == Some("tool_search_output") {
        check_found(item, ToolBounds::new(defaults))?;
    }
    self::item(item, (&defaults.seal, &Approvals::default()), &mut History::default(), warnings)
}

/// Refuses an item whose id another one has, which the model would read twice; and the result of a
/// call that is neither in what the request continues nor before it in its input: the client
/// continues something else than it means. What is continued may hold such items, since a client
/// may add results to a conversation, or remove a call from it.
fn check_own(item: JsonObject<'_>, is_new: bool, history: &History) -> Result<(), ApiError> {
    if !is_new {
        return Err(ApiError::duplicate_item(item.require(fields::ID)?));
    }
    let kind = item.get(fields::TYPE.optional())?.unwrap_or_default();
    let id = match TypedTool::of_result(kind) {
        Some(tool) => Some(result_id(tool, item, history)?),
        None if matches!(kind, "function_call_output" | "custom_tool_call_output") => Some(call_id(item)?),
        None => None,
    };
    if id.is_some_and(|id| !history.has_call(id)) {
        let what = "no call with this id is in what `previous_response_id` or `conversation` continues, or before this item in the input: send the whole conversation, or continue the right one";
        return Err(item.at(fields::CALL_ID).invalid(what));
    }
    Ok(())
}

/// Adds one item of the input to the history.
fn item(
    item: JsonObject<'_>,
    (seal, approvals): (&Seal, &Approvals<'_>),
    history: &mut History,
    warnings: &mut Warnings,
) -> Result<(), ApiError> {
    let kind = match item.get(fields::TYPE.optional())? {
        Some(kind) => kind,
        None if item.value(fields::ROLE).is_some() => "message",
        None if item.value(fields::ID).is_some() => "item_reference",
        None => return Err(item.path.invalid("expected an item with a `type`, or a message with a `role`")),
    };
    if !warnings.kind(&item, &fields::ITEM_KINDS, kind)? {
        return Ok(());
    }
    match kind {
        "message" => message(item, history, warnings)?,
        "reasoning" => {
            if let Some(text) = reasoning_text(item, seal, warnings)? {
                history.reasoning(&text);
            }
        }
        "function_call" => history.call(HistoryCall {
            id: call_id(item)?.to_owned(),
            name: name(item)?,
            arguments: arguments(item)?,
        }),
        "custom_tool_call" => history.call(HistoryCall {
            id: call_id(item)?.to_owned(),
            name: name(item)?,
            arguments: json!({ "input": item.require(fields::CALL_INPUT)? }).to_string(),
        }),
        "function_call_output" | "custom_tool_call_output" => {
            let output = content::required(&item, fields::OUTPUT, warnings)?;
            let name = item.value(fields::NAME).map(|_| name(item)).transpose()?;
            history.result(Some(call_id(item)?), name.as_deref(), output);
        }
        "compaction" => compaction::read(item, seal, history, warnings)?,
        // `tools`, `compaction` and `configuration` read these.
        "additional_tools" | "compaction_trigger" | "configuration_update" => {}
        // `WholeInput` has what a reference means.
        "item_reference" => return Err(ApiError::item_not_found(item.require(fields::ID)?)),
        other => match (TypedTool::of_call(other), TypedTool::of_result(other)) {
            (Some(tool), _) => history.call(HistoryCall {
                id: match tool {
                    TypedTool::ToolSearch => search_id(item)?,
                    _ => call_id(item)?,
                }
                .to_owned(),
                name: tool.name().to_owned(),
                arguments: typed::input::arguments(tool, item)?,
            }),
            (_, Some(tool)) => {
                let id = result_id(tool, item, history)?.to_owned();
                history.result(Some(&id), None, typed::input::result(tool, item)?);
            }
            (None, None) => approvals.item(other, item, history, warnings)?,
        },
    }
    Ok(())
}

fn message(item: JsonObject<'_>, history: &mut History, warnings: &mut Warnings) -> Result<(), ApiError> {
    let role = match item.require(fields::ROLE)? {
        "user" => Role::User,
        "system" => Role::System,
        "developer" => Role::Developer,
        "assistant" => {
            history.assistant_text(content::optional(&item, fields::CONTENT, warnings)?);
            return Ok(());
        }
        _ => return Err(item.at(fields::ROLE).invalid("expected user, assistant, system or developer")),
    };
    let content = content::required(&item, fields::CONTENT, warnings)?;
    history.message(role, content);
    Ok(())
}

/// Text of a reasoning item: from `encrypted_content`, else from `content`, else from `summary`;
/// `None` if it is empty.
fn reasoning_text(
    item: JsonObject<'_>,
    seal: &Seal,
    warnings: &mut Warnings,
) -> Result<Option<String>, ApiError> {
    if let Some(sealed) = item.get(fields::SEALED.optional())? {
        return open(item, seal, sealed).map(|text| Some(text).filter(|text| !text.is_empty()));
    }
    for field in [fields::CONTENT, fields::ITEM_SUMMARY] {
        let text = content::optional(&item, field, warnings)?.into_joined();
        if !text.is_empty() {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

fn open(item: JsonObject<'_>, seal: &Seal, sealed: &str) -> Result<String, ApiError> {
    seal.open(REASONING, sealed).map_err(|error| {
        let path = item.at(fields::SEALED);
        path.invalid(format_args!("it can't be used: {error}. Leave the item's encrypted_content out"))
            .with_code("invalid_encrypted_content")
    })
}

/// Name of the called tool as the model knows it: flat, if the item has a namespace.
fn name(item: JsonObject<'_>) -> Result<String, ApiError> {
    let name = item.require(fields::NAME)?;
    Ok(item.get(fields::NAMESPACE)?.map_or_else(|| name.to_owned(), |namespace| flat(namespace, name)))
}

/// The field `call_id`, or `id` if the client sends only that.
fn call_id(item: JsonObject<'_>) -> Result<&str, ApiError> {
    match item.get(fields::CALL_ID)? {
        Some(id) => Ok(id),
        None => item.get(fields::ID.optional())?.ok_or_else(|| item.at(fields::CALL_ID).missing("a string")),
    }
}

/// The id of a search, which has none where the server ran it and the client drops items' ids.
fn search_id(item: JsonObject<'_>) -> Result<&str, ApiError> {
    let id = item.get(fields::CALL_ID)?;
    Ok(id.or(item.get(fields::ID.optional())?).unwrap_or(TypedTool::ToolSearch.name()))
}

/// The id of the call that a result of a typed tool is for: a search that the server ran has none,
/// and its result is behind it.
fn result_id<'a>(tool: TypedTool, item: JsonObject<'a>, history: &'a History) -> Result<&'a str, ApiError> {
    if tool == TypedTool::ToolSearch
        && item.get(fields::CALL_ID)?.is_none()
        && let Some(last) = history.last_call(tool.name())
    {
        return Ok(last);
    }
    call_id(item)
}

/// Arguments as text, which needn't be JSON. Some clients send an object instead of its text.
fn arguments(item: JsonObject<'_>) -> Result<String, ApiError> {
    match item.value(fields::ARGUMENTS) {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.get().to_owned()),
        Some(object @ Value::Object(_)) => Ok(object.to_json().into_string()),
        Some(other) => Err(item.at(fields::ARGUMENTS).expected("a string of JSON", other)),
    }
}
