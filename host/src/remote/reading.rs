//! Reads one engine's answer as it comes: bytes become events, and events become chunks.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use hyper::body::Body as _;
use tokio::time::{Sleep, sleep_until};

use super::attempt::Attempt;
use super::wire::{Chunk, WireFault};
use crate::limits::RemoteLimits;
use crate::sse::{MAX_EVENT, SseReader};

/// Upper bound of the bytes of a token id in JSON.
const BYTES_OF_AN_ID: usize = 16;

/// Reader of an answer that has begun.
pub(super) struct AnswerReader {
    pub(super) attempt: Attempt,
    sse: SseReader,
    /// Buffer for the data of the current event.
    data: Vec<u8>,
    chunk: Chunk,
    /// Fault that broke the answer; it is reported after the chunk's tokens.
    broken: Option<Broken>,
    /// Time of the last event; none before the first token.
    last: Option<Instant>,
    silence: Pin<Box<Sleep>>,
}

/// Why the rest of an answer can't be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken {
    /// Reason, for the log.
    pub(super) reason: String,
    /// Consequence for the request.
    pub(super) fault: Fault,
}

/// Who caused a fault.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The engine: another engine may answer.
    Engine,
    /// Perhaps the request: no other engine is tried.
    Answer,
    /// The engine refuses the request, with this message.
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

impl AnswerReader {
    /// `prompt` is the number of prompt tokens. Some engines echo the prompt in their first event, which may then be longer.
    pub(super) fn new(attempt: Attempt, prompt: usize) -> Self {
        let silence = Box::pin(sleep_until(attempt.asked.into()));
        let sse = SseReader::new(MAX_EVENT + BYTES_OF_AN_ID * prompt);
        Self { attempt, sse, data: Vec::new(), chunk: Chunk::default(), broken: None, last: None, silence }
    }

    /// Records that the first token has come.
    pub(super) fn begun(&mut self) {
        self.attempt.begun();
        self.last = Some(Instant::now());
    }

    /// Next chunk: everything that the events so far say, taken together, so that several tokens that arrive at once make one step. After
    /// the answer's end it waits for the engine's last events, such as token counts.
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
            // A fault after the end is ignored: the answer is complete.
            if !has_ended {
                return Poll::Ready(Err(Broken::new(broken)));
            }
            self.chunk.is_over = true;
        }
    }

    /// Ready with the time limit when no event came within it. Comments are not events. The timer is reset only when it fires, so a token
    /// costs no timer operation.
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

    /// Reads all buffered events, up to the first that breaks the answer.
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
