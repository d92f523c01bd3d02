//! What hyper writes, on its way to the socket. The empty answers that hyper makes to heads that it
//! can't read get an error object as their body, and small parts are joined.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::http::head_fault;
use crate::http::socket::Link;

/// Size up to which the parts of a write are copied into one buffer, in bytes.
const JOINED: usize = 1 << 10;

/// A connection as hyper's reader and writer.
pub(crate) struct OwnAnswers<S> {
    stream: S,
    link: Arc<Link>,
    /// Answer sent in place of hyper's own; the bytes that are still to be written.
    replaced: Bytes,
    /// Buffer in which small writes of several parts are joined: that costs less than a vectored
    /// write of the parts.
    joined: Vec<u8>,
}

impl<S: AsyncWrite + Unpin> OwnAnswers<S> {
    pub(crate) fn new(stream: S, link: Arc<Link>) -> Self {
        Self { stream, link, replaced: Bytes::new(), joined: Vec::new() }
    }

    /// Replaces an answer that hyper made by itself; false if `written` is one of this server's
    /// answers.
    fn replace(&mut self, written: &[u8]) -> bool {
        let Some(answer) = head_fault::answer(written) else { return false };
        self.link.refused_head.store(true, Ordering::Relaxed);
        self.replaced = answer;
        true
    }

    fn send_replaced(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.replaced.has_remaining() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.replaced))?;
            self.replaced.advance(written);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for OwnAnswers<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for OwnAnswers<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.replace(buf) {
            return Poll::Ready(Ok(buf.len()));
        }
        ready!(self.send_replaced(cx))?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [only] = bufs
            && self.replace(only)
        {
            return Poll::Ready(Ok(only.len()));
        }
        ready!(self.send_replaced(cx))?;
        let size: usize = bufs.iter().map(|part| part.len()).sum();
        if size > JOINED {
            return Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        }
        let Self { stream, joined, .. } = &mut *self;
        joined.clear();
        for part in bufs {
            joined.extend_from_slice(part);
        }
        Pin::new(stream).poll_write(cx, joined)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.send_replaced(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.send_replaced(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
