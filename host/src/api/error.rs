//! OpenAI's error object, the one shape in which anything is refused.

use serde::Serialize;

/// A refusal: an HTTP status and what stands in `error`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// HTTP status.
    pub status: u16,
    /// One or two sentences: what is wrong, where, what to do. No addresses, paths or request text beyond names.
    pub message: String,
    /// `invalid_request_error`, `authentication_error`, `rate_limit_error`, `server_error`, …
    pub kind: &'static str,
    /// The parameter at fault, as a path (`input[2].content`).
    pub param: Option<String>,
    /// A code that programs can match, e.g. `model_not_found`, `context_length_exceeded`.
    pub code: Option<&'static str>,
}

/// The `error` object inside the body.
#[derive(Debug, Serialize)]
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
            message: message.into(),
            kind: "invalid_request_error",
            param: param.into(),
            code: None,
        }
    }

    /// The same with a code.
    #[must_use]
    pub fn with_code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// The JSON body.
    pub fn body(&self) -> String {
        let error = ErrorObject {
            message: &self.message,
            kind: self.kind,
            param: self.param.as_deref(),
            code: self.code,
        };
        serde_json::json!({ "error": error }).to_string()
    }
}
