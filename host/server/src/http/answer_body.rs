//! Body of an answer, with what is kept until hyper has taken all of it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body, Frame, SizeHint};

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

/// A body, and what is dropped with it: a connection's mark, or an account.
pub(crate) struct AnswerBody<B, K> {
    pub(crate) body: B,
    pub(crate) _kept: K,
}

impl<B: Body + Unpin, K: Unpin> Body for AnswerBody<B, K> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
