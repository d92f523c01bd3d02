//! `system` and `messages`, as the conversation that templates take. What one message holds keeps its order: results of tools become
//! messages of their own.

use super::super::error::ApiError;
use super::super::history::{self, History};
use super::super::json::{List, Object, Path, Value};
use super::super::printable::printable;
use super::super::request::Defaults;
use super::super::seal::Seal;
use super::super::warnings::Warnings;
use super::THINKING;
use super::blocks::{self, Joined};
use crate::prompt::{HistoryCall, Message, Role};

/// Claude Code sends its accounting as the first line of the instructions. It differs in every request: in the prompt it would
/// keep two requests from sharing their beginning in the prefix cache.
const ACCOUNTING: &str = "x-anthropic-billing-header:";

/// Between two texts that are one set of instructions.
const JOINT: &str = "\n\n";

/// The conversation.
pub(super) fn messages(
    body: &Object<'_>,
    defaults: &Defaults,
    warnings: &mut Warnings,
) -> Result<Vec<Message>, ApiError> {
    let path = body.at("messages");
    let seal = &defaults.seal;
    let list = body.list("messages")?.ok_or_else(|| path.missing("a list of messages"))?;
    let mut input = Input { history: History::default(), system: None, begun: false, seal, warnings };
    if let Some(system) = body.get("system") {
        input.instructions(system, body.at("system"))?;
    }
    history::check_count(list, defaults.limits.messages, path)?;
    for (index, value) in list.iter().enumerate() {
        input.message(Object::new(value, path.element(index))?)?;
    }
    let messages = input.finish();
    if messages.is_empty() {
        return Err(path.invalid("there is no message in it to answer"));
    }
    Ok(messages)
}

/// The conversation as it is read.
struct Input<'a> {
    history: History,
    /// Instructions before the first message: one text, since templates look for it at the beginning only.
    system: Option<String>,
    /// A message that isn't of the system has come.
    begun: bool,
    seal: &'a Seal,
    warnings: &'a mut Warnings,
}

