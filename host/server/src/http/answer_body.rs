//! Body of an answer, which marks its connection as busy until hyper has taken all of it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};

use crate::http::socket::Link;

/// Mark of a connection whose request is being answered, removed when it is dropped. HTTP/1.1
/// answers one request at a time.
pub(crate) struct Busy(Arc<Link>);

impl Busy {
    pub(crate) fn new(link: Arc<Link>) -> Self {
        link.waiting.begin();
        Self(link)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.waiting.end();
    }
}

/// A body and its connection's mark.
pub(crate) struct AnswerBody {
    pub(crate) body: Body,
    pub(crate) _busy: Busy,
}

impl hyper::body::Body for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
