//! API keys: every route but `/health` needs one when any is set. Compared as digests, in constant time.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use super::answer::refuse;
use super::app::App;
use crate::accounts::Principal;
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

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whose key this is, if it is one of them. All are compared, whichever matches.
    fn principal(&self, key: &[u8]) -> Option<Principal> {
        let digest: [u8; 32] = Sha256::digest(key).into();
        let (mut found, mut whose) = (Choice::from(0), 0_u64);
        for (place, known) in (0..).zip(&self.0) {
            let same = known.ct_eq(&digest);
            whose.conditional_assign(&place, same);
            found |= same;
        }
        bool::from(found).then(|| Principal(usize::try_from(whose).expect("it is a place in a list")))
    }
}

/// The layer: `Authorization: Bearer KEY` (or `x-api-key: KEY`), else 401. The request then carries its principal.
pub(super) async fn require_key(State(app): State<App>, mut request: Request, next: Next) -> Response {
    if !app.access.keys.is_empty() {
        let Some(principal) = presented(&request).find_map(|key| app.access.keys.principal(key)) else {
            return refuse(&ApiError::unauthorised());
        };
        request.extensions_mut().insert(principal);
    }
    next.run(request).await
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
        assert_eq!(keys.principal(b"secret-1"), Some(Principal(0)));
        assert_eq!(keys.principal(b"secret-2"), Some(Principal(1)));
        for wrong in ["", "secret", "secret-11", "Secret-1"] {
            assert_eq!(keys.principal(wrong.as_bytes()), None, "{wrong:?}");
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
