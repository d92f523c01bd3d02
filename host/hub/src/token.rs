//! The token that says to the hub whose requests they are.

use http::HeaderValue;

use super::HubError;
use super::cache::{home, variable};
use system::bounded::{self, SETTINGS_BYTES};

/// Token of an account.
pub(super) struct Token {
    pub(super) header: HeaderValue,
    /// Where it is from.
    pub(super) origin: String,
}

impl Token {
    /// The token of `HF_TOKEN`, or the one that Hugging Face's own tools keep.
    pub(super) fn from_environment() -> Result<Option<Self>, HubError> {
        let file = variable("HF_TOKEN_PATH").map_or_else(|| home().join("token"), Into::into);
        let (text, origin) = match variable("HF_TOKEN") {
            Some(token) => (token.to_string_lossy().into_owned(), "HF_TOKEN".to_owned()),
            None => (bounded::text(&file, SETTINGS_BYTES).unwrap_or_default(), file.display().to_string()),
        };
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        let header = HeaderValue::from_str(&format!("Bearer {text}"));
        let mut header = header
            .map_err(|_| HubError::Settings(format!("{origin} holds no token: expected plain characters")))?;
        header.set_sensitive(true);
        Ok(Some(Self { header, origin }))
    }
}
