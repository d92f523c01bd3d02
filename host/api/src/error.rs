//! `OpenAI`'s error object, in which all refusals are made. (Routes of Messages rewrite it at the
//! end.)

use schemars::JsonSchema;
use serde::Serialize;

use net::printable::MESSAGE_BYTES;
use net::printable::{Escaped, printable, shortened};
use turn::TurnFailure;

/// Served models that a message names, and how many bytes of a name: a message holds that much.
const SHOWN_NAMES: usize = 16;
const SHOWN_NAME_BYTES: usize = 112;

/// Maximum size of the path of a parameter, in bytes.
const PARAM_BYTES: usize = 512;

/// A refusal: an HTTP status and the fields of `error`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// HTTP status.
    pub status: u16,
    /// One or two sentences, cut at `MESSAGE_BYTES`: what is wrong, where, what to do. No
    /// addresses, paths or request text beyond names.
    pub message: String,
    /// `invalid_request_error`, `authentication_error`, `rate_limit_error`, `server_error`, …
    pub kind: &'static str,
    /// The parameter at fault, as a path (`input[2].content`).
    pub param: Option<String>,
    /// A code that programs can match, e.g. `model_not_found`, `context_length_exceeded`.
    pub code: Option<&'static str>,
    /// Seconds after which trying again may help.
    pub retry_after: Option<u64>,
}

/// What wraps it.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ErrorBody")]
struct Envelope<'a> {
    error: ErrorObject<'a>,
}

/// The `error` object inside the body.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Error")]
struct ErrorObject<'a> {
    message: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    param: Option<&'a str>,
    code: Option<&'a str>,
}

impl ApiError {
    /// 400, the request is wrong at `param`.
    pub fn invalid(param: impl Into<Option<String>>, message: impl Into<String>) -> Self {
        Self {
            status: 400,
            message: shortened(message, MESSAGE_BYTES),
            kind: "invalid_request_error",
            param: param.into().map(|param| shortened(param, PARAM_BYTES)),
            code: None,
            retry_after: None,
        }
    }

    /// This error with another code.
    #[must_use]
    pub fn with_code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// 400: a request for a WebSocket has a body.
    pub fn upgrade_with_body() -> Self {
        let message = "A request that asks for a WebSocket can't have a body: send what is in it as the socket's first message.";
        Self::new(400, "invalid_request_error", "malformed_request", message)
    }

    /// 401: no key, or not the right one.
    pub fn unauthorised() -> Self {
        let message = "Missing or wrong API key: send it as `Authorization: Bearer KEY` or `x-api-key: KEY`.";
        Self::new(401, "authentication_error", "invalid_api_key", message)
    }

    /// 403: a request to a host name that the operator doesn't allow.
    pub fn host_not_allowed(host: &str) -> Self {
        let host = printable(host);
        let message = format!(
            "Requests to the host `{host}` are refused: use localhost, or start the server with --allow-host and that name."
        );
        Self::new(403, "permission_error", "host_not_allowed", message)
    }

    /// 403: a request from a web page whose origin the operator doesn't allow.
    pub fn origin_not_allowed(origin: &str) -> Self {
        let origin = printable(origin);
        let message = format!(
            "Requests of pages from `{origin}` are refused: start the server with --allow-host and the host of that origin if it is this server's own name, or with --cors-origin and that origin to open the models to its pages."
        );
        Self::new(403, "permission_error", "origin_not_allowed", message)
    }

    /// 403: a list of what is stored, where all clients are one owner.
    pub fn listing_not_allowed() -> Self {
        let message = "Nothing that is stored is listed: the server has no API keys, and others can reach its address. Read it by its id, or start the server with --api-key.";
        Self::new(403, "permission_error", "listing_not_allowed", message)
    }

    /// 400: the path's percent-encoding isn't UTF-8.
    pub fn unreadable_path() -> Self {
        let message = "The path is not UTF-8 once its percent-encoding is undone: encode names as UTF-8.";
        Self::new(400, "invalid_request_error", "invalid_path", message)
    }

    /// A request head that can't be read. `status` is 431 or 414 where the head is too large, else 400.
    pub fn unreadable_head(status: u16) -> Self {
        let (code, message) = match status {
            431 => (
                "header_too_large",
                "The request has too many headers, or they are too large: send fewer, or raise --max-headers or --max-header.",
            ),
            414 => ("uri_too_long", "The request's target is too long: send a shorter one."),
            _ => (
                "malformed_request",
                "The request's first line or one of its headers is not HTTP/1.1: send it as RFC 9112 has it.",
            ),
        };
        Self::new(status, "invalid_request_error", code, message)
    }

