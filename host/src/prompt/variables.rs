//! Variables of a chat template for a conversation: messages as mappings, tools as declared, template arguments.
//!
//! Every string of the request is disguised here, keys of objects included. Called by `render`.

use minijinja::value::{Value, ValueKind};

use super::content::{Content, ContentForm, ContentForms};
use super::conversation::{Conversation, HistoryCall, Message, Role, ToolDeclaration};
use super::segments::Disguise;

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

/// Key under which a template that takes only objects gets other arguments. Tools with free input use the same one.
const INPUT: &str = "input";

/// The object that `text` is as JSON; no text is an empty object.
fn object(text: &str) -> Option<serde_json::Value> {
    if text.trim().is_empty() {
        return Some(serde_json::json!({}));
    }
    serde_json::from_str(text).ok().filter(serde_json::Value::is_object)
}

/// Variables of one request.
pub(super) struct TemplateVariables {
    /// Messages, oldest first, as one mapping each.
    pub(super) messages: Vec<Value>,
    tools: Value,
    arguments: Vec<(String, Value)>,
    /// Size of the request's disguised text in bytes.
    pub(super) bytes: usize,
}

/// Converter of a request's values. It counts the bytes of their strings.
struct VariableConverter<'a, 'b> {
    disguise: &'a mut Disguise<'b>,
    call_arguments: CallArguments,
    contents: ContentForms,
    bytes: usize,
}

impl TemplateVariables {
    /// Converts a conversation and the template arguments. `developer` is the name of that role in the template.
    pub(super) fn new(
        conversation: &Conversation,
        arguments: &[(String, serde_json::Value)],
        developer: &str,
        call_arguments: CallArguments,
        contents: ContentForms,
        disguise: &mut Disguise<'_>,
    ) -> Self {
        let mut converter = VariableConverter { disguise, call_arguments, contents, bytes: 0 };
        let messages =
            conversation.messages.iter().map(|message| converter.message(message, developer)).collect();
        let tools = match conversation.tools.as_slice() {
            [] => Value::from(()),
            tools => tools.iter().map(|tool| converter.tool(tool)).collect(),
        };
        let arguments = arguments.iter().map(|(name, value)| (name.clone(), converter.json(value))).collect();
        Self { messages, tools, arguments, bytes: converter.bytes }
    }

    /// Returns all variables of one run. The host's own come last, so that no argument replaces them.
    pub(super) fn for_run(
        &self,
        messages: Vec<Value>,
        new_turn: bool,
        special_tokens: &[(String, Value)],
    ) -> Value {
        let ours = [
            ("messages", Value::from(messages)),
            ("tools", self.tools.clone()),
            ("documents", Value::from(())),
            ("add_generation_prompt", Value::from(new_turn)),
        ];
        let others =
            self.arguments.iter().chain(special_tokens).map(|(name, value)| (name.as_str(), value.clone()));
        Value::from_pairs(others.chain(ours))
    }
}

impl VariableConverter<'_, '_> {
    fn string(&mut self, text: &str) -> Value {
        let escaped = self.disguise.escape(text);
        self.bytes += escaped.len();
        Value::from(escaped.as_ref())
    }

    fn json(&mut self, value: &serde_json::Value) -> Value {
        match value {
            serde_json::Value::String(text) => self.string(text),
            serde_json::Value::Array(items) => items.iter().map(|item| self.json(item)).collect(),
            serde_json::Value::Object(entries) => {
                Value::from_pairs(entries.iter().map(|(key, value)| (self.string(key), self.json(value))))
            }
            serde_json::Value::Null => Value::from(()),
            serde_json::Value::Bool(flag) => Value::from(*flag),
            serde_json::Value::Number(number) => self::number(number),
        }
    }

    fn tool(&mut self, tool: &ToolDeclaration) -> Value {
        self.json(&serde_json::from_str(&tool.declaration).expect("declarations are JSON"))
    }

