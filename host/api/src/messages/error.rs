//! Anthropic's error object. Refusals are made as [`ApiError`]s in all protocols; here they get the
//! shape of this one.

use schemars::JsonSchema;
use serde::Serialize;

use super::fields::{ALREADY_CONTINUED, IN_FLIGHT, MISMATCH, NO_THREADS, THREAD_NOT_FOUND};
use crate::error::ApiError;
use net::printable::printable;
use turn::TurnFailure;

/// `{"type": "error", "error": {"type", "message"}, "request_id"}`.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "MessagesErrorBody")]
struct Envelope<'a> {
    #[serde(rename = "type")]
    #[schemars(extend("const" = "error"))]
    kind: &'static str,
    error: ErrorObject<'a>,
    request_id: &'a str,
}

/// What stands in `error`, in bodies and in `error` events.
#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
#[schemars(rename = "MessagesError")]
pub(super) struct ErrorObject<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) message: &'a str,
    /// What programs act on, where the protocol has a code for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details>,
}

#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
#[schemars(rename = "MessagesErrorDetails")]
struct Details {
    error_code: &'static str,
}

/// Codes of this server's refusals that are codes of this protocol, too.
const CODES: [&str; 5] = [NO_THREADS, THREAD_NOT_FOUND, ALREADY_CONTINUED, IN_FLIGHT, MISMATCH];

impl<'a> ErrorObject<'a> {
    /// An error whose type follows from the HTTP status, as it does at Anthropic; 503 says that the
    /// server has no room now.
    pub(super) fn new(status: u16, message: &'a str) -> Self {
        let kind = match status {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            408 | 504 => "timeout_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            503 | 529 => "overloaded_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        };
        Self { kind, message, details: None }
    }

    /// A refusal.
    fn of(error: &'a ApiError) -> Self {
        let code = error.code.filter(|code| CODES.contains(code));
        let details = code.map(|error_code| Details { error_code });
        Self { details, ..Self::new(error.status, &error.message) }
    }
}

/// The body of a refusal.
///
/// # Panics
/// Never: strings serialise.
pub fn error_body(error: &ApiError, request_id: &str) -> String {
    let error = ErrorObject::of(error);
    serde_json::to_string(&Envelope { kind: "error", error, request_id }).expect("strings serialise")
}

/// Schema of the body.
pub(crate) fn error_schema(generator: &mut schemars::SchemaGenerator) -> serde_json::Value {
    generator.subschema_for::<Envelope<'_>>().to_value()
}

/// The failure of an answer in which the model called `tool` with arguments that aren't a JSON
/// object.
pub(super) fn no_object(tool: &str) -> TurnFailure {
    let tool = printable(tool);
    TurnFailure {
        code: "model_error",
        message: format!(
            "The model called {tool:?} with arguments that are not a JSON object, which `input` has to be. Send the request again."
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::error_body;
    use crate::error::ApiError;

    #[test]
    fn refusals_have_anthropics_shape_and_types() {
        for (error, kind) in [
            (ApiError::unauthorised(), "authentication_error"),
            (ApiError::model_not_found("x", ["y"].into_iter()), "not_found_error"),
            (ApiError::method_not_allowed("GET", "POST"), "invalid_request_error"),
            (ApiError::too_large(1), "request_too_large"),
            (ApiError::rate_limited(1), "rate_limit_error"),
            (ApiError::unavailable("x"), "overloaded_error"),
            (ApiError::internal("x"), "api_error"),
            (ApiError::invalid(None, "x"), "invalid_request_error"),
        ] {
            let body: Value = serde_json::from_str(&error_body(&error, "req_1")).unwrap();
            let expected = json!({ "type": "error", "error": { "type": kind, "message": error.message }, "request_id": "req_1" });
            assert_eq!(body, expected);
        }
    }
}
