//! The end of a running response's reasoning, which its client asks for: over HTTP, or as
//! `response.end_reasoning` over a WebSocket.

use bytes::Bytes;
use serde_json::json;

use super::fields;
use super::lane::{StreamId, of_lane, to_bytes};
use crate::error::ApiError;
use crate::json::{Field, JsonObject, Required};
use model::NotStopped;

/// The response that the event is for.
const RESPONSE_ID: Required<&str> = Field::new("response_id", "").required();

/// The response that a `response.end_reasoning` names.
pub(super) fn read(body: &JsonObject<'_>) -> Result<String, ApiError> {
    let known = [fields::TYPE.row().name, RESPONSE_ID.row().name, "stream_id"];
    if let Some((name, _)) = body.fields().find(|(name, _)| !known.contains(name)) {
        return Err(body.path.field(name).invalid("response.end_reasoning has type and response_id only"));
    }
    Ok(body.require(RESPONSE_ID)?.to_owned())
}

/// `response.end_reasoning.accepted`
pub fn accepted(response: &str, lane: Option<&StreamId>) -> Bytes {
    let event = json!({
        "type": "response.end_reasoning.accepted",
        "sequence_number": 0,
        "response_id": response,
    });
    of_lane(to_bytes(&event), lane)
}

/// 409: the response goes on as it does.
pub fn refusal(why: NotStopped) -> ApiError {
    let (code, message) = match why {
        NotStopped::NotReasoning => (
            "response_not_reasoning",
            "The response isn't reasoning: it hasn't begun to, or has ended its reasoning.".to_owned(),
        ),
        NotStopped::Unsupported => ("reasoning_not_endable", format!("The response goes on: {why}.")),
    };
    ApiError::new(409, "invalid_request_error", code, message)
}

/// 404: a socket runs no response of this id.
pub fn unknown() -> ApiError {
    let message = "No response with this id runs on this WebSocket.";
    ApiError::new(404, "invalid_request_error", "response_not_found", message)
}
