//! Answers: bodies with their headers, refusals, and the id that each answer carries.

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderName, HeaderValue, StatusCode, header};

use crate::api::error::ApiError;
use crate::api::messages;

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The name under which Anthropic's clients look for it.
static ANTHROPIC_REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
static WARNING: HeaderName = HeaderName::from_static("x-sluice-warning");

/// Paths below which Messages is spoken.
const MESSAGES: &str = "/v1/messages";

/// A JSON answer.
pub(super) fn json(status: u16, body: String) -> Response {
    typed(status, "application/json", Body::from(body))
}

/// An object of a protocol as JSON.
pub(super) fn to_json(object: &impl serde::Serialize) -> String {
    serde_json::to_string(object).expect("protocol types serialise")
}

/// An answer of any type.
pub(super) fn typed(status: u16, content_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// The error object with its status; where waiting helps, it says how long.
pub(super) fn refuse(error: &ApiError) -> Response {
    let mut response = json(error.status, error.body());
    if let Some(seconds) = error.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response.extensions_mut().insert(error.clone());
    response
}

/// Names what was ignored in the request, so that nobody has to guess.
pub(super) fn warn(response: &mut Response, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    let text: String = warnings.join("; ").chars().take(1024).collect();
    if let Ok(value) = HeaderValue::from_str(&text) {
        response.headers_mut().insert(&WARNING, value);
    }
}

/// The id of one request; in its log lines and in its answer.
#[derive(Clone)]
pub(super) struct RequestId(pub(super) String);

impl RequestId {
    /// A new one.
    pub(super) fn random() -> Self {
        Self(format!("req_{}", crate::random::hex::<12>()))
    }
}

/// The layer: takes the client's `x-request-id` where it is a short plain word, else makes one; every answer carries it.
pub(super) async fn identify(mut request: Request, next: Next) -> Response {
    let given = request.headers().get(&REQUEST_ID).and_then(|value| value.to_str().ok());
    let id = match given {
        Some(id) if is_plain(id) => RequestId(id.to_owned()),
        _ => RequestId::random(),
    };
    request.extensions_mut().insert(id.clone());
    let RequestId(id) = id;
    let anthropic = request.uri().path().starts_with(MESSAGES);
    let mut response = next.run(request).await;
    if anthropic {
        speak_anthropic(&mut response, &id);
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(&REQUEST_ID, value);
    }
    response
}

/// Refusals are made in many places, most of which know no protocol: those of Messages' routes get its words here.
fn speak_anthropic(response: &mut Response, id: &str) {
    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        *response.body_mut() = Body::from(messages::error_body(&error, id));
    }
    if let Ok(value) = HeaderValue::from_str(id) {
        response.headers_mut().insert(&ANTHROPIC_REQUEST_ID, value);
    }
}

fn is_plain(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}
