//! Variables of a chat template for a conversation: messages as mappings, tools as declared,
//! template arguments.
//!
//! Every string of the request is marked here with its author, keys of objects included. Called by
//! `render`.

use jinja::{Error, Origin, Text, Value};
use serde::de::IgnoredAny;

use super::authors::Author;
use super::content::Content;
use super::content_forms::{ContentForm, ContentForms};
use super::conversation::{ChatMessage, Conversation, HistoryCall, Role, ToolDeclaration};

/// How a template takes the arguments of earlier calls.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CallArguments {
    pub(super) form: ArgumentsForm,
    /// Whether it takes nothing but objects: other arguments reach it as `{"input": …}`.
    pub(super) only_objects: bool,
}

/// Form in which a template takes the arguments of earlier calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ArgumentsForm {
    /// Objects, which the template writes as JSON.
    #[default]
    Objects,
    /// JSON text, which the template joins to other text or reads itself.
    Text,
}

impl CallArguments {
    /// Whether the template gets these arguments as `{"input": …}`.
    pub(super) fn wraps(self, text: &str) -> bool {
        self.only_objects && object(text).is_none()
    }
}

/// Key under which a template that takes only objects gets other arguments. Tools with free input
/// use the same one.
const INPUT: &str = "input";

/// Mark at the end of the text that the model continues. It counts as the template's, so no request
/// can write one.
pub(super) const END_MARK: char = '\u{FFFFD}';

/// The JSON object that `text` is; no text is an empty object.
fn object(text: &str) -> Option<&str> {
    if text.trim().is_empty() {
        return Some("{}");
    }
    let is_object = text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok();
    is_object.then_some(text)
}

/// Variables of one request.
pub(super) struct TemplateVariables {
    /// Messages, oldest first, as one mapping each.
    pub(super) messages: Vec<Value>,
    tools: Value,
    arguments: Vec<(String, Value)>,
}

/// How a template takes what conversations hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct TemplateForms {
    /// Name of the role `developer` in the template.
    pub(super) developer: &'static str,
    pub(super) call_arguments: CallArguments,
    pub(super) contents: ContentForms,
    /// Whether a message that holds calls and no text has none as its content, and not an empty
    /// text.
    pub(super) empty_is_none: bool,
}

impl TemplateVariables {
    /// Converts a conversation and the template arguments. With `is_continued`, the last message
    /// ends with the mark.
    pub(super) fn new(
        conversation: &Conversation,
        arguments: &[(String, serde_json::Value)],
        forms: TemplateForms,
        is_continued: bool,
    ) -> Result<Self, Error> {
        let last = conversation.messages.len().checked_sub(usize::from(is_continued));
        let message = |(index, message): (usize, &ChatMessage)| {
            forms.message(message, is_continued && Some(index) == last)
        };
        let messages = conversation.messages.iter().enumerate().map(message).collect::<Result<_, _>>()?;
        let tool = |tool: &ToolDeclaration| Value::from_json(&tool.declaration, Author::Tools.origin());
        let tools = match conversation.tools.as_slice() {
            [] => Value::None,
            tools => Value::list(tools.iter().map(tool).collect::<Result<_, _>>()?)?,
        };
        let argument = |(name, value): &(String, serde_json::Value)| {
            Ok((name.clone(), Value::from_json(&value.to_string(), Author::Arguments.origin())?))
        };
        let arguments = arguments.iter().map(argument).collect::<Result<_, Error>>()?;
        Ok(Self { messages, tools, arguments })
    }

    /// Returns all variables of one run. The host's own come last, so that no argument replaces
    /// them.
    pub(super) fn for_run<'a>(
        &'a self,
        messages: &[Value],
        new_turn: bool,
        special_tokens: &'a [(String, Value)],
    ) -> Result<Vec<(&'a str, Value)>, Error> {
        let ours = [
            ("messages", Value::list(messages.to_vec())?),
            ("tools", self.tools.clone()),
            ("documents", Value::None),
            ("add_generation_prompt", Value::Bool(new_turn)),
        ];
        let others =
            self.arguments.iter().chain(special_tokens).map(|(name, value)| (name.as_str(), value.clone()));
        Ok(others.chain(ours).collect())
    }
}

impl TemplateForms {
    fn message(&self, message: &ChatMessage, is_marked: bool) -> Result<Value, Error> {
        let author = Author::of_role(message.role);
        let is_none = self.empty_is_none && message.content.is_empty() && !message.tool_calls.is_empty();
        let content = if is_none {
            Value::None
        } else {
            content(&message.content, author, self.contents.of(message.role), is_marked)?
        };
        let mut entries = vec![
            ("role", Value::text(Origin::Template, role(message.role, self.developer))),
            ("content", content),
        ];
        if let Some(reasoning) = &message.reasoning {
            // Harmony's templates read the second name.
            let reasoning = string(author, reasoning);
            entries.extend([("reasoning_content", reasoning.clone()), ("thinking", reasoning)]);
        }
        if !message.tool_calls.is_empty() {
            let calls = message.tool_calls.iter().map(|call| self.call(call)).collect::<Result<_, _>>()?;
            entries.push(("tool_calls", Value::list(calls)?));
        }
        for (key, text) in [("tool_call_id", &message.tool_call_id), ("name", &message.name)] {
            entries.extend(text.as_deref().map(|text| (key, string(author, text))));
        }
        Value::dict(entries)
    }

