//! Middleware that checks API keys: if any key is set, every route behind it requires one.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;

use crate::accept::app::App;
use crate::accept::keys::PresentedKey;
use crate::http::answer::refuse;
use api::error::ApiError;

/// Middleware: `Authorization: Bearer KEY` (or `x-api-key: KEY`), else 401. A request that passes
/// carries its principal.
pub(crate) async fn require_key(State(app): State<App>, mut request: Request, next: Next) -> Response {
    if !app.access.keys.is_empty() {
        let known = |key: &[u8]| {
            let key = PresentedKey::new(key);
            app.access.keys.owner(&key).map(|owner| (owner, key))
        };
        let Some((principal, key)) = presented(&request).find_map(known) else {
            return refuse(&ApiError::unauthorised());
        };
        request.extensions_mut().insert(principal);
        request.extensions_mut().insert(key);
    }
    next.run(request).await
}

/// Keys in a request's headers: some clients send a gateway's token in one header and the key in
/// the other.
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
    fn the_bearer_scheme_is_read_in_any_case() {
        assert_eq!(bearer(b"Bearer k"), Some(&b"k"[..]));
        assert_eq!(bearer(b"bearer  k "), Some(&b"k"[..]));
        assert_eq!(bearer(b"Basic k"), None);
        assert_eq!(bearer(b""), None);
    }
}
