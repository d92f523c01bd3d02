//! The upgrade of a request to a WebSocket (RFC 6455, 4.2). Extensions and subprotocols that a
//! client offers are declined.

use axum::body::HttpBody as _;
use axum::extract::{Request, State};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    ALLOW, CONNECTION, HeaderName, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Version};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::accept::app::App;
use crate::accept::caller::session_of;
use crate::accept::keys::PresentedKey;
use crate::http::answer::{event_names, refuse};
use crate::http::connection::{Disconnect, Upgrade};
use crate::ws::session;
use crate::ws::turn::Client;
use accounts::Principal;
use api::error::ApiError;

/// The version of the WebSocket protocol.
const VERSION: &str = "13";

/// The handler of `GET /v1/responses`: 101, and the connection becomes a socket. Where sockets are
/// switched off, 426: clients then turn to `POST` at once, while they try again after 405.
pub(crate) async fn upgrade(State(app): State<App>, request: Request) -> Response {
    if request.method() != Method::GET || !request.headers().contains_key(UPGRADE) {
        let mut response =
            refuse(&ApiError::method_not_allowed(request.method().as_str(), "POST, or GET for a WebSocket"));
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
        return response;
    }
    if app.access.no_web_socket {
        return upgrade_required(&ApiError::no_web_socket(), "HTTP/1.1");
    }
    let proper = check_empty(&request).and_then(|()| app.access.check_page(request.headers()));
    match proper.and_then(|()| accept_key(&request)) {
        Ok(key) => switch(app, request, &key),
        Err(error) if error.status == 426 => {
            let mut response = upgrade_required(&error, "websocket");
            response.headers_mut().insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static(VERSION));
            response
        }
        Err(error) => refuse(&error),
    }
}

/// 426 with the header that it requires (RFC 9110, 15.5.22): what the client has to speak.
fn upgrade_required(error: &ApiError, protocol: &'static str) -> Response {
    let mut response = refuse(error);
    response.headers_mut().insert(UPGRADE, HeaderValue::from_static(protocol));
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
    response
}

/// Refuses a body: its bytes would be read as the socket's first ones.
fn check_empty(request: &Request) -> Result<(), ApiError> {
    if request.body().is_end_stream() { Ok(()) } else { Err(ApiError::upgrade_with_body()) }
}

/// The value of `Sec-WebSocket-Accept` for a proper request.
fn accept_key(request: &Request) -> Result<String, ApiError> {
    let headers = request.headers();
    let speaks = request.version() == Version::HTTP_11
        && has_token(headers, &UPGRADE, "websocket")
        && has_token(headers, &CONNECTION, "upgrade");
    let version = headers.get(SEC_WEBSOCKET_VERSION).is_some_and(|version| version == VERSION);
    if !speaks || !version {
        return Err(ApiError::bad_upgrade());
    }
    let key = headers.get(SEC_WEBSOCKET_KEY).map(HeaderValue::as_bytes).unwrap_or_default();
    let is_key = STANDARD.decode(key).is_ok_and(|key| key.len() == 16);
    is_key.then(|| derive_accept_key(key)).ok_or_else(ApiError::bad_web_socket_key)
}

/// Whether a header that is a list has this token, in any case.
fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|given| given.trim().eq_ignore_ascii_case(token))
}

fn switch(app: App, mut request: Request, key: &str) -> Response {
    let extensions = request.extensions();
    let (Some(upgrade), Some(Disconnect(disconnect)), Ok(accept)) = (
        extensions.get::<Upgrade>().cloned(),
        extensions.get::<Disconnect>().cloned(),
        HeaderValue::from_str(key),
    ) else {
        return refuse(&ApiError::internal("The server failed to upgrade this connection."));
    };
    let principal = extensions.get::<Principal>().cloned().unwrap_or_default();
    let key = extensions.get::<PresentedKey>().cloned();
    let session = session_of(request.headers());
    let client = Client { principal, key, session, names: event_names(request.headers()) };
    let upgraded = hyper::upgrade::on(&mut request);
    upgrade.to(async move {
        match upgraded.await {
            Ok(io) => session::serve(app, client, TokioIo::new(io), disconnect).await,
            Err(error) => tracing::debug!(%error, "a connection was not upgraded"),
        }
    });
    let mut response = Response::default();
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    response
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn request(pairs: &[(&'static str, &'static str)]) -> Request {
        let mut request = Request::new(Body::empty());
        for (name, value) in pairs {
            request.headers_mut().append(*name, HeaderValue::from_static(value));
        }
        request
    }

    const KEY: (&str, &str) = ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    const PROPER: [(&str, &str); 4] = [
        ("upgrade", "h2c, WebSocket"),
        ("connection", "keep-alive, Upgrade"),
        ("sec-websocket-version", "13"),
        KEY,
    ];

    #[test]
    fn the_accepted_key_is_that_of_the_standard() {
        let key = accept_key(&request(&PROPER));
        assert_eq!(key.as_deref(), Ok("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    }

    #[test]
    fn a_request_without_its_parts_is_refused() {
        for missing in 0..PROPER.len() {
            let mut pairs = PROPER.to_vec();
            let (name, _) = pairs.remove(missing);
            let status = accept_key(&request(&pairs)).map_err(|error| error.status);
            assert_eq!(status, Err(if name == KEY.0 { 400 } else { 426 }), "{name}");
        }
        let short = [&PROPER[..3], &[(KEY.0, "c2hvcnQ=")]].concat();
        assert_eq!(accept_key(&request(&short)).map_err(|error| error.status), Err(400));
    }
}