    fn call(&self, call: &HistoryCall) -> Result<Value, Error> {
        let function = [
            ("name", string(Author::Assistant, &call.name)),
            ("arguments", self.arguments(&call.arguments)?),
        ];
        Value::dict([
            ("type", Value::text(Origin::Template, "function")),
            ("id", string(Author::Assistant, &call.id)),
            ("function", Value::dict(function)?),
        ])
    }

    /// Converts a call's arguments: to an object if their text is one as JSON, else to the text
    /// itself, or to an object with the text as its input if the template takes only objects.
    fn arguments(&self, text: &str) -> Result<Value, Error> {
        let CallArguments { form, only_objects } = self.call_arguments;
        let author = Author::Assistant;
        if form == ArgumentsForm::Text && !only_objects {
            return Ok(string(author, text));
        }
        let wrapped = only_objects.then(|| serde_json::json!({ INPUT: text }).to_string());
        match (object(text).or(wrapped.as_deref()), form) {
            (Some(object), ArgumentsForm::Objects) => Value::from_json(object, author.origin()),
            (Some(object), ArgumentsForm::Text) => Ok(string(author, object)),
            (None, _) => Ok(string(author, text)),
        }
    }
}

fn string(author: Author, text: &str) -> Value {
    Value::text(author.origin(), text)
}

/// Converts a message's content. The mark and a space follow its text, or that of its last part.
fn content(content: &Content, author: Author, form: ContentForm, is_marked: bool) -> Result<Value, Error> {
    let marked = |text: &str, is_last: bool| {
        let text = Text::new(author.origin(), text);
        if !(is_marked && is_last) {
            return Value::Text(text);
        }
        let mark = Text::new(Origin::Template, format!("{END_MARK} "));
        Value::Text(Text::concat(&[text, mark]))
    };
    let part = |text| Value::dict([("type", Value::text(Origin::Template, "text")), ("text", text)]);
    match form {
        ContentForm::AsSent if !content.is_list() => Ok(marked(content.joined(), true)),
        ContentForm::Text => Ok(marked(content.joined(), true)),
        ContentForm::OnePart => Value::list(vec![part(marked(content.joined(), true))?]),
        ContentForm::Parts | ContentForm::AsSent => {
            let mut texts: Vec<&str> = content.parts().collect();
            if texts.is_empty() && is_marked {
                texts.push("");
            }
            let count = texts.len();
            let parts = texts.iter().enumerate().map(|(index, text)| part(marked(text, index + 1 == count)));
            Value::list(parts.collect::<Result<_, _>>()?)
        }
    }
}

fn role(role: Role, developer: &str) -> &str {
    match role {
        Role::System => "system",
        Role::Developer => developer,
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

/// Conversation and template arguments that a template is tried with.
pub(super) type Probe = (Conversation, Vec<(String, serde_json::Value)>);

/// Returns conversations that reach the usual branches of a template and hold no control token's
/// literal. A template may refuse some.
pub(super) fn probes() -> Vec<Probe> {
    let text = |role| ChatMessage::text(role, "q z");
    let (user, answer) = (text(Role::User), text(Role::Assistant));
    let tool = tool("q_z");
    let Conversation { messages: calls, .. } = calling(r#"{"q": "z"}"#);
    let plain = vec![user.clone()];
    let turns = vec![text(Role::System), user.clone(), answer.clone(), user.clone()];
    let developer = vec![text(Role::Developer), user.clone()];
    let rounds = [calls.clone(), vec![answer, user]].concat();
    let mut probes = Vec::new();
    for (messages, tools) in [
        (plain.clone(), vec![]),
        (plain, vec![tool.clone()]),
        (turns, vec![]),
        (developer, vec![]),
        (calls, vec![tool.clone()]),
        (rounds, vec![tool]),
    ] {
        let conversation = Conversation { messages, tools };
        let thinking = |on: bool| vec![("enable_thinking".to_owned(), serde_json::Value::Bool(on))];
        probes.push((conversation.clone(), thinking(true)));
        probes.push((conversation, thinking(false)));
    }
    probes
}

/// A conversation with a call that has these arguments, and its result.
pub(super) fn calling(arguments: &str) -> Conversation {
    let text = |role| ChatMessage::text(role, "q z");
    let call = HistoryCall { id: "call_0".into(), name: "q_z".into(), arguments: arguments.into() };
    let calling =
        ChatMessage { reasoning: Some("q z".into()), tool_calls: vec![call], ..text(Role::Assistant) };
    let result =
        ChatMessage { tool_call_id: Some("call_0".into()), name: Some("q_z".into()), ..text(Role::Tool) };
    Conversation { messages: vec![text(Role::User), calling, result], tools: vec![tool("q_z")] }
}

/// A tool of this name with one parameter.
pub(super) fn tool(name: &str) -> ToolDeclaration {
    let declaration = serde_json::json!({"type": "function", "function": {"name": name, "description": "q z",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}}});
    ToolDeclaration { name: name.into(), declaration: declaration.to_string() }
}
