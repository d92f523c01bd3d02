//! Request bodies and events of the three APIs.

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// An API that OpenAI defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/responses`.
    Responses,
    /// `/v1/completions`: the messages are concatenated to one text.
    Completions,
}

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    System,
    User,
    Assistant,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// One request's messages and token limit.
#[derive(Debug, Clone)]
pub(super) struct Prompt {
    pub(super) messages: Vec<(Role, String)>,
    /// Maximum number of tokens of the answer.
    pub(super) output_len: usize,
}

/// Contents of one event.
#[derive(Debug, Default, PartialEq)]
pub(super) struct EventContent {
    /// Whether the event has output of the model.
    pub(super) has_token: bool,
    /// Text of the answer, without reasoning and calls.
    pub(super) text: String,
    pub(super) usage: Option<Usage>,
    pub(super) end: Option<End>,
}

/// How a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The answer is complete; usage may follow.
    Answered,
    /// The stream is over.
    Over,
    Failed,
}

/// Token counts of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Usage {
    #[serde(alias = "input_tokens")]
    pub(super) prompt_tokens: u64,
    #[serde(alias = "output_tokens")]
    pub(super) completion_tokens: u64,
    #[serde(alias = "input_tokens_details", default)]
    prompt_tokens_details: Option<Details>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

impl Usage {
    /// Prompt tokens that the server had cached; 0 if the server doesn't say.
    pub(super) fn cached_tokens(&self) -> u64 {
        self.prompt_tokens_details.and_then(|details| details.cached_tokens).unwrap_or(0)
    }
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    delta: Option<Map<String, Value>>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    delta: Option<Value>,
    #[serde(default)]
    response: Option<Response>,
}

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    usage: Option<Usage>,
}

impl Api {
    /// Path of the API's route, relative to the base URL.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Chat => "v1/chat/completions",
            Self::Responses => "v1/responses",
            Self::Completions => "v1/completions",
        }
    }

    /// Body of a streaming request.
    pub(super) fn body(self, model: &str, prompt: &Prompt) -> Map<String, Value> {
        let Prompt { messages, output_len } = prompt;
        let listed = || -> Vec<Value> {
            let message = |(role, text): &(Role, String)| json!({ "role": role.name(), "content": text });
            messages.iter().map(message).collect()
        };
        let joined = || messages.iter().flat_map(|(_, text)| [text.as_str(), "\n\n"]).collect::<String>();
        let body = match self {
            Self::Chat => json!({
                "messages": listed(), "max_completion_tokens": output_len, "stream_options": { "include_usage": true },
            }),
            Self::Responses => {
                json!({ "input": listed(), "max_output_tokens": output_len, "store": false })
            }
            Self::Completions => json!({
                "prompt": joined(), "max_tokens": output_len, "stream_options": { "include_usage": true },
            }),
        };
        let Value::Object(mut body) = body else { unreachable!("it is an object") };
        body.insert("model".to_owned(), model.into());
        body.insert("stream".to_owned(), true.into());
        body
    }

    /// Reads an event's data; none if it isn't an event of this API.
    pub(super) fn read(self, data: &[u8]) -> Option<EventContent> {
        if data == b"[DONE]" {
            return Some(EventContent { end: Some(End::Over), ..EventContent::default() });
        }
        match self {
            Self::Chat | Self::Completions => {
                Some(serde_json::from_slice::<Chunk>(data).ok()?.into_content())
            }
            Self::Responses => Some(serde_json::from_slice::<Event>(data).ok()?.into_content()),
        }
    }
}

impl Chunk {
    fn into_content(self) -> EventContent {
        let mut content = EventContent { usage: self.usage, ..EventContent::default() };
        for Choice { text, delta, finish_reason } in self.choices {
            let delta_text = delta.as_ref().and_then(|delta| delta.get("content")).and_then(Value::as_str);
            let text = text.as_deref().or(delta_text).unwrap_or_default();
            content.text.push_str(text);
            let others = delta.iter().flatten().filter(|(name, _)| *name != "role");
            content.has_token |=
                !text.is_empty() || others.into_iter().any(|(_, value)| says_something(value));
            if finish_reason.is_some() {
                content.end = Some(End::Answered);
            }
        }
        if self.error.is_some() {
            content.end = Some(End::Failed);
        }
        content
    }
}

