//! Reader of `system` and `messages`, which become the conversation that templates take. Blocks of
//! one message keep their order; results of tools become messages of their own.

use super::THINKING;
use super::blocks::{self, Reader};
use super::{fields, search};
use crate::error::ApiError;
use crate::history::History;
use crate::json::{JsonObject, List, Path, Value};
use crate::request::Defaults;
use crate::seal::Seal;
use net::printable::printable;
use prompt::{ChatMessage, Content, HistoryCall, Role};

/// Beginning of the first line of Claude Code's instructions, which is for Anthropic's accounting.
/// The line differs in every request, so it is left out: with it in the prompt, no two requests
/// would share a prefix in the prefix cache.
const ACCOUNTING: &str = "x-anthropic-billing-header:";

/// Separator between two texts of instructions.
const JOINT: &str = "\n\n";

/// Reads `system` and `messages` into the conversation.
pub(super) fn messages(
    body: &JsonObject<'_>,
    defaults: &Defaults,
    reader: Reader<'_>,
) -> Result<Vec<ChatMessage>, ApiError> {
    let seal = &defaults.seal;
    let list = body.require(fields::MESSAGES)?;
    let mut input = Input { history: History::default(), system: None, begun: false, seal, reader };
    if let Some(system) = body.value(fields::SYSTEM) {
        input.instructions(system, body.at(fields::SYSTEM))?;
    }
    list.check_len(defaults.limits.messages, "of them")?;
    for message in list.objects() {
        input.message(message?)?;
    }
    let messages = input.finish();
    if messages.is_empty() {
        return Err(list.path.invalid("there is no message in it to answer"));
    }
    Ok(messages)
}

/// State of the reading.
struct Input<'a> {
    history: History,
    /// Instructions before the first message. Those of several places are joined to one text, since
    /// templates read instructions at the beginning only.
    system: Option<Content>,
    /// Whether a message of `user` or `assistant` has come.
    begun: bool,
    seal: &'a Seal,
    reader: Reader<'a>,
}

