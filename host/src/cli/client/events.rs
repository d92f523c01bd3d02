//! Events of the Responses API, read so that a server may leave out what isn't needed to show an
//! answer.

use serde_json::{Map, Value};

/// How an answer ended.
pub(in crate::cli) enum Ending {
    Completed,
    /// With the server's reason.
    Incomplete(String),
    /// With the server's message, or what broke.
    Failed(String),
}

/// What an event says, of what is shown.
pub(super) enum ServerEvent {
    Reasoning(String),
    Text(String),
    Message,
    HostedCall(String),
    /// An item that is complete.
    Item(Value),
    Error(String),
    End(Ending, Map<String, Value>),
}

/// Reads an event's data; none if it is of another type, or no event at all.
pub(super) fn read(data: &[u8]) -> Option<ServerEvent> {
    let Ok(Value::Object(mut event)) = serde_json::from_slice(data) else { return None };
    let Some(Value::String(kind)) = event.remove("type") else {
        // Servers that fail in the middle of a stream may send the body of a refusal.
        return event.contains_key("error").then(|| ServerEvent::Error(message(&event)));
    };
    let mut text = |name: &str| match event.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    match kind.as_str() {
        "response.reasoning_text.delta"
        | "response.reasoning_summary_text.delta"
        // So it is called in releases of Open Responses.
        | "response.reasoning.delta" => text("delta").map(ServerEvent::Reasoning),
        "response.output_text.delta" | "response.refusal.delta" => text("delta").map(ServerEvent::Text),
        // Some servers send the type of the error itself.
        kind if kind == "error" || kind.ends_with("_error") => Some(ServerEvent::Error(message(&event))),
        "response.output_item.added" => begun(event.get("item")?),
        "response.output_item.done" => event.remove("item").map(ServerEvent::Item),
        "response.completed" | "response.incomplete" | "response.failed" => {
            let response = match event.remove("response") {
                Some(Value::Object(response)) => response,
                _ => Map::new(),
            };
            Some(ServerEvent::End(ending(&kind, &response), response))
        }
        _ => None,
    }
}

/// The message of an error, in any dialect.
fn message(event: &Map<String, Value>) -> String {
    let error = event.get("error");
    let texts = [event.get("message"), error.and_then(|error| error.get("message")), error];
    let text = texts.into_iter().flatten().find_map(Value::as_str);
    text.unwrap_or("the server failed").to_owned()
}

/// An item that begins: a message, or a call that the server runs.
fn begun(item: &Value) -> Option<ServerEvent> {
    let text = |name: &str| item.get(name).and_then(Value::as_str);
    match text("type")? {
        "message" => Some(ServerEvent::Message),
        "mcp_call" => {
            let (server, name) = (text("server_label").unwrap_or("?"), text("name").unwrap_or("?"));
            Some(ServerEvent::HostedCall(format!("{server}.{name}")))
        }
        kind @ ("web_search_call" | "code_interpreter_call") => {
            Some(ServerEvent::HostedCall(kind.to_owned()))
        }
        _ => None,
    }
}

fn ending(kind: &str, response: &Map<String, Value>) -> Ending {
    let text = |object: &str, name: &str| {
        response.get(object).and_then(|object| object.get(name)?.as_str()).unwrap_or_default().to_owned()
    };
    match kind {
        "response.completed" => Ending::Completed,
        "response.incomplete" => Ending::Incomplete(text("incomplete_details", "reason")),
        _ => Ending::Failed(text("error", "message")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_may_lack_everything_but_their_type() {
        for kind in ["response.output_text.delta", "response.output_item.added", "response.output_item.done"]
        {
            assert!(read(format!(r#"{{"type": "{kind}"}}"#).as_bytes()).is_none(), "{kind}");
        }
        for data in ["[DONE]", "{}", "1", "\u{0}", r#"{"type": 1}"#, r#"{"type": "response.new.kind"}"#] {
            assert!(read(data.as_bytes()).is_none(), "{data}");
        }
        let end = read(br#"{"type": "response.completed"}"#);
        assert!(matches!(end, Some(ServerEvent::End(Ending::Completed, response)) if response.is_empty()));
        let end = read(br#"{"type": "response.failed", "response": {"error": {"message": "m"}}}"#);
        assert!(matches!(end, Some(ServerEvent::End(Ending::Failed(message), _)) if message == "m"));
    }

    #[test]
    fn an_error_is_read_in_each_dialect() {
        for data in [
            r#"{"type": "error", "message": "m"}"#,
            r#"{"type": "error", "error": {"message": "m"}}"#,
            r#"{"error": {"message": "m", "code": 500}}"#,
            r#"{"error": "m"}"#,
            r#"{"type": "exceed_context_size_error", "code": 400, "message": "m"}"#,
        ] {
            assert!(matches!(read(data.as_bytes()), Some(ServerEvent::Error(message)) if message == "m"));
        }
    }
}