/// Whether a field of a delta has content: reasoning, calls, a refusal.
fn says_something(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

impl Event {
    fn into_content(self) -> EventContent {
        let Self { kind, delta, response } = self;
        let end = match kind.as_str() {
            "response.completed" | "response.incomplete" => Some(End::Over),
            "response.failed" | "error" => Some(End::Failed),
            _ => None,
        };
        let delta =
            delta.as_ref().and_then(Value::as_str).filter(|_| kind.rsplit('.').next() == Some("delta"));
        let delta = delta.unwrap_or_default();
        let text = if kind == "response.output_text.delta" { delta } else { "" };
        EventContent {
            has_token: !delta.is_empty(),
            text: text.to_owned(),
            usage: response.and_then(|response| response.usage),
            end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(api: Api, data: &Value) -> EventContent {
        api.read(data.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn what_the_model_writes_is_a_token_whatever_it_is() {
        let chat = |delta: Value| {
            read(Api::Chat, &json!({ "choices": [{ "delta": delta, "finish_reason": null }] }))
        };
        assert!(!chat(json!({ "role": "assistant", "content": "", "reasoning": null })).has_token);
        assert_eq!(
            chat(json!({ "content": "a" })),
            EventContent { has_token: true, text: "a".into(), ..EventContent::default() }
        );
        for delta in [json!({ "reasoning_content": "r" }), json!({ "tool_calls": [{ "index": 0 }] })] {
            assert_eq!(chat(delta), EventContent { has_token: true, ..EventContent::default() });
        }
        let text = read(Api::Completions, &json!({ "choices": [{ "text": "a", "finish_reason": "stop" }] }));
        assert_eq!((text.has_token, text.end), (true, Some(End::Answered)));
        let event = |kind: &str| read(Api::Responses, &json!({ "type": kind, "delta": "a" }));
        assert_eq!(event("response.output_text.delta").text, "a");
        assert_eq!(
            event("response.reasoning_text.delta"),
            EventContent { has_token: true, ..EventContent::default() }
        );
        assert_eq!(event("response.output_item.added"), EventContent::default());
    }

    #[test]
    fn usage_is_read_by_either_of_its_names() {
        let usage = json!({ "prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": { "cached_tokens": 3 } });
        let found = read(Api::Chat, &json!({ "choices": [], "usage": usage })).usage.unwrap();
        assert_eq!((found.prompt_tokens, found.completion_tokens, found.cached_tokens()), (5, 2, 3));
        let usage =
            json!({ "input_tokens": 5, "output_tokens": 2, "input_tokens_details": { "cached_tokens": 3 } });
        let event = json!({ "type": "response.completed", "response": { "usage": usage } });
        let other = read(Api::Responses, &event);
        assert_eq!((other.usage, other.end), (Some(found), Some(End::Over)));
        let none = json!({ "prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": null });
        assert_eq!(read(Api::Chat, &json!({ "usage": none })).usage.unwrap().cached_tokens(), 0);
    }

    #[test]
    fn failures_and_nonsense_are_told_from_answers() {
        assert_eq!(read(Api::Chat, &json!({ "error": { "message": "x" } })).end, Some(End::Failed));
        assert_eq!(read(Api::Responses, &json!({ "type": "response.failed" })).end, Some(End::Failed));
        for (api, data) in [(Api::Chat, "x"), (Api::Responses, "{}"), (Api::Completions, "[1]")] {
            assert_eq!(api.read(data.as_bytes()), None, "{data}");
        }
        assert_eq!(Api::Chat.read(b"[DONE]").unwrap().end, Some(End::Over));
    }

    #[test]
    fn conversation_as_text_keeps_its_beginning() {
        let said = |messages: &[(Role, &str)]| {
            let messages = messages.iter().map(|(role, text)| (*role, (*text).to_owned())).collect();
            let body = Api::Completions.body("m", &Prompt { messages, output_len: 4 });
            body["prompt"].as_str().unwrap().to_owned()
        };
        let first = said(&[(Role::System, "s"), (Role::User, "a")]);
        let second =
            said(&[(Role::System, "s"), (Role::User, "a"), (Role::Assistant, "b"), (Role::User, "c")]);
        assert_eq!(second, format!("{first}b\n\nc\n\n"));
    }
}
