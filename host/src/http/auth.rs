//! API keys: every route but `/health` needs one when any is set. Compared as digests, in constant time.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

use super::answer::refuse;
use super::server::App;
use crate::api::error::ApiError;

/// The keys that clients may use; with none, no key is asked for.
#[derive(Clone, Default)]
pub struct Keys(Vec<[u8; 32]>);

impl Keys {
    /// Keeps digests, not the keys. An empty one is no key.
    pub fn new<S: AsRef<str>>(keys: &[S]) -> Self {
        let keys = keys.iter().filter(|key| !key.as_ref().is_empty());
        Self(keys.map(|key| Sha256::digest(key.as_ref().as_bytes()).into()).collect())
    }

    /// Whether no key is asked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `key` is one of them. All are compared, whichever matches.
    fn allow(&self, key: &[u8]) -> bool {
        let digest: [u8; 32] = Sha256::digest(key).into();
        let found = self.0.iter().fold(Choice::from(0), |found, known| found | known.ct_eq(&digest));
        found.into()
    }
}

/// The layer: `Authorization: Bearer KEY` (or `x-api-key: KEY`), else 401.
pub(super) async fn require_key(State(app): State<App>, request: Request, next: Next) -> Response {
    if app.access.keys.is_empty() || presented(&request).any(|key| app.access.keys.allow(key)) {
        return next.run(request).await;
    }
    refuse(&ApiError::unauthorised())
}

/// The keys of a request: some clients send a token for a gateway in one header and the key in the other.
fn presented(request: &Request) -> impl Iterator<Item = &[u8]> {
    let header = |name: &str| request.headers().get(name).map(http::HeaderValue::as_bytes);
    header("authorization").and_then(bearer).into_iter().chain(header("x-api-key"))
}

/// The key in `Bearer KEY`; the scheme's case doesn't matter (RFC 9110, 11.1).
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, key) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(key.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_keys_are_allowed() {
        let keys = Keys::new(&["secret-1", "secret-2"]);
        assert!(keys.allow(b"secret-1") && keys.allow(b"secret-2"));
        for wrong in ["", "secret", "secret-11", "Secret-1"] {
            assert!(!keys.allow(wrong.as_bytes()), "{wrong:?}");
        }
    }

    #[test]
    fn the_bearer_scheme_is_read_in_any_case() {
        assert_eq!(bearer(b"Bearer k"), Some(&b"k"[..]));
        assert_eq!(bearer(b"bearer  k "), Some(&b"k"[..]));
        assert_eq!(bearer(b"Basic k"), None);
        assert_eq!(bearer(b""), None);
    }
}