    /// 413: the body has more than `limit` bytes.
    pub fn too_large(limit: usize) -> Self {
        let message = format!(
            "The request body is larger than {limit} bytes (--max-body): leave out old images and results of tools, continue a stored response (`previous_response_id`), or compact the conversation."
        );
        Self::new(413, "invalid_request_error", "request_too_large", message)
    }

    /// 415: the body isn't declared as JSON, or its encoding is unknown. `expected` is the message,
    /// which says what to send.
    pub fn unsupported_media_type(expected: &str) -> Self {
        let message = expected;
        Self::new(415, "invalid_request_error", "unsupported_media_type", message)
    }

    /// 404: no model is served under this name, but under those of `served`.
    pub fn model_not_found<'a>(model: &str, served: impl Iterator<Item = &'a str>) -> Self {
        let served = name_one_of(served);
        let message = format!("The model `{}` is not served here: {served}.", printable(model));
        Self {
            param: Some("model".to_owned()),
            ..Self::new(404, "invalid_request_error", "model_not_found", message)
        }
    }

    /// 400: several models are served and the request names none.
    pub fn model_missing<'a>(served: impl Iterator<Item = &'a str>) -> Self {
        let served = name_one_of(served);
        let message = format!("model: missing: several models are served here, {served}");
        Self::invalid("model".to_owned(), message).with_code("missing_required_parameter")
    }

    /// 404: an item of the input refers to one that isn't stored. Another owner's item is as unknown
    /// as one that never was.
    pub fn item_not_found(id: &str) -> Self {
        let message = format!(
            "Item with id '{}' not found. It is unknown, was deleted, or its response had `store: false`: send the item itself.",
            printable(id)
        );
        let error = Self::new(404, "invalid_request_error", "not_found", message);
        Self { param: Some("input".to_owned()), ..error }
    }

    /// 400: two items of a conversation have one id.
    pub fn duplicate_item(id: &str) -> Self {
        let message = format!(
            "Duplicate item found with id {}: the model would read it twice. Send it once, and nothing that is continued already.",
            printable(id)
        );
        Self::invalid("input".to_owned(), message).with_code("invalid_value")
    }

    /// 429: too many requests wait. The client may try again after `seconds`, which the header
    /// `Retry-After` repeats.
    pub fn rate_limited(seconds: u64) -> Self {
        let message = format!("Too many requests are waiting. Please try again in {seconds}s.");
        let error = Self::new(429, "rate_limit_error", "rate_limit_exceeded", message);
        Self { retry_after: Some(seconds), ..error }
    }

    /// 503: the server is starting or stopping.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self { retry_after: Some(1), ..Self::new(503, "server_error", "server_unavailable", message) }
    }

    /// 500: a fault of this server; the log says more.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "server_error", "server_error", message)
    }

    /// The error of a turn that failed. Non-streaming clients get it as their answer.
    pub fn turn(failure: &TurnFailure) -> Self {
        let (status, kind) = match failure.code {
            "context_length_exceeded"
            | "invalid_prompt"
            | TurnFailure::CONSTRAINT_TOO_COMPLEX
            | TurnFailure::CONSTRAINT_TOO_SLOW
            | TurnFailure::CONSTRAINT_UNSATISFIABLE
            | TurnFailure::REPLAY_MISMATCH => (400, "invalid_request_error"),
            "rate_limit_exceeded" => (429, "rate_limit_error"),
            CANCELLED => (503, "server_error"),
            _ => (500, "server_error"),
        };
        let retry_after = matches!(status, 429 | 503).then_some(1);
        Self { retry_after, ..Self::new(status, kind, failure.code, failure.message.clone()) }
    }

    /// The failure of a turn with this code and message, for an answer that has begun already.
    pub fn into_failure(self) -> TurnFailure {
        let code = match (self.code, self.status) {
            (Some(code), _) => code,
            (None, 400..500) => "invalid_prompt",
            (None, _) => "server_error",
        };
        TurnFailure { code, message: self.message }
    }

    /// The error of an HTTP status, with the protocol's kind and code; a long message is cut.
    pub fn new(status: u16, kind: &'static str, code: &'static str, message: impl Into<String>) -> Self {
        let message = shortened(message, MESSAGE_BYTES);
        Self { status, message, kind, param: None, code: Some(code), retry_after: None }
    }

    /// The JSON body.
    ///
    /// # Panics
    /// Never: strings serialise.
    pub fn body(&self) -> String {
        serde_json::to_string(&self.envelope()).expect("strings serialise")
    }

    /// `{"error": …}`, for bodies, and for streams whose protocol has no error event of its own.
    pub(crate) fn envelope(&self) -> impl Serialize + '_ {
        Envelope {
            error: ErrorObject {
                message: &self.message,
                kind: self.kind,
                param: self.param.as_deref(),
                code: self.code,
            },
        }
    }
}

