//! A connection's socket, and what the connection's task knows of it.
//!
//! A client that has only ended its sending side (half-closed) is told from one that has gone: both
//! look like the end of the stream until something is written; then the kernel of a client that has
//! gone answers with a reset.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use crate::http::idle::Waiting;

/// An interim answer (RFC 9110, 15.2): HTTP/1.1 clients skip it, and a client that has gone resets
/// the connection.
const INTERIM: &[u8] = b"HTTP/1.1 102 Processing\r\n\r\n";

/// The socket and the state that hyper's side and the connection's task share. Used by one task.
pub(crate) struct Link {
    pub(crate) stream: TcpStream,
    /// Whether a request that allows interim answers waits for its answer's head.
    pub(crate) awaits_head: AtomicBool,
    /// What the connection waits for.
    pub(crate) waiting: Waiting,
    /// Whether everything that hyper wrote is in the kernel.
    flushed: AtomicBool,
    /// Number of bytes that the kernel took of answers.
    written: AtomicU64,
    /// Whether a head that hyper couldn't read was answered.
    pub(crate) refused_head: AtomicBool,
}

impl Link {
    pub(crate) fn new(stream: TcpStream) -> Arc<Self> {
        Arc::new(Self {
            stream,
            awaits_head: AtomicBool::new(false),
            waiting: Waiting::new(),
            flushed: AtomicBool::new(true),
            written: AtomicU64::new(0),
            refused_head: AtomicBool::new(false),
        })
    }

    /// Whether no request is being answered, and every answer is in the kernel.
    pub(crate) fn is_idle(&self) -> bool {
        !self.waiting.is_busy() && self.flushed.load(Ordering::Relaxed)
    }

    /// Ready when the client has gone: the connection was reset. Interim answers are sent at the
    /// interval `every`, only to a client that has ended its sending side and waits for the head of
    /// an answer.
    pub(crate) async fn gone(&self, every: Duration) {
        tokio::select! {
            _ = self.stream.ready(Interest::ERROR) => {}
            () = self.probe(every) => {}
        }
    }

    /// Ready when the client has taken nothing of an answer for this time, or up to twice as long.
    pub(crate) async fn stalled(&self, patience: Duration) {
        let mut before = None;
        loop {
            let waits = !self.flushed.load(Ordering::Relaxed);
            let now = waits.then(|| self.written.load(Ordering::Relaxed));
            if now.is_some() && now == before {
                return;
            }
            before = now;
            tokio::time::sleep(patience).await;
        }
    }

    async fn probe(&self, every: Duration) {
        // `PRIORITY` is ready at the end of the client's stream. `READABLE` would be ready for a
        // second request, too.
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

    /// Reads and discards the rest of a refused head, for at most `time` and `bytes`: closing a
    /// socket with unread bytes would reset the connection before the client has read the answer.
    pub(crate) async fn linger(&self, time: Duration, bytes: usize) {
        // An error is ignored: the client may have gone.
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
        // A slower client loses the answer.
        let _ = tokio::time::timeout(time, discarding).await;
    }
}

/// The socket as a reader and a writer.
pub(crate) struct Socket(Arc<Link>);

impl Socket {
    pub(crate) fn new(link: Arc<Link>) -> Self {
        Self(link)
    }

    /// Runs `write` when the socket is writable.
    fn write<W>(&self, cx: &mut Context<'_>, mut write: W) -> Poll<io::Result<usize>>
    where
        W: FnMut(&TcpStream) -> io::Result<usize>,
    {
        let link = &self.0;
        link.flushed.store(false, Ordering::Relaxed);
        let written = ready!(retry(cx, |cx| link.stream.poll_write_ready(cx), || write(&link.stream)))?;
        link.written.fetch_add(written as u64, Ordering::Relaxed);
        Poll::Ready(Ok(written))
    }
}

/// Runs `act` when `ready` says that it won't block.
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
        let stream = &self.0.stream;
        let read = |stream: &TcpStream, buf: &mut ReadBuf<'_>| {
            let read = stream.try_read(buf.initialize_unfilled())?;
            buf.advance(read);
            Ok(())
        };
        ready!(retry(cx, |cx| stream.poll_read_ready(cx), || read(stream, buf)))?;
        self.0.waiting.received();
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.write(cx, |stream| stream.try_write(buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, |stream| stream.try_write_vectored(bufs))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.flushed.store(true, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(socket2::SockRef::from(&self.0.stream).shutdown(std::net::Shutdown::Write))
    }
}