impl Input<'_> {
    fn message(&mut self, message: JsonObject<'_>) -> Result<(), ApiError> {
        self.reader.warnings.fields(&message, &[fields::MESSAGE])?;
        let (role, content) = (message.require(fields::ROLE)?, message.require(fields::CONTENT)?);
        let path = message.at(fields::CONTENT);
        if role == "system" {
            return self.instructions(content, path);
        }
        self.begin();
        if role == "user" { self.user(content, path) } else { self.assistant(content, path) }
    }

    /// Reads instructions. Those before the conversation are joined to one message; later ones stay
    /// in their place.
    fn instructions(&mut self, content: Value<'_>, path: Path<'_>) -> Result<(), ApiError> {
        let content = match content {
            Value::List(list) => self.instruction_blocks(List::new(list, path))?,
            other => without_accounting(blocks::read(other, path, &mut self.reader)?.joined()).into(),
        };
        if content.is_empty() {
            return Ok(());
        }
        if self.begun {
            self.history.message(Role::System, content);
        } else if let Some(system) = &mut self.system {
            *system = [system.joined(), JOINT, content.joined()].concat().into();
        } else {
            self.system = Some(content);
        }
        Ok(())
    }

    fn instruction_blocks(&mut self, list: List<'_>) -> Result<Content, ApiError> {
        let mut content = Content::list();
        for block in list.objects() {
            let text = blocks::block_text(block?, &mut self.reader)?;
            if let Some(text) = text.as_deref().map(without_accounting).filter(|text| !text.is_empty()) {
                content.push(text);
            }
        }
        Ok(content)
    }

    fn begin(&mut self) {
        self.begun = true;
        if let Some(system) = self.system.take() {
            self.history.message(Role::System, system);
        }
    }

    fn user(&mut self, content: Value<'_>, path: Path<'_>) -> Result<(), ApiError> {
        let Value::List(list) = content else {
            let content = blocks::read(content, path, &mut self.reader)?;
            self.history.message(Role::User, content);
            return Ok(());
        };
        let mut said = Content::list();
        for block in List::new(list, path).objects() {
            let block = block?;
            if block.get(fields::TYPE.optional())? == Some("tool_result") {
                self.reader.warnings.kind(&block, &fields::BLOCKS, "tool_result")?;
                self.say(take(&mut said));
                self.result(block)?;
            } else if let Some(text) = blocks::block_text(block, &mut self.reader)? {
                said.push(&text);
            }
        }
        self.say(said);
        Ok(())
    }

    /// Adds text of the user, unless it has no parts.
    fn say(&mut self, content: Content) {
        if content.parts().next().is_some() {
            self.history.message(Role::User, content);
        }
    }

    /// The id of the call whose result the block is.
    fn called<'b>(&self, block: &JsonObject<'b>) -> Result<&'b str, ApiError> {
        let id = block.require(fields::TOOL_USE_ID)?;
        if self.history.has_call(id) { Ok(id) } else { Err(no_call(block, id)) }
    }

    /// Reads a tool's result. Templates have no field for a failed result, so its text says that it
    /// failed.
    fn result(&mut self, block: JsonObject<'_>) -> Result<(), ApiError> {
        let id = self.called(&block)?;
        let mut content = match block.value(fields::RESULT_CONTENT) {
            Some(content) => blocks::read(content, block.at(fields::RESULT_CONTENT), &mut self.reader)?,
            None => Content::default(),
        };
        if block.get(fields::IS_ERROR)?.unwrap_or(false) {
            content.prefix("Error: ");
        }
        self.history.result(Some(id), None, content);
        Ok(())
    }

    fn assistant(&mut self, content: Value<'_>, path: Path<'_>) -> Result<(), ApiError> {
        let Value::List(list) = content else {
            let content = blocks::read(content, path, &mut self.reader)?;
            self.answer(content);
            return Ok(());
        };
        let mut said = Content::list();
        for block in List::new(list, path).objects() {
            self.assistant_block(block?, &mut said)?;
        }
        self.answer(said);
        Ok(())
    }

    /// Reads a block of an assistant message. Texts are collected in `said` until another kind of
    /// block comes.
    fn assistant_block(&mut self, block: JsonObject<'_>, said: &mut Content) -> Result<(), ApiError> {
        let kind = block.require(fields::TYPE)?;
        if !self.reader.warnings.kind(&block, &fields::BLOCKS, kind)? {
            return Ok(());
        }
        match kind {
            "text" => said.push(block.require(fields::TEXT)?),
            "thinking" => {
                self.answer(take(said));
                self.thinking(block)?;
            }
            "tool_use" | "mcp_tool_use" => {
                self.answer(take(said));
                self.history.call(call(block)?);
            }
            "mcp_tool_result" => {
                self.answer(take(said));
                self.result(block)?;
            }
            "server_tool_use" => {
                self.answer(take(said));
                self.history.call(search::call(&block)?);
            }
            "web_search_tool_result" => {
                self.answer(take(said));
                let id = self.called(&block)?;
                let found = search::outcome(&block, self.seal, self.reader.warnings)?;
                self.history.result(Some(id), None, found);
            }
            "compaction" => {
                self.answer(take(said));
                if let Some(summary) = block.get(fields::SUMMARY_TEXT)?.filter(|text| !text.is_empty()) {
                    self.history.compact(summary);
                }
            }
            other => return Err(blocks::misplaced(&block, other)),
        }
        Ok(())
    }

    /// Adds text of the model, unless it is empty.
    fn answer(&mut self, content: Content) {
        if !content.is_empty() {
            self.history.assistant_text(content);
        }
    }

    /// Reads thinking, whatever its signature: clients change servers in the middle of a
    /// conversation, and a client may put any text in the model's name anyway. A signature that
    /// isn't this server's only gives a warning.
    fn thinking(&mut self, block: JsonObject<'_>) -> Result<(), ApiError> {
        let text = block.require(fields::THINKING_TEXT)?;
        if text.is_empty() {
            return Ok(());
        }
        if !self.seal.verify(THINKING, text, block.get(fields::SIGNATURE)?.unwrap_or_default()) {
            self.reader.warnings.add("thinking that this server did not sign was taken as it is");
        }
        self.history.reasoning(text);
        Ok(())
    }

    fn finish(mut self) -> Vec<ChatMessage> {
        if self.history.ends_in_bare_reasoning() {
            // A stream broke off after its thinking: the model thinks again.
            self.history.drop_last();
            self.reader.warnings.add("thinking at the end of the messages without an answer left out");
        }
        self.history.into_messages()
    }
}

/// 400: the result's call is in no message before it, so the client has left them out.
fn no_call(block: &JsonObject<'_>, id: &str) -> ApiError {
    let what = format_args!(
        "no `tool_use` block with the id {} is in the messages before this `tool_result`: send the whole conversation",
        printable(id)
    );
    block.at(fields::TOOL_USE_ID).invalid(what)
}

fn call(block: JsonObject<'_>) -> Result<HistoryCall, ApiError> {
    let arguments = match block.value(fields::CALL_INPUT) {
        None => "{}".to_owned(),
        Some(Value::String(text)) => text.get().to_owned(),
        Some(value) => value.to_json().into_string(),
    };
    Ok(HistoryCall {
        id: block.require(fields::ID)?.to_owned(),
        name: block.require(fields::NAME)?.to_owned(),
        arguments,
    })
}

/// Takes the parts that were collected.
fn take(parts: &mut Content) -> Content {
    std::mem::replace(parts, Content::list())
}

fn without_accounting(text: &str) -> &str {
    if !text.starts_with(ACCOUNTING) {
        return text;
    }
    text.split_once('\n').map_or("", |(_, rest)| rest)
}
