//! Body of an answer that may be large: the account pays for it until it is sent, since a client
//! that reads slowly holds it as long as it likes.

use axum::body::{Body, Bytes};
use axum::response::Response;
use http_body_util::Full;

use crate::http::answer::typed;
use crate::http::answer_body::AnswerBody;
use accounts::Account;

/// A JSON answer whose bytes `account` pays for until they are sent.
pub(crate) fn held_json(json: Vec<u8>, account: Account) -> Response {
    held("application/json", json, account)
}

/// An answer of this type whose bytes `account` pays for until they are sent.
pub(crate) fn held(kind: &'static str, bytes: Vec<u8>, account: Account) -> Response {
    typed(200, kind, Body::new(AnswerBody { body: Full::<Bytes>::new(bytes.into()), _kept: account }))
}
