//! `messages` of a chat request. Reasoning that clients send back is read from `reasoning_content`,
//! else from `reasoning`.

use serde_json::json;

use super::fields;
use super::legacy;
use super::tools::{Unknown, client_tools};
use crate::content;
use crate::error::ApiError;
use crate::history::History;
use crate::json::JsonObject;
use crate::request::Defaults;
use crate::tools::{CUSTOM, ClientTools, FUNCTION, TOOLS, ToolBounds};
use crate::warnings::Warnings;
use grammar::ToolDefinition;
use net::printable::printable;
use prompt::{ChatMessage, Content, HistoryCall, Role};

/// Reads `messages` into the conversation. Returns the tools that they declare, too.
pub(super) fn messages(
    body: &JsonObject<'_>,
    defaults: &Defaults,
    bounds: ToolBounds,
    warnings: &mut Warnings,
) -> Result<(Vec<ChatMessage>, Vec<ToolDefinition>), ApiError> {
    let list = body.require(fields::MESSAGES)?;
    if list.elements.is_empty() {
        return Err(list.path.invalid("there is no message in it to answer"));
    }
    list.check_len(defaults.limits.messages, "of them")?;
    let (mut history, mut later) = (History::default(), Later { bounds, tools: Vec::new() });
    for object in list.objects() {
        message(object?, &mut history, &mut later, warnings)?;
    }
    Ok((history.into_messages(), later.tools))
}

/// Tools that messages declare.
struct Later {
    bounds: ToolBounds,
    tools: Vec<ToolDefinition>,
}

impl Later {
    /// The content of a system's message: its text, or the declarations of its tools.
    fn instructions(
        &mut self,
        message: &JsonObject<'_>,
        warnings: &mut Warnings,
    ) -> Result<Content, ApiError> {
        if message.list(TOOLS)?.elements.is_empty() {
            return content::required(message, fields::CONTENT, warnings);
        }
        if !content::optional(message, fields::CONTENT, warnings)?.is_empty() {
            return Err(message
                .at(fields::CONTENT)
                .invalid("a message that declares tools has no text: send two"));
        }
        let ClientTools { tools, declarations } =
            client_tools(message, &mut self.bounds, Unknown::Refused, warnings)?;
        self.tools.extend(tools);
        if self.tools.len() > self.bounds.tools {
            let what = format_args!("at most {} tools, those of other messages and all", self.bounds.tools);
            return Err(message.at(TOOLS).invalid(what));
        }
        let declarations: Vec<String> = declarations.into_iter().map(|tool| tool.declaration).collect();
        Ok(declarations.join("\n").into())
    }
}

/// Whether the answer continues the last message: `prefix` of an assistant message, as `DeepSeek`
/// and Mistral have it.
pub(super) fn last_is_prefix(body: &JsonObject<'_>) -> Result<bool, ApiError> {
    let messages = body.list(fields::MESSAGES.optional())?;
    let Some((path, last)) = messages.iter().last() else { return Ok(false) };
    Ok(JsonObject::new(last, path)?.get(fields::PREFIX)?.unwrap_or(false))
}

fn message(
    message: JsonObject<'_>,
    history: &mut History,
    later: &mut Later,
    warnings: &mut Warnings,
) -> Result<(), ApiError> {
    warnings.fields(&message, &[fields::MESSAGE])?;
    let role = message.require(fields::ROLE)?;
    let may_declare = matches!(role, "system" | "developer");
    if !may_declare && !message.list(TOOLS)?.elements.is_empty() {
        return Err(message.at(TOOLS).invalid("only a system's or developer's message declares tools"));
    }
    let role = match role {
        "system" => Role::System,
        "developer" => Role::Developer,
        "user" => Role::User,
        "assistant" => return assistant(message, history, warnings),
        "function" => {
            return legacy::result(message, content::required(&message, fields::CONTENT, warnings)?, history);
        }
        "tool" => {
            let content = content::required(&message, fields::CONTENT, warnings)?;
            let id = message.get(fields::CALL_ID)?;
            if let Some(id) = id.filter(|id| !history.has_call(id)) {
                return Err(no_call(message, id));
            }
            history.result(id, message.get(fields::TOOL)?, content);
            return Ok(());
        }
        _ => {
            return Err(message
                .at(fields::ROLE)
                .invalid("expected system, developer, user, assistant or tool"));
        }
    };
    let content = if may_declare {
        later.instructions(&message, warnings)?
    } else {
        content::required(&message, fields::CONTENT, warnings)?
    };
    history.message(role, content);
    Ok(())
}

fn assistant(
    message: JsonObject<'_>,
    history: &mut History,
    warnings: &mut Warnings,
) -> Result<(), ApiError> {
    let mut content = content::optional(&message, fields::CONTENT, warnings)?;
    // A refusal is part of the text that the model wrote; only the protocol has a field of its own
    // for it.
    if let Some(refusal) = message.get(fields::REFUSAL)?.filter(|refusal| !refusal.is_empty()) {
        content.push(refusal);
    }
    let reasoning = match message.get(fields::REASONING_CONTENT)? {
        Some(reasoning) => Some(reasoning),
        None => message.get(fields::REASONING)?,
    };
    let calls = message.list(fields::TOOL_CALLS)?;
    let mut calls =
        calls.objects().map(|object| call(object?, warnings)).collect::<Result<Vec<_>, ApiError>>()?;
    calls.extend(legacy::call(message, history)?);
    let reasoning = reasoning.filter(|reasoning| !reasoning.is_empty()).map(str::to_owned);
    history.assistant_message(content, reasoning, calls);
    Ok(())
}

/// 400: the result's call is in no message before it, so the client has left them out.
fn no_call(message: JsonObject<'_>, id: &str) -> ApiError {
    let what = format_args!(
        "no message before this one has the call {} in its `tool_calls`: send the whole conversation",
        printable(id)
    );
    message.at(fields::CALL_ID).invalid(what)
}

fn call(call: JsonObject<'_>, warnings: &mut Warnings) -> Result<HistoryCall, ApiError> {
    warnings.fields(&call, &[fields::CALL])?;
    let id = call.require(fields::ID)?.to_owned();
    if let Some(custom) = call.get(CUSTOM.optional())? {
        let arguments = json!({ "input": custom.require(fields::CUSTOM_INPUT)? }).to_string();
        return Ok(HistoryCall { id, name: custom.require(fields::NAME)?.to_owned(), arguments });
    }
    legacy::function_call(call.require(FUNCTION)?, id)
}
