//! Variables of a chat template for a conversation: messages as mappings, tools as declared, template arguments.
//!
//! Every string of the request is disguised here, keys of objects included. Called by `render`.

use minijinja::Value;

use super::conversation::{Conversation, HistoryCall, Message, Role, ToolDeclaration};
use super::segments::Disguise;

/// Form in which a template takes the arguments of earlier calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallArguments {
    /// Objects, which the template writes as JSON.
    Objects,
    /// JSON text, which the template joins to other text.
    Text,
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
    bytes: usize,
}

impl TemplateVariables {
    /// Converts a conversation and the template arguments. `developer` is the name of that role in the template.
    pub(super) fn new(
        conversation: &Conversation,
        arguments: &[(String, serde_json::Value)],
        developer: &str,
        call_arguments: CallArguments,
        disguise: &mut Disguise<'_>,
    ) -> Self {
        let mut converter = VariableConverter { disguise, call_arguments, bytes: 0 };
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
            ("content", self.string(&message.content)),
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

    fn call(&mut self, call: &HistoryCall) -> Value {
        let function = [("name", self.string(&call.name)), ("arguments", self.arguments(&call.arguments))];
        Value::from_pairs([
            ("type", Value::from("function")),
            ("id", self.string(&call.id)),
            ("function", Value::from_pairs(function)),
        ])
    }

    /// Converts a call's arguments: to an object if their text is one as JSON (no text is an empty object), else to the text itself.
    fn arguments(&mut self, text: &str) -> Value {
        if self.call_arguments == CallArguments::Text {
            return self.string(text);
        }
        if text.trim().is_empty() {
            return Value::from_pairs([] as [(&str, Value); 0]);
        }
        match serde_json::from_str(text) {
            Ok(object @ serde_json::Value::Object(_)) => self.json(&object),
            _ => self.string(text),
        }
    }
}

/// Returns `message` with `mark` and a space appended to its content.
pub(super) fn with_end_mark(message: &Value, mark: char) -> Value {
    let entry = |key: Value| {
        let value = message.get_item(&key).unwrap_or_default();
        let marked = (key.as_str() == Some("content")).then(|| Value::from(format!("{value}{mark} ")));
        (key, marked.unwrap_or(value))
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
    let call = HistoryCall { id: "call_0".into(), name: "q_z".into(), arguments: r#"{"q": "z"}"#.into() };
    let calling = Message { reasoning: Some("q z".into()), tool_calls: vec![call], ..text(Role::Assistant) };
    let result =
        Message { tool_call_id: Some("call_0".into()), name: Some("q_z".into()), ..text(Role::Tool) };
    let declaration = serde_json::json!({"type": "function", "function": {"name": "q_z", "description": "q z",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}}});
    let tool = ToolDeclaration { name: "q_z".into(), declaration: declaration.to_string() };
    let (user, answer) = (text(Role::User), text(Role::Assistant));
    let plain = vec![user.clone()];
    let turns = vec![text(Role::System), user.clone(), answer.clone(), user.clone()];
    let developer = vec![text(Role::Developer), user.clone()];
    let calls = vec![user.clone(), calling.clone(), result.clone()];
    let rounds = vec![user.clone(), calling, result, answer, user];
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
