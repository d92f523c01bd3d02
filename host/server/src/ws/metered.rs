//! The connection under a socket's codec. What the client sends is charged to an account while it
//! arrives, as bodies of requests are: a frame may be as large as a body, and the codec holds it
//! until it is whole. What goes out is counted, so that a slow client is told from a stopped one.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::accept::app::App;
use crate::accept::body::COPIES;
use accounts::{Account, Overdrawn, Principal};

/// Bytes that a socket reads at once. A message of this size is charged when it is whole, as every
/// connection has a buffer of it.
pub(crate) const READ_BYTES: usize = 16 << 10;

/// What a message that is arriving holds, shared by the connection and the reader of messages.
#[derive(Clone)]
pub(crate) struct Intake(Arc<Shared>);

struct Shared {
    app: App,
    principal: Principal,
    arriving: Mutex<Arriving>,
    written: AtomicU64,
}

#[derive(Default)]
struct Arriving {
    bytes: usize,
    /// Opened when the message is large.
    account: Option<Account>,
}

impl Intake {
    pub(crate) fn new(app: &App, principal: &Principal) -> Self {
        let (app, principal) = (app.clone(), principal.clone());
        Self(Arc::new(Shared { app, principal, arriving: Mutex::default(), written: AtomicU64::new(0) }))
    }

    /// The account of the message that has arrived.
    pub(crate) fn take_account(&self) -> Account {
        let Arriving { account, .. } = std::mem::take(&mut *self.arriving());
        account.unwrap_or_else(|| self.0.app.accounts.open(self.0.principal.clone()))
    }

    /// Notes a control frame with a payload of this size, which may come between the parts of a
    /// message.
    pub(crate) fn forget_control(&self, payload: usize) {
        let mut arriving = self.arriving();
        arriving.bytes = arriving.bytes.saturating_sub(payload + CONTROL_HEAD);
    }

    /// Bytes that the connection has taken so far.
    pub(crate) fn written(&self) -> u64 {
        self.0.written.load(Ordering::Relaxed)
    }

    /// Charges bytes that have arrived. Returns whether a large message is on its way.
    fn charge(&self, bytes: usize) -> Result<bool, Overdrawn> {
        let mut arriving = self.arriving();
        arriving.bytes += bytes;
        if arriving.bytes <= READ_BYTES {
            return Ok(false);
        }
        let charge = arriving.bytes.saturating_mul(COPIES);
        let open = || self.0.app.accounts.open(self.0.principal.clone());
        let account = arriving.account.get_or_insert_with(open);
        account.hold(charge.saturating_sub(account.held()))?;
        Ok(true)
    }

    fn is_large(&self) -> bool {
        self.arriving().account.is_some()
    }

    fn arriving(&self) -> MutexGuard<'_, Arriving> {
        self.0.arriving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Size of the head of a client's control frame: two bytes and the mask.
pub(crate) const CONTROL_HEAD: usize = 6;

/// The connection. A large message has as long to arrive as a body.
pub(crate) struct Metered<S> {
    io: S,
    intake: Intake,
    time: Duration,
    /// Ready when the large message that is arriving must be there.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> Metered<S> {
    pub(crate) fn new(io: S, intake: Intake, time: Duration) -> Self {
        Self { io, intake, time, deadline: None }
    }

    /// Ready with an error when a large message takes too long.
    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        if self.deadline.is_some() && !self.intake.is_large() {
            self.deadline = None;
        }
        let Some(deadline) = &mut self.deadline else { return Poll::Pending };
        ready!(deadline.as_mut().poll(cx));
        Poll::Ready(io::ErrorKind::TimedOut.into())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Poll::Ready(error) = self.poll_deadline(cx) {
            return Poll::Ready(Err(error));
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        let is_large = self.intake.charge(buf.filled().len() - before).map_err(io::Error::other)?;
        if is_large && self.deadline.is_none() {
            self.deadline = Some(Box::pin(sleep(self.time)));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write(cx, buf))?;
        self.intake.0.written.fetch_add(written as u64, Ordering::Relaxed);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
