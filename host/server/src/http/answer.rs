//! Builders of answers: bodies with their headers, refusals, and the request id that each answer
//! carries.

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use api::error::ApiError;
use api::event_names::{EventNames, RELEASE_HEADER};
use api::messages;

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Header under which Anthropic's clients look for the request id.
static ANTHROPIC_REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
static WARNING: HeaderName = HeaderName::from_static("x-sluice-warning");

/// Path below which answers are in the Messages protocol.
const MESSAGES: &str = "/v1/messages";
/// Path below which they are for clients that speak it.
const MODELS: &str = "/v1/models";

/// A JSON answer.
pub(crate) fn json(status: u16, body: String) -> Response {
    typed(status, "application/json", Body::from(body))
}

/// An object of a protocol as JSON.
pub(crate) fn to_json(object: &impl serde::Serialize) -> String {
    serde_json::to_string(object).expect("protocol types serialise")
}

/// An answer of any content type.
pub(crate) fn typed(status: u16, content_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// The error object with its status, and with `Retry-After` if waiting helps.
pub(crate) fn refuse(error: &ApiError) -> Response {
    let mut response = json(error.status, error.body());
    if let Some(seconds) = error.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response.extensions_mut().insert(error.clone());
    response
}

/// A refusal, as the error of a handler.
pub(crate) struct Refused(ApiError);

impl From<ApiError> for Refused {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        refuse(&self.0)
    }
}

/// What a handler makes, or its refusal.
pub(crate) type Answered = Result<Response, Refused>;

/// Adds a header that names the ignored parts of the request.
pub(crate) fn warn(response: &mut Response, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    // A header has no other characters; a field's name may.
    let shown = |char: char| if matches!(char, ' '..='~') { char } else { '?' };
    let text: String = warnings.join("; ").chars().map(shown).take(1024).collect();
    if let Ok(value) = HeaderValue::from_str(&text) {
        response.headers_mut().insert(&WARNING, value);
    }
}

/// Id of one request, in its log lines and its answer.
#[derive(Clone)]
pub(crate) struct RequestId(pub(crate) String);

impl RequestId {
    /// Makes a random id.
    pub(crate) fn random() -> Self {
        Self(format!("req_{}", system::random::hex::<12>()))
    }
}

/// Middleware: uses the client's `x-request-id` if it is short and plain, else makes one; every
/// answer carries it.
pub(crate) async fn identify(mut request: Request, next: Next) -> Response {
    let given = request.headers().get(&REQUEST_ID).and_then(|value| value.to_str().ok());
    let id = match given {
        Some(id) if is_plain(id) => RequestId(id.to_owned()),
        _ => RequestId::random(),
    };
    request.extensions_mut().insert(id.clone());
    let RequestId(id) = id;
    let path = request.uri().path();
    let anthropic =
        path.starts_with(MESSAGES) || path.starts_with(MODELS) && is_anthropics(request.headers());
    let mut response = next.run(request).await;
    if anthropic {
        speak_anthropic(&mut response, &id);
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(&REQUEST_ID, value);
    }
    response
}

/// Whether a client of Anthropic's API asks, as its SDKs say with each request.
pub(crate) fn is_anthropics(headers: &HeaderMap) -> bool {
    headers.contains_key("anthropic-version")
}

/// Whose names of events the client knows.
pub(crate) fn event_names(headers: &HeaderMap) -> EventNames {
    let release = headers.get(RELEASE_HEADER).and_then(|release| release.to_str().ok());
    release.map_or_else(EventNames::default, EventNames::of_release)
}

/// Rewrites refusals for clients of Messages. Refusals are made in many places, most of which don't
/// know the protocol.
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
