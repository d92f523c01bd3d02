//! Steering of a response over a WebSocket: the client's `response.steer`, the events that answer
//! it, and the bodies of requests that go on with its input.

use bytes::Bytes;
use serde_json::{Value as Parsed, json};

use super::fields;
use super::lane::{StreamId, of_lane, to_bytes};
use super::typed::TypedTool;
use crate::error::ApiError;
use crate::json::{Elements, JsonObject, List, Path, Value};
use crate::raw::{self, Json};

/// A `response.steer`.
#[derive(Debug, PartialEq, Eq)]
pub struct SteerRequest {
    /// The response that it is for; empty where the event names none.
    pub response: String,
    /// JSON of the input as it came, which a failure gives back.
    pub input: String,
    /// JSON of its messages, with commas between them; or what is wrong with the event.
    pub messages: Result<String, String>,
}

impl SteerRequest {
    pub(super) fn read(body: &JsonObject<'_>) -> Self {
        Self {
            response: body.get(fields::PREVIOUS_RESPONSE_ID).ok().flatten().unwrap_or_default().to_owned(),
            input: body.value(fields::INPUT).map_or_else(Json::null, Value::to_json).into_string(),
            messages: checked(body).map_err(|error| error.message),
        }
    }
}

/// Fields of the event.
const FIELDS: [&str; 3] =
    [fields::TYPE.row().name, fields::PREVIOUS_RESPONSE_ID.row().name, fields::INPUT.row().name];

fn checked(body: &JsonObject<'_>) -> Result<String, ApiError> {
    body.require(fields::PREVIOUS_RESPONSE_ID.required())?;
    if let Some((name, _)) = body.fields().find(|(name, _)| !FIELDS.contains(name)) {
        let what = "response.steer has type, previous_response_id and input only";
        return Err(body.path.field(name).invalid(what));
    }
    let path = body.at(fields::INPUT);
    match body.value(fields::INPUT) {
        Some(text @ Value::String(_)) => Ok(of_text(text)),
        Some(Value::List(list)) if !list.is_empty() => {
            let list = List::new(list, path);
            let read = |(path, value)| message(value, path);
            Ok(list.iter().map(read).collect::<Result<Vec<_>, _>>()?.join(","))
        }
        _ => Err(path.invalid("expected a text, or a list of messages that isn't empty")),
    }
}

/// A user's message with this text.
fn of_text(text: Value<'_>) -> String {
    let fields = [("type", Json::of("message")), ("role", Json::of("user")), ("content", text.to_json())];
    raw::object(fields).into_string()
}

fn message(value: Value<'_>, path: Path<'_>) -> Result<String, ApiError> {
    let message = JsonObject::new(value, path)?;
    if let Some((name, _)) = message.fields().find(|(name, _)| !["type", "role", "content"].contains(name)) {
        let what = "a message that steers has type, role and content only";
        return Err(message.path.field(name).invalid(what));
    }
    if message.get(fields::TYPE.optional())?.is_some_and(|kind| kind != "message") {
        return Err(message.at(fields::TYPE).invalid("only messages steer a response"));
    }
    if message.require(fields::ROLE)? != "user" {
        return Err(message.at(fields::ROLE).invalid("only messages with the role user steer a response"));
    }
    let is_part = |part: Value<'_>| {
        let kind = part.field(fields::TYPE).and_then(Value::as_str);
        kind.is_some_and(|kind| ["input_text", "input_image", "input_file"].contains(&kind))
    };
    match message.value(fields::CONTENT) {
        Some(Value::String(_)) => {}
        Some(Value::List(parts)) if !parts.is_empty() && parts.iter().all(is_part) => {}
        _ => {
            let what = "expected a text, or a list of input_text, input_image and input_file parts";
            return Err(message.at(fields::CONTENT).invalid(what));
        }
    }
    Ok(value.to_json().into_string())
}

/// Why input can't be committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteerFault {
    /// There is no such response here.
    NotFound,
    /// The input isn't one.
    InvalidInput,
    /// The response's kind can't be steered.
    NotSupported,
    /// As much input waits as may.
    TooMany,
    /// The response has ended.
    Completed,
    /// The response isn't generated on this socket.
    NotActive,
    /// The response ended so that nothing can follow it.
    NoSuccessor,
}

impl SteerFault {
    fn code(self) -> &'static str {
        match self {
            Self::NotFound => "response_not_found",
            Self::InvalidInput => "invalid_input",
            Self::NotSupported => "steering_not_supported",
            Self::TooMany => "too_many_pending_steers",
            Self::Completed => "response_already_completed",
            Self::NotActive => "response_not_active",
            Self::NoSuccessor => "successor_creation_failed",
        }
    }
}