    fn message(&mut self, message: &Message, developer: &str) -> Value {
        let mut entries = vec![
            ("role", Value::from(role(message.role, developer))),
            ("content", self.content(&message.content, self.contents.of(message.role))),
        ];
        if let Some(reasoning) = &message.reasoning {
            // Harmony's templates read the second name.
            let reasoning = self.string(reasoning);
            entries.extend([("reasoning_content", reasoning.clone()), ("thinking", reasoning)]);
        }
        if !message.tool_calls.is_empty() {
            entries.push(("tool_calls", message.tool_calls.iter().map(|call| self.call(call)).collect()));
        }
        for (key, text) in [("tool_call_id", &message.tool_call_id), ("name", &message.name)] {
            entries.extend(text.as_deref().map(|text| (key, self.string(text))));
        }
        Value::from_pairs(entries)
    }

    fn content(&mut self, content: &Content, form: ContentForm) -> Value {
        match form {
            ContentForm::Parts => content.parts().map(|text| text_part(self.string(text))).collect(),
            ContentForm::AsSent if content.is_list() => self.content(content, ContentForm::Parts),
            ContentForm::Text | ContentForm::AsSent => self.string(content.joined()),
            ContentForm::OnePart => Value::from(vec![text_part(self.string(content.joined()))]),
        }
    }

    fn call(&mut self, call: &HistoryCall) -> Value {
        let function = [("name", self.string(&call.name)), ("arguments", self.arguments(&call.arguments))];
        Value::from_pairs([
            ("type", Value::from("function")),
            ("id", self.string(&call.id)),
            ("function", Value::from_pairs(function)),
        ])
    }

    /// Converts a call's arguments: to an object if their text is one as JSON, else to the text itself, or to an object with the text as its
    /// input if the template takes only objects.
    fn arguments(&mut self, text: &str) -> Value {
        let CallArguments { form, only_objects } = self.call_arguments;
        if form == ArgumentsForm::Text && !only_objects {
            return self.string(text);
        }
        let wrapped = || only_objects.then(|| serde_json::json!({ INPUT: text }));
        match (object(text).or_else(wrapped), form) {
            (Some(object), ArgumentsForm::Objects) => self.json(&object),
            (Some(object), ArgumentsForm::Text) => self.string(&object.to_string()),
            (None, _) => self.string(text),
        }
    }
}

/// A text part of a list, as templates know it.
fn text_part(text: Value) -> Value {
    Value::from_pairs([("type", Value::from("text")), ("text", text)])
}

/// Returns `message` with `mark` and a space appended to its content, or to the last part of it.
pub(super) fn with_end_mark(message: &Value, mark: char) -> Value {
    let entry = |key: Value| {
        let value = message.get_item(&key).unwrap_or_default();
        if key.as_str() != Some("content") {
            return (key, value);
        }
        let marked = |text: Value| Value::from(format!("{text}{mark} "));
        if value.kind() != ValueKind::Seq {
            return (key, marked(value));
        }
        let mut parts: Vec<Value> = value.try_iter().into_iter().flatten().collect();
        let last = parts.pop().and_then(|part| part.get_attr("text").ok()).unwrap_or_default();
        parts.push(text_part(marked(last)));
        (key, Value::from(parts))
    };
    Value::from_pairs(message.try_iter().into_iter().flatten().map(entry))
}

/// Converts a number: an integer of at most 64 bits stays an integer, everything else becomes a float.
fn number(number: &serde_json::Number) -> Value {
    match (number.as_u64(), number.as_i64()) {
        (Some(unsigned), _) => Value::from(unsigned),
        (None, Some(signed)) => Value::from(signed),
        (None, None) => Value::from(number.as_f64()),
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

/// Returns conversations that reach the usual branches of a template and hold no control token's literal. A template may refuse some.
pub(super) fn probes() -> Vec<Probe> {
    let text = |role| Message::text(role, "q z");
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
    let text = |role| Message::text(role, "q z");
    let call = HistoryCall { id: "call_0".into(), name: "q_z".into(), arguments: arguments.into() };
    let calling = Message { reasoning: Some("q z".into()), tool_calls: vec![call], ..text(Role::Assistant) };
    let result =
        Message { tool_call_id: Some("call_0".into()), name: Some("q_z".into()), ..text(Role::Tool) };
    Conversation { messages: vec![text(Role::User), calling, result], tools: vec![tool("q_z")] }
}

/// A tool of this name with one parameter.
pub(super) fn tool(name: &str) -> ToolDeclaration {
    let declaration = serde_json::json!({"type": "function", "function": {"name": name, "description": "q z",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}}});
    ToolDeclaration { name: name.into(), declaration: declaration.to_string() }
}
