//! One engine's answer, read as it comes: bytes to events to what they say.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use hyper::body::Body as _;
use tokio::time::{Sleep, sleep_until};

use super::attempt::Attempt;
use super::wire::{Chunk, WireFault};
use crate::limits::RemoteLimits;
use crate::sse::{MAX_EVENT, SseReader};

/// Bytes of an id in JSON.
const BYTES_OF_AN_ID: usize = 16;

/// See the module.
pub(super) struct Reading {
    pub(super) attempt: Attempt,
    sse: SseReader,
    /// Data of the event at hand.
    data: Vec<u8>,
    chunk: Chunk,
    /// What broke it, behind what is in the chunk.
    broken: Option<Broken>,
    /// When its last event came, once it has begun.
    last: Option<Instant>,
    silence: Pin<Box<Sleep>>,
}

/// Why an answer can't be read on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken {
    /// For the log.
    pub(super) reason: String,
    /// What it means for the request.
    pub(super) fault: Fault,
}

/// Whose a fault is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// This engine's: another may answer.
    Engine,
    /// Maybe the request's: it goes no further.
    Answer,
    /// The engine refuses the request, in these words.
    Request(String),
}

impl Broken {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), fault: Fault::Engine }
    }

    fn of(fault: WireFault) -> Self {
        match fault {
            WireFault::Unreadable(words) => Self::new(words),
            WireFault::Engine(status, words) => {
                let told = status.map_or(String::new(), |status| format!(" ({status})"));
                let reason = format!("its own error{told}");
                let fault = match status {
                    Some(429 | 502..=504) => Fault::Engine,
                    Some(400..500) => Fault::Request(words),
                    _ => Fault::Answer,
                };
                Self { reason, fault }
            }
        }
    }
}

impl Reading {
    /// `prompt`: tokens of the prompt, which some engines echo in their first event.
    pub(super) fn new(attempt: Attempt, prompt: usize) -> Self {
        let silence = Box::pin(sleep_until(attempt.asked.into()));
        let sse = SseReader::new(MAX_EVENT + BYTES_OF_AN_ID * prompt);
        Self { attempt, sse, data: Vec::new(), chunk: Chunk::default(), broken: None, last: None, silence }
    }

    /// The first token is there.
    pub(super) fn begun(&mut self) {
        self.attempt.begun();
        self.last = Some(Instant::now());
    }

    /// What the events said that have come: all of them together, so that an engine that tells several tokens at once makes one step. An end
    /// waits for what the engine says behind it, such as its counts.
    pub(super) fn poll_chunk(
        &mut self,
        cx: &mut Context<'_>,
        limits: &RemoteLimits,
    ) -> Poll<Result<Chunk, Broken>> {
        loop {
            self.read_events();
            if self.chunk.pieces.is_empty()
                && let Some(broken) = self.broken.take()
            {
                return Poll::Ready(Err(broken));
            }
            let has_ended = self.chunk.end.is_some();
            if self.chunk.is_over {
                let over = Broken::new("it ended without saying why");
                return Poll::Ready(if has_ended { Ok(std::mem::take(&mut self.chunk)) } else { Err(over) });
            }
            if !has_ended && !self.chunk.pieces.is_empty() {
                return Poll::Ready(Ok(std::mem::take(&mut self.chunk)));
            }
            let broken = match Pin::new(&mut self.attempt.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    frame.data_ref().into_iter().for_each(|bytes| self.sse.push(bytes));
                    continue;
                }
                Poll::Ready(Some(Err(_))) => "the connection broke".to_owned(),
                Poll::Ready(None) => "the connection was closed before the answer's end".to_owned(),
                Poll::Pending => {
                    let silence = ready!(self.poll_silence(cx, limits));
                    format!("nothing came for {} s", silence.as_secs())
                }
            };
            // Whatever should have come behind the end, the answer is there.
            if !has_ended {
                return Poll::Ready(Err(Broken::new(broken)));
            }
            self.chunk.is_over = true;
        }
    }

    /// Ready when no event came for too long, with how long that is. Comments are no events. The timer is set anew only when it fires: a
    /// token costs no timer.
    fn poll_silence(&mut self, cx: &mut Context<'_>, limits: &RemoteLimits) -> Poll<Duration> {
        let (since, most) = match self.last {
            None => (self.attempt.asked, limits.first_token_time),
            Some(last) => (last, limits.token_time),
        };
        let due = tokio::time::Instant::from_std(since + most);
        loop {
            ready!(self.silence.as_mut().poll(cx));
            if tokio::time::Instant::now() >= due {
                return Poll::Ready(most);
            }
            self.silence.as_mut().reset(due);
        }
    }

    /// Reads all events that have come, up to one that breaks the answer.
    fn read_events(&mut self) {
        while !self.chunk.is_over && self.broken.is_none() {
            let too_long = |_| Broken { fault: Fault::Answer, ..Broken::new("an event is too long") };
            match self.sse.next(&mut self.data).map_err(too_long) {
                Ok(true) => {
                    self.last = self.last.map(|_| Instant::now());
                    let read = self.attempt.reader.read(&self.data, &mut self.chunk);
                    self.broken = read.map_err(Broken::of).err();
                }
                Ok(false) => break,
                Err(broken) => self.broken = Some(broken),
            }
        }
    }
}
