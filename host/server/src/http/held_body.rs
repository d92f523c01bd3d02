//! Body of an answer that may be large: the account pays for it until it is sent, since a client
//! that reads slowly holds it as long as it likes.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::response::Response;
use http_body_util::Full;
use hyper::body::{Frame, SizeHint};

use crate::http::answer::typed;
use accounts::Account;

/// A JSON answer whose bytes `account` pays for until they are sent.
pub(crate) fn held_json(json: Vec<u8>, account: Account) -> Response {
    held("application/json", json, account)
}

/// An answer of this type whose bytes `account` pays for until they are sent.
pub(crate) fn held(kind: &'static str, bytes: Vec<u8>, account: Account) -> Response {
    typed(200, kind, Body::new(HeldBody { body: Full::new(bytes.into()), _account: account }))
}

struct HeldBody {
    body: Full<Bytes>,
    _account: Account,
}

impl hyper::body::Body for HeldBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
