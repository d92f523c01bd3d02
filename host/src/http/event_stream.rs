//! Body of a streaming answer: reads the log and sends its events while the connection takes them.
//!
//! All new events go out in one write. While no event comes, the reader sends comments by itself, and asks the log's writer for heartbeat events.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame};

use super::event_log::LogReader;
use super::idle_timer::{Due, IdleTimer};
use crate::api::frames::KEEP_ALIVE;
use crate::limits::Limits;

/// Body that sends a log's events.
pub(super) struct EventStream {
    log: LogReader,
    idle_timer: IdleTimer,
}

impl EventStream {
    pub(super) fn new(log: LogReader, limits: &Limits) -> Self {
        Self { log, idle_timer: IdleTimer::new(limits.keep_alive, limits.heartbeat) }
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Poll::Ready(events) = self.log.poll_events(cx) {
            self.idle_timer.events_sent();
            return Poll::Ready(events);
        }
        loop {
            match ready!(self.idle_timer.poll_due(cx)) {
                Due::Comment => return Poll::Ready(Some(Bytes::from_static(KEEP_ALIVE))),
                Due::Heartbeat => self.log.ask_for_heartbeat(),
            }
        }
    }
}

impl Body for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.poll_bytes(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
