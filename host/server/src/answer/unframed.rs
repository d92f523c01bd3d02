//! Reader of a log that hands out the events as they are, for transports whose messages need no
//! framing.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::ops::Range;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};

use crate::answer::log::{LogReader, Read, ReadError};

/// One event of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEvent {
    /// Its number in the log, from 0. In Responses this is its `sequence_number`.
    pub number: u64,
    /// Its name, in protocols whose events have names.
    pub name: Option<&'static str>,
    /// Its JSON, without padding.
    pub json: Bytes,
}

/// Reader of events one by one.
pub struct EventReader {
    log: LogReader,
    /// Events that were read and not yet handed out: a read's worth.
    waiting: VecDeque<LogEvent>,
    over: bool,
}

impl EventReader {
    /// A reader of what `log` reads.
    pub fn new(log: LogReader) -> Self {
        Self { log, waiting: VecDeque::new(), over: false }
    }

    /// The next event; none at the answer's end. Cancel-safe.
    ///
    /// # Errors
    /// The event is gone, or the answer broke off.
    pub async fn next(&mut self) -> Result<Option<LogEvent>, ReadError> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Asks for a heartbeat event, since the client has received no event for a while.
    pub(crate) fn ask_for_heartbeat(&self) {
        self.log.ask_for_heartbeat();
    }

    fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Result<Option<LogEvent>, ReadError>> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Poll::Ready(Ok(Some(event)));
            }
            if self.over {
                return Poll::Ready(Ok(None));
            }
            match self.poll_waiting(cx) {
                Poll::Ready(Ok(read)) => self.over = read == Read::End,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Reads events. All of a read share one allocation.
    fn poll_waiting(&mut self, cx: &Context<'_>) -> Poll<Result<Read, ReadError>> {
        let mut all = BytesMut::new();
        let mut taken: Vec<(u64, Option<&'static str>, Range<usize>)> = Vec::new();
        let read = self.log.poll_read(cx, |number, label, (json, rest)| {
            let begin = all.len();
            all.extend_from_slice(json);
            all.extend_from_slice(rest);
            taken.push((number, label.name, begin..all.len()));
        });
        let all = all.freeze();
        let event = |(number, name, range)| LogEvent { number, name, json: all.slice(range) };
        self.waiting.extend(taken.into_iter().map(event));
        read
    }
}