impl Input<'_> {
    fn message(&mut self, message: Object<'_>) -> Result<(), ApiError> {
        let path = message.at("content");
        let role = message.required_string("role")?;
        let content = message.get("content").ok_or_else(|| path.missing("a string or a list of blocks"))?;
        match role {
            "system" => return self.instructions(content, path),
            "user" | "assistant" => self.begin(),
            _ => return Err(message.at("role").invalid("expected user, assistant or system")),
        }
        if role == "user" { self.user(content, path) } else { self.assistant(content, path) }
    }

    /// Instructions: before the conversation they are one, in it they stay where they are.
    fn instructions(&mut self, content: Value<'_>, path: Path<'_>) -> Result<(), ApiError> {
        let text = match content {
            Value::List(list) => self.instruction_blocks(list, path)?,
            other => Some(without_accounting(&blocks::text(other, path, self.warnings)?).to_owned()),
        };
        let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(()) };
        if self.begun {
            self.history.message(Role::System, text);
        } else if let Some(system) = &mut self.system {
            system.push_str(JOINT);
            system.push_str(&text);
        } else {
            self.system = Some(text);
        }
        Ok(())
    }

    fn instruction_blocks(&mut self, list: List<'_>, path: Path<'_>) -> Result<Option<String>, ApiError> {
        let mut joined = Joined::default();
        for (index, value) in list.iter().enumerate() {
            let text = blocks::block_text(Object::new(value, path.element(index))?, self.warnings)?;
            let text = text.map(|text| without_accounting(&text).to_owned());
            joined.extend(text.filter(|text| !text.is_empty()));
        }
        Ok(joined.take())
    }

    fn begin(&mut self) {
        self.begun = true;
        if let Some(system) = self.system.take() {
            self.history.message(Role::System, system);
        }
    }

    fn user(&mut self, content: Value<'_>, path: Path<'_>) -> Result<(), ApiError> {
        let Value::List(list) = content else {
            let text = blocks::text(content, path, self.warnings)?;
            self.history.message(Role::User, text);
            return Ok(());
        };
        let mut joined = Joined::default();
        for (index, value) in list.iter().enumerate() {
            let block = Object::new(value, path.element(index))?;
            if block.string("type")? == Some("tool_result") {
                self.say(joined.take());
                self.result(block)?;
            } else {
                joined.extend(blocks::block_text(block, self.warnings)?);
            }
        }
        self.say(joined.take());
        Ok(())
    }

    fn say(&mut self, text: Option<String>) {
        if let Some(text) = text {
            self.history.message(Role::User, text);
        }
    }

    /// What a tool gave back. Templates know no failed results: the text says it.
    fn result(&mut self, block: Object<'_>) -> Result<(), ApiError> {
        let id = block.required_string("tool_use_id")?;
        let text = match block.get("content") {
            Some(content) => blocks::text(content, block.at("content"), self.warnings)?,
            None => String::new(),
        };
        let failed = block.boolean("is_error")?.unwrap_or(false);
        let text = if failed { format!("Error: {text}") } else { text };
        self.history.result(Some(id), None, text);
        Ok(())
    }

    fn assistant(&mut self, content: Value<'_>, path: Path<'_>) -> Result<(), ApiError> {
        let Value::List(list) = content else {
            let text = blocks::text(content, path, self.warnings)?;
            self.answer(Some(text));
            return Ok(());
        };
        let mut joined = Joined::default();
        for (index, value) in list.iter().enumerate() {
            self.assistant_block(Object::new(value, path.element(index))?, &mut joined)?;
        }
        self.answer(joined.take());
        Ok(())
    }

    /// A block of the model's; texts wait in `joined` for those that follow.
    fn assistant_block(&mut self, block: Object<'_>, joined: &mut Joined) -> Result<(), ApiError> {
        match block.required_string("type")? {
            "text" => joined.push(block.required_string("text")?),
            "thinking" => {
                self.answer(joined.take());
                self.thinking(block)?;
            }
            "redacted_thinking" => self.warnings.add("redacted_thinking ignored: this server cannot read it"),
            "tool_use" => {
                self.answer(joined.take());
                self.history.call(call(block)?);
            }
            other => self.warnings.add(format!("content block of type {} ignored", printable(other))),
        }
        Ok(())
    }

    /// Text of the model; an empty one is none.
    fn answer(&mut self, text: Option<String>) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.history.assistant_text(text);
        }
    }

    /// Thinking is taken whoever wrote it: clients change servers in the middle of a conversation, and a client may say anything
    /// in the model's name anyway. Its signature only tells whether it is ours.
    fn thinking(&mut self, block: Object<'_>) -> Result<(), ApiError> {
        let text = block.required_string("thinking")?;
        if text.is_empty() {
            return Ok(());
        }
        if !self.seal.verify(THINKING, text, block.string("signature")?.unwrap_or_default()) {
            self.warnings.add("thinking that this server did not sign was taken as it is");
        }
        self.history.reasoning(text);
        Ok(())
    }

    fn finish(mut self) -> Vec<Message> {
        if self.history.ends_in_bare_reasoning() {
            // A stream broke off after its thinking: the model does that part again.
            self.history.drop_last();
            self.warnings.add("thinking at the end of the messages without an answer left out");
        }
        self.history.into_messages()
    }
}

fn call(block: Object<'_>) -> Result<HistoryCall, ApiError> {
    let arguments = match block.get("input") {
        None => "{}".to_owned(),
        Some(Value::String(text)) => text.get().to_owned(),
        Some(value) => value.to_json().into_string(),
    };
    Ok(HistoryCall {
        id: block.required_string("id")?.to_owned(),
        name: block.required_string("name")?.to_owned(),
        arguments,
    })
}

fn without_accounting(text: &str) -> &str {
    if !text.starts_with(ACCOUNTING) {
        return text;
    }
    text.split_once('\n').map_or("", |(_, rest)| rest)
}
