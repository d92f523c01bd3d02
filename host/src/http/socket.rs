//! A connection's socket, as hyper reads and writes it.
//!
//! It adds two things. Answers that hyper makes by itself, to heads that it can't read, get the error object for a body. And it tells
//! a client that has only ended its sending side (half-closed) from one that has gone: both look alike, an end of the stream, until
//! something is written, which the second one's kernel answers with a reset.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use super::head_fault;

/// An interim answer (RFC 9110, 15.2): HTTP/1.1 clients skip it, and a client that has gone resets the connection.
const INTERIM: &[u8] = b"HTTP/1.1 102 Processing\r\n\r\n";

/// Bytes of a write that is put together.
const JOINED: usize = 1 << 10;

/// The socket and what its halves tell each other. Used by one task.
pub(super) struct Link {
    pub(super) stream: TcpStream,
    /// A request that allows interim answers waits for its answer's head.
    pub(super) awaits_head: AtomicBool,
    /// All that hyper wrote is in the kernel.
    flushed: AtomicBool,
    /// A head that hyper couldn't read was answered.
    pub(super) refused_head: AtomicBool,
}

impl Link {
    pub(super) fn new(stream: TcpStream) -> Arc<Self> {
        Arc::new(Self {
            stream,
            awaits_head: AtomicBool::new(false),
            flushed: AtomicBool::new(true),
            refused_head: AtomicBool::new(false),
        })
    }

    /// Ready when the client has gone: the connection was reset. `every` is the time between two interim answers, which are sent only
    /// to a client that ended its sending side and waits for the head of an answer.
    pub(super) async fn gone(&self, every: Duration) {
        tokio::select! {
            _ = self.stream.ready(Interest::ERROR) => {}
            () = self.probe(every) => {}
        }
    }

    async fn probe(&self, every: Duration) {
        // The end of the client's stream. `READABLE` would be ready for a second request, too.
        if self.stream.ready(Interest::PRIORITY).await.is_err() {
            return;
        }
        loop {
            if self.awaits_head.load(Ordering::Relaxed)
                && self.flushed.load(Ordering::Relaxed)
                && !self.stream.try_write(INTERIM).is_ok_and(|written| written == INTERIM.len())
            {
                return;
            }
            tokio::time::sleep(every).await;
        }
    }

    /// Takes what is left of a head that was refused, for `time` and within `bytes`: a socket that is closed with unread bytes resets
    /// the connection, and the client never sees why.
    pub(super) async fn linger(&self, time: Duration, bytes: usize) {
        // The client may have gone.
        let _ = socket2::SockRef::from(&self.stream).shutdown(std::net::Shutdown::Write);
        let mut left = bytes;
        let mut buffer = vec![0; 16 << 10];
        let discarding = async {
            while left > 0 && self.stream.readable().await.is_ok() {
                match self.stream.try_read(&mut buffer) {
                    Ok(0) => return,
                    Ok(read) => left = left.saturating_sub(read),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(_) => return,
                }
            }
        };
        // Who is slower has had its chance.
        let _ = tokio::time::timeout(time, discarding).await;
    }
}

/// What hyper holds.
pub(super) struct Socket {
    link: Arc<Link>,
    /// An answer in place of hyper's own, on its way out.
    replaced: Bytes,
    /// Small writes of several parts are put together here: that costs less than the system's reading of a list of them.
    joined: Vec<u8>,
}

impl Socket {
    pub(super) fn new(link: Arc<Link>) -> Self {
        Self { link, replaced: Bytes::new(), joined: Vec::new() }
    }

    /// Takes an answer that hyper made by itself; false if it is one of ours.
    fn replace(&mut self, written: &[u8]) -> bool {
        let Some(answer) = head_fault::answer(written) else { return false };
        self.link.refused_head.store(true, Ordering::Relaxed);
        self.replaced = answer;
        true
    }

    /// Runs `write` when the socket takes bytes, what replaces hyper's answer first.
    fn write<W>(&mut self, cx: &mut Context<'_>, mut write: W) -> Poll<io::Result<usize>>
    where
        W: FnMut(&TcpStream) -> io::Result<usize>,
    {
        ready!(self.send_replaced(cx))?;
        self.link.flushed.store(false, Ordering::Relaxed);
        retry(cx, |cx| self.link.stream.poll_write_ready(cx), || write(&self.link.stream))
    }

    fn send_replaced(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.replaced.has_remaining() {
            let stream = &self.link.stream;
            let written =
                ready!(retry(cx, |cx| stream.poll_write_ready(cx), || stream.try_write(&self.replaced)))?;
            self.replaced.advance(written);
        }
        Poll::Ready(Ok(()))
    }
}

/// Does `act` when `ready` says that it won't block.
fn retry<T>(
    cx: &mut Context<'_>,
    ready: impl Fn(&mut Context<'_>) -> Poll<io::Result<()>>,
    mut act: impl FnMut() -> io::Result<T>,
) -> Poll<io::Result<T>> {
    loop {
        ready!(ready(cx))?;
        match act() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            done => return Poll::Ready(done),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let stream = &self.link.stream;
        let read = |stream: &TcpStream, buf: &mut ReadBuf<'_>| {
            let read = stream.try_read(buf.initialize_unfilled())?;
            buf.advance(read);
            Ok(())
        };
        retry(cx, |cx| stream.poll_read_ready(cx), || read(stream, buf))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.replace(buf) {
            return Poll::Ready(Ok(buf.len()));
        }
        self.write(cx, |stream| stream.try_write(buf))
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
        let size: usize = bufs.iter().map(|part| part.len()).sum();
        if size > JOINED {
            return self.write(cx, |stream| stream.try_write_vectored(bufs));
        }
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        for part in bufs {
            joined.extend_from_slice(part);
        }
        let written = self.write(cx, |stream| stream.try_write(&joined));
        self.joined = joined;
        written
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.send_replaced(cx))?;
        self.link.flushed.store(true, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.send_replaced(cx))?;
        Poll::Ready(socket2::SockRef::from(&self.link.stream).shutdown(std::net::Shutdown::Write))
    }
}
