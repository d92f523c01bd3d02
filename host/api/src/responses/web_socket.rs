//! What WebSocket mode adds to the protocol: events of the client, the lane that an event belongs
//! to, and errors as events.

use bytes::Bytes;
use serde::Serialize;

use super::lane::to_bytes;
pub use super::lane::{StreamId, of_lane};
use super::steer::SteerRequest;
use super::{end_reasoning, fields};
use crate::error::ApiError;
use crate::json::{Field, JsonObject};

/// Whether the model answers, which events say beside a request's fields.
const GENERATE: Field<bool> = Field::new("generate", "");

/// An event of the client, without the body that it may carry.
#[derive(Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// `response.create`: the event is a request's body, too.
    Create {
        /// Its lane; none: the one without a name.
        stream_id: Option<StreamId>,
        /// Whether the model answers. If not, the response is empty, to be continued.
        generate: bool,
        /// The response that it continues.
        parent: Option<String>,
        /// Whether the response is to be stored, if the event says so.
        store: Option<bool>,
    },
    /// `response.processed`, which tells nothing that the server needs to know.
    Processed,
    /// `response.steer`
    Steer(SteerRequest),
    /// `response.end_reasoning`: the response whose reasoning is to end.
    EndReasoning(String),
}

/// An event that can't be used, and the lane that it named.
#[derive(Debug)]
pub struct BadEvent {
    /// The lane; none: the event named none, or no valid one.
    pub stream_id: Option<StreamId>,
    /// Why the event can't be used.
    pub error: ApiError,
}

impl ClientEvent {
    /// Reads the fields that are not the response's.
    ///
    /// # Errors
    /// 400 where the type is unknown or a field has a wrong value.
    pub fn read(body: &JsonObject<'_>) -> Result<Self, Box<BadEvent>> {
        let bad = |stream_id, error| Box::new(BadEvent { stream_id, error });
        let stream_id = StreamId::read(body).map_err(|error| bad(None, error))?;
        Self::read_in(body, stream_id.clone()).map_err(|error| bad(stream_id, error))
    }

    fn read_in(body: &JsonObject<'_>, stream_id: Option<StreamId>) -> Result<Self, ApiError> {
        match body.require(fields::TYPE)? {
            "response.create" => {
                let generate = body.get(GENERATE)?.unwrap_or(true);
                if body.get(fields::BACKGROUND)? == Some(true) {
                    let message = "a WebSocket's responses end with it: send POST /v1/responses";
                    return Err(body.at(fields::BACKGROUND).unsupported(message));
                }
                let parent = body.get(fields::PREVIOUS_RESPONSE_ID)?.map(str::to_owned);
                Ok(Self::Create { stream_id, generate, parent, store: body.get(fields::STORE)? })
            }
            "response.processed" => Ok(Self::Processed),
            "response.steer" => Ok(Self::Steer(SteerRequest::read(body))),
            "response.end_reasoning" => Ok(Self::EndReasoning(end_reasoning::read(body)?)),
            _ => {
                let what =
                    "expected response.create, response.processed, response.steer or response.end_reasoning";
                Err(body.at(fields::TYPE).invalid(what))
            }
        }
    }
}

/// An error as the protocol's event, for a request that has no response.
pub fn error_event(error: &ApiError, stream_id: Option<&StreamId>) -> Bytes {
    #[derive(Serialize)]
    struct ErrorEvent<'a, E: Serialize> {
        #[serde(rename = "type")]
        kind: &'a str,
        status: u16,
        sequence_number: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        stream_id: Option<&'a str>,
        #[serde(flatten)]
        envelope: E,
    }
    to_bytes(&ErrorEvent {
        kind: "error",
        status: error.status,
        sequence_number: 0,
        stream_id: stream_id.map(|StreamId(name)| &**name),
        envelope: error.envelope(),
    })
}