/// `response.steer.accepted`
pub fn accepted(id: &str, response: &str, lane: Option<&StreamId>) -> Bytes {
    let event = json!({
        "type": "response.steer.accepted",
        "sequence_number": 0,
        "steer": { "id": id, "previous_response_id": response },
    });
    of_lane(to_bytes(&event), lane)
}

/// `response.steer.pending`
pub fn pending(id: &str, response: &str, required: &[Parsed], lane: Option<&StreamId>) -> Bytes {
    let event = json!({
        "type": "response.steer.pending",
        "sequence_number": 0,
        "steer": { "id": id, "previous_response_id": response },
        "reason": "waiting_for_required_input",
        "required_input": required,
    });
    of_lane(to_bytes(&event), lane)
}

/// `response.steer.failed`, which gives the input back. One that was never accepted has no `id`.
pub fn failed(
    id: Option<&str>,
    response: &str,
    input: String,
    (fault, message): (SteerFault, &str),
    lane: Option<&StreamId>,
) -> Bytes {
    let id = id.map(|id| ("id", Json::of(id)));
    let rest = [("previous_response_id", Json::of(response)), ("input", Json::new(input))];
    let event = json!({
        "type": "response.steer.failed",
        "sequence_number": 0,
        "error": { "type": "invalid_request_error", "code": fault.code(), "message": message },
    });
    let mut event = event.to_string();
    event.pop();
    event.push_str(r#","steer":"#);
    event.push_str(&raw::object(id.into_iter().chain(rest)).into_string());
    event.push('}');
    of_lane(event.into(), lane)
}

/// How a response ended, as its last event says.
#[derive(Debug)]
pub struct ResponseEnd {
    /// Whether another response can continue it.
    pub can_go_on: bool,
    /// The items that its client must answer first, without the answers.
    pub required: Vec<Parsed>,
}

impl ResponseEnd {
    /// Reads a last event.
    pub fn read(event: &[u8]) -> Self {
        let event: Parsed = serde_json::from_slice(event).unwrap_or_default();
        let response = &event["response"];
        let output = response["output"].as_array().into_iter().flatten();
        Self {
            can_go_on: response["status"] == "completed" || response["status"] == "incomplete",
            required: output.filter_map(required).collect(),
        }
    }
}

fn required(item: &Parsed) -> Option<Parsed> {
    match item["type"].as_str()? {
        "function_call" => Some(json!({
            "type": "function_call_output", "call_id": item["call_id"], "name": item["name"],
        })),
        "custom_tool_call" => Some(json!({ "type": "custom_tool_call_output", "call_id": item["call_id"] })),
        "mcp_approval_request" => {
            Some(json!({ "type": "mcp_approval_response", "approval_request_id": item["id"] }))
        }
        // What the server ran has its result.
        _ if item["execution"] == "server" => None,
        kind => {
            TypedTool::result_of(kind).map(|result| json!({ "type": result, "call_id": item["call_id"] }))
        }
    }
}

/// JSON of a body's fields that hold for a successor, too; none if the response can't be steered.
pub fn settings(body: &JsonObject<'_>) -> Option<String> {
    let can_be_steered =
        body.value(fields::CONVERSATION).is_none() && body.value(fields::CONTEXT_MANAGEMENT).is_none();
    can_be_steered
        .then(|| without(body, &[fields::INPUT.row().name, fields::PREVIOUS_RESPONSE_ID.row().name]))
}

/// The body of the successor of the response `parent`, which has these settings and messages.
pub fn successor(settings: &str, parent: &str, messages: &str) -> String {
    let parent = Json::of(parent).into_string();
    with(settings, &format!(r#""previous_response_id":{parent},"input":[{messages}]"#))
}

/// A body with messages in front of its own input.
///
/// # Errors
/// 400 where its input is neither a text nor a list.
pub fn prepend(body: &JsonObject<'_>, messages: &str) -> Result<String, ApiError> {
    let own = match body.value(fields::INPUT) {
        None => String::new(),
        Some(text @ Value::String(_)) => of_text(text),
        Some(Value::List(list)) => items(list),
        Some(_) => return Err(body.at(fields::INPUT).invalid("expected a text or a list")),
    };
    let comma = if own.is_empty() { "" } else { "," };
    Ok(with(&without(body, &[fields::INPUT.row().name]), &format!(r#""input":[{messages}{comma}{own}]"#)))
}

fn items(list: Elements<'_>) -> String {
    list.iter().map(|item| item.to_json().into_string()).collect::<Vec<_>>().join(",")
}

fn without(body: &JsonObject<'_>, names: &[&str]) -> String {
    let fields = body.fields().filter(|(name, _)| !names.contains(name));
    raw::object(fields.map(|(name, value)| (name, value.to_json()))).into_string()
}

/// An object with more fields. It has some: every event has a type.
fn with(object: &str, fields: &str) -> String {
    format!("{},{fields}}}", object.strip_suffix('}').unwrap_or(object))
}