/// Schema of the body.
pub(crate) fn body_schema(generator: &mut schemars::SchemaGenerator) -> serde_json::Value {
    generator.subschema_for::<Envelope<'_>>().to_value()
}

/// Code of a turn that was cancelled because the server stops.
const CANCELLED: &str = "server_unavailable";

/// The failure of an answer whose end couldn't be stored: it isn't sent as one that could be read
/// again.
pub fn not_stored() -> TurnFailure {
    TurnFailure {
        code: "server_error",
        message:
            "The answer could not be stored: send the request again, with `store: false` if it needn't be."
                .to_owned(),
    }
}

/// The failure that clients get for a cancelled turn, so that they don't take the text so far for a
/// complete answer.
pub(crate) fn cancelled() -> TurnFailure {
    TurnFailure {
        code: CANCELLED,
        message:
            "The answer was stopped before its end because the server is stopping: send the request again."
                .to_owned(),
    }
}

/// What to do where none of the served models was named: their names, the first few.
fn name_one_of<'a>(served: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<String> =
        served.map(|name| format!("`{}`", Escaped(shortened(name, SHOWN_NAME_BYTES)))).collect();
    if names.len() > SHOWN_NAMES {
        let more = names.len() - SHOWN_NAMES;
        names.truncate(SHOWN_NAMES);
        names.push(format!("and {more} more (GET /v1/models)"));
    }
    format!("name one of {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ApiError, cancelled};

    #[test]
    fn every_refusal_has_openais_shape() {
        let all = [
            (401, ApiError::unauthorised()),
            (403, ApiError::host_not_allowed("a")),
            (403, ApiError::origin_not_allowed("http://a")),
            (403, ApiError::listing_not_allowed()),
            (400, ApiError::unreadable_path()),
            (400, ApiError::unreadable_head(400)),
            (414, ApiError::unreadable_head(414)),
            (431, ApiError::unreadable_head(431)),
            (404, ApiError::not_found("GET", "/v2")),
            (405, ApiError::method_not_allowed("PUT", "POST")),
            (413, ApiError::too_large(5)),
            (415, ApiError::unsupported_media_type("x")),
            (404, ApiError::model_not_found("gpt", ["a"].into_iter())),
            (400, ApiError::model_missing(["a"].into_iter())),
            (429, ApiError::rate_limited(2)),
            (503, ApiError::unavailable("x")),
            (500, ApiError::internal("x")),
            (503, ApiError::turn(&cancelled())),
            (400, ApiError::invalid(None, "x")),
        ];
        for (status, error) in all {
            assert_eq!(error.status, status);
            let body: Value = serde_json::from_str(&error.body()).unwrap();
            let fields: Vec<&String> = body["error"].as_object().unwrap().keys().collect();
            assert_eq!(fields, ["message", "type", "param", "code"]);
        }
    }

    #[test]
    fn a_missing_model_can_be_matched_by_programs() {
        let error = ApiError::model_not_found("a\u{7}b", ["x", "y\n"].into_iter());
        let body: Value = serde_json::from_str(&error.body()).unwrap();
        assert_eq!(body["error"]["code"], json!("model_not_found"));
        assert_eq!(
            body["error"]["message"],
            json!("The model `a?b` is not served here: name one of `x`, `y\\u{a}`.")
        );
    }

    #[test]
    fn of_many_models_a_message_names_the_first() {
        let names: Vec<String> = (0..1000).map(|number| format!("model-{number}")).collect();
        let error = ApiError::model_missing(names.iter().map(String::as_str));
        assert!(error.message.contains("`model-0`, `model-1`, "), "{}", error.message);
        assert!(error.message.ends_with("`model-15`, and 984 more (GET /v1/models)"), "{}", error.message);
    }
}