/// The event `number` of a response under another number.
pub fn renumbered(event: Bytes, number: u64, new: u64) -> Bytes {
    // The number stands before anything that a model or a client wrote.
    let old = format!(r#""sequence_number":{number},"#);
    let at = event.windows(old.len()).position(|bytes| bytes == old.as_bytes());
    let Some(at) = at.filter(|_| new != number) else { return event };
    let new = format!(r#""sequence_number":{new},"#);
    [&event[..at], new.as_bytes(), &event[at + old.len()..]].concat().into()
}

/// A response's first event with what of the request was left out, which a socket has no header for.
pub fn warned(event: Bytes, warnings: &[String]) -> Bytes {
    let Some(fields) = event.strip_suffix(b"}").filter(|_| !warnings.is_empty()) else { return event };
    let warnings = to_bytes(&warnings);
    [fields, br#","x-sluice-warning":"#, &warnings, b"}"].concat().into()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::json::Document;
    use crate::limits::RequestLimits;

    fn read(event: &Value) -> Result<ClientEvent, (Option<String>, Value)> {
        let document =
            Document::read(event.to_string().into(), &RequestLimits::default()).expect("an object");
        ClientEvent::read(&document.body()).map_err(|bad| {
            let event: Value =
                serde_json::from_slice(&error_event(&bad.error, bad.stream_id.as_ref())).unwrap();
            (bad.stream_id.map(|StreamId(name)| name), event)
        })
    }

    #[test]
    fn names_of_lanes_are_short_and_plain() {
        let create = |stream_id: Value| json!({ "type": "response.create", "stream_id": stream_id });
        for name in ["a", "Agent_1.b-c", &"x".repeat(256)] {
            let lane = StreamId::new(name);
            let event = read(&create(json!(name)));
            assert!(matches!(event, Ok(ClientEvent::Create { stream_id, .. }) if stream_id == lane));
        }
        for bad in [json!(""), json!("a b"), json!("é"), json!("x".repeat(257)), json!(1), json!({})] {
            let (lane, event) = read(&create(bad)).unwrap_err();
            assert_eq!((lane, &event["stream_id"]), (None, &Value::Null));
            assert_eq!(event["error"]["code"], "invalid_stream_id");
            assert_eq!(event["error"]["param"], "stream_id");
        }
        let unnamed = read(&create(Value::Null));
        assert!(matches!(unnamed, Ok(ClientEvent::Create { stream_id: None, generate: true, .. })));
    }

    #[test]
    fn a_wrong_event_is_an_error_of_its_lane() {
        for (event, param) in [
            (json!({ "stream_id": "a" }), "type"),
            (json!({ "type": "session.update", "stream_id": "a" }), "type"),
            (json!({ "type": "response.create", "stream_id": "a", "generate": 1 }), "generate"),
            (json!({ "type": "response.create", "stream_id": "a", "background": true }), "background"),
        ] {
            let (lane, event) = read(&event).unwrap_err();
            assert_eq!((lane.as_deref(), &event["stream_id"]), (Some("a"), &json!("a")));
            assert_eq!((&event["type"], &event["status"]), (&json!("error"), &json!(400)));
            assert_eq!((&event["sequence_number"], &event["error"]["param"]), (&json!(0), &json!(param)));
            let fields: Vec<&String> = event["error"].as_object().unwrap().keys().collect();
            assert_eq!(fields, ["message", "type", "param", "code"]);
        }
    }

    #[test]
    fn an_event_gets_the_name_of_its_lane() {
        let event = || Bytes::from_static(br#"{"type":"response.created","response":{"id":"r"}}"#);
        assert_eq!(of_lane(event(), None), event());
        let named: Value = serde_json::from_slice(&of_lane(event(), Some(&StreamId("a.b".into())))).unwrap();
        assert_eq!(
            named,
            json!({ "type": "response.created", "response": { "id": "r" }, "stream_id": "a.b" })
        );
    }
}
