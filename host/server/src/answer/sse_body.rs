//! Body of a streaming answer: reads the log, frames its events, and sends them while the
//! connection takes them.
//!
//! All new events go out in one write. While no event comes, the reader sends comments by itself,
//! and asks the log's writer for heartbeat events.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame};

use crate::answer::idle_timer::{Due, IdleTimer};
use crate::answer::log::{LogReader, Read};
use crate::limits::HttpLimits;
use api::event_buffer::Label;
use api::frames::{Frames, KEEP_ALIVE};

/// Largest capacity of a buffer that is kept for the next events.
const KEPT_CAPACITY: usize = 16 << 10;

/// Body that sends a log's events as server-sent events.
pub struct SseBody {
    log: LogReader,
    frames: Frames,
    idle_timer: IdleTimer,
    /// Buffer that events are framed into; its memory is reused after they were sent.
    buffer: BytesMut,
    over: bool,
}

impl SseBody {
    /// A body with the events that `log` reads.
    pub fn new(log: LogReader, frames: Frames, limits: &HttpLimits) -> Self {
        let idle_timer = IdleTimer::new(limits.keep_alive, limits.heartbeat);
        Self { log, frames, idle_timer, buffer: BytesMut::new(), over: false }
    }

    /// The body with an event of this JSON before the log's.
    #[must_use]
    pub fn behind(mut self, json: &str) -> Self {
        self.frames.event(Label { name: None, padding: 0 }, (json.as_bytes(), &[]), &mut self.buffer);
        self
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.over {
            return Poll::Ready(None);
        }
        let Self { log, frames, buffer, .. } = self;
        if let Poll::Ready(read) = log.poll_read(cx, |_, label, json| frames.event(label, json, buffer)) {
            if read == Ok(Read::End) {
                frames.end(buffer);
            }
            self.over = read != Ok(Read::Events);
            return Poll::Ready(self.take());
        }
        if !self.buffer.is_empty() {
            return Poll::Ready(self.take());
        }
        loop {
            match ready!(self.idle_timer.poll_due(cx)) {
                Due::Comment => return Poll::Ready(Some(Bytes::from_static(KEEP_ALIVE))),
                Due::Heartbeat => self.log.ask_for_heartbeat(),
            }
        }
    }

    /// The framed events; none at the end.
    fn take(&mut self) -> Option<Bytes> {
        self.idle_timer.events_sent();
        let events = self.buffer.split().freeze();
        if self.buffer.capacity() > KEPT_CAPACITY {
            self.buffer = BytesMut::new();
        }
        (!events.is_empty()).then_some(events)
    }
}

impl Body for SseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.poll_bytes(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
