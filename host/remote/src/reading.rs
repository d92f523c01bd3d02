//! Reads one engine's answer as it comes: bytes become events, and events become chunks.
//!
//! Invariants: of an answer no more is read than its token limit allows, in tokens, text and
//! events. Only tokens reset the timer: events without tokens, comments and single bytes don't.
//! Behind the answer's end only its counts are read, from a few events within a second.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::Body as _;
use tokio::time::{Instant, Sleep, sleep_until};

use super::attempt::Attempt;
use super::request::RemoteRequest;
use super::wire::{Chunk, Room, WireFault};
use crate::limits::RemoteLimits;
use net::sse::{MAX_EVENT, SseReader};

/// Upper bound of the bytes of a token id in JSON.
const BYTES_OF_AN_ID: usize = 16;
/// Bytes of a token in an event, with its text; of one of its alternatives; and of all tokens of
/// one event at most.
const BYTES_OF_A_TOKEN: usize = 32;
const BYTES_OF_AN_ALTERNATIVE: usize = 64;
const MAX_TOKENS_EVENT: usize = 16 << 20;
/// Number of pieces of the body that one poll reads before other tasks get their turn.
const FRAMES_AT_ONCE: usize = 16;

/// Reader of an answer that has begun.
pub(super) struct AnswerReader {
    pub(super) attempt: Attempt,
    sse: SseReader,
    /// Buffer for the data of the current event.
    data: Vec<u8>,
    chunk: Chunk,
    /// Fault that broke the answer; it is reported after the chunk's tokens.
    broken: Option<Broken>,
    /// Number of events that are still read.
    events_left: usize,
    silence: SilenceTimer,
    /// Ready when the engine is found gone; none from the first token on, since no other engine can
    /// take the answer over then.
    gone: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    limits: RemoteLimits,
}

/// Timer of an answer's silence. It is set again only when it fires too early or the time limit
/// changes, so a token costs no timer operation.
struct SilenceTimer {
    /// Time of the request, then of the last token, at last of the answer's end.
    since: Instant,
    /// Time limit from then on.
    most: Duration,
    sleep: Pin<Box<Sleep>>,
}

/// Why the rest of an answer can't be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken {
    /// Reason, for the log, without words of the engine.
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
                let reason = format!("its own error{told} of {} bytes", words.len());
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

/// Largest event of an answer, in bytes. Some engines repeat the prompt in the first one, all
/// tokens so far in each, or send everything at once to a client that was slow.
fn largest_event(request: &RemoteRequest) -> usize {
    let alternatives = request.top_logprobs.map_or(0, |top| usize::from(top) + 1);
    let per_token = BYTES_OF_A_TOKEN + alternatives * BYTES_OF_AN_ALTERNATIVE;
    let scored = request.prompt_logprobs.map_or(0, |_| request.prompt.len());
    let tokens = request.max_tokens.saturating_add(scored).saturating_mul(per_token).min(MAX_TOKENS_EVENT);
    MAX_EVENT + BYTES_OF_AN_ID * request.prompt.len() + tokens
}

impl AnswerReader {
    /// `longest_token` is the length in bytes of the vocabulary's longest token, which bounds an
    /// answer's text. Some engines echo the prompt in their first event, which may then be longer.
    pub(super) fn new(
        attempt: Attempt,
        request: &RemoteRequest,
        longest_token: usize,
        limits: &RemoteLimits,
    ) -> Self {
        // One token more than the limit shows that the engine doesn't keep to it.
        let tokens = request.max_tokens.saturating_add(1);
        let room = Room { tokens, text: tokens.saturating_mul(longest_token) };
        Self {
            silence: SilenceTimer::new(attempt.asked, limits.first_token_time),
            gone: Some(Box::pin(attempt.lease.engine().gone())),
            attempt,
            sse: SseReader::new(largest_event(request)),
            data: Vec::new(),
            chunk: Chunk::new(room),
            broken: None,
            // Engines report the progress of the prompt in up to one event per token.
            events_left: tokens + request.prompt.len() + limits.spare_events,
            limits: limits.clone(),
        }
    }

    /// Next chunk: everything that the events so far say, taken together, so that several tokens
    /// that arrive at once make one step. After the answer's end it waits for the engine's counts.
    pub(super) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<Chunk, Broken>> {
        for _ in 0..FRAMES_AT_ONCE {
            self.read_events();
            if let Some(read) = self.take_read() {
                return Poll::Ready(read);
            }
            let reason = match Pin::new(&mut self.attempt.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    frame.data_ref().into_iter().for_each(|bytes| self.sse.push(bytes));
                    continue;
                }
                Poll::Ready(Some(Err(_))) => "the connection broke".to_owned(),
                Poll::Ready(None) => "the connection was closed before the answer's end".to_owned(),
                Poll::Pending if self.is_gone(cx) => "the engine was found gone".to_owned(),
                Poll::Pending => {
                    ready!(self.silence.poll_over(cx));
                    self.silence.reason()
                }
            };
            return Poll::Ready(self.break_off(reason));
        }
        // All of this brought no token.
        if self.silence.is_over() {
            let reason = self.silence.reason();
            return Poll::Ready(self.break_off(reason));
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn is_gone(&mut self, cx: &mut Context<'_>) -> bool {
        self.gone.as_mut().is_some_and(|gone| gone.as_mut().poll(cx).is_ready())
    }

    /// The next chunk, or the fault that broke the answer, if one of them was read.
    fn take_read(&mut self) -> Option<Result<Chunk, Broken>> {
        if self.chunk.end.is_some() {
            // A fault after the end is ignored: the answer is complete.
            return (self.chunk.is_over || self.broken.is_some()).then(|| Ok(self.chunk.take()));
        }
        if !self.chunk.pieces.is_empty() {
            return Some(Ok(self.chunk.take()));
        }
        if let Some(broken) = self.broken.take() {
            return Some(Err(broken));
        }
        self.chunk.is_over.then(|| Err(Broken::new("it ended without saying why")))
    }

    /// Ends the reading for this reason, which is a fault unless the answer has ended.
    fn break_off(&mut self, reason: String) -> Result<Chunk, Broken> {
        if self.chunk.end.is_some() { Ok(self.chunk.take()) } else { Err(Broken::new(reason)) }
    }

    /// Reads all buffered events, up to the answer's end or the first that breaks the answer.
    fn read_events(&mut self) {
        while !self.chunk.is_over && self.broken.is_none() {
            match self.sse.next(&mut self.data) {
                Ok(true) => self.read_event(),
                Ok(false) => break,
                Err(_) => self.broken = Some(Broken::answer("too many bytes came without an event")),
            }
        }
    }

    fn read_event(&mut self) {
        let Some(left) = self.events_left.checked_sub(1) else {
            self.broken = Some(Broken::answer("more events came than the answer may have tokens"));
            return;
        };
        self.events_left = left;
        let (tokens, had_ended) = (self.chunk.pieces.len(), self.chunk.end.is_some());
        let read = self.attempt.reader.read(&self.data, &mut self.chunk);
        self.broken = read.map_err(Broken::of).err();
        if self.broken.is_none() {
            self.attempt.lease.engine().delivered();
        }
        if self.chunk.end.is_some() && !had_ended {
            self.gone = None;
            self.silence.restart(self.limits.tail_time);
            self.events_left = self.limits.tail_events;
        } else if self.chunk.pieces.len() > tokens {
            self.gone = None;
            self.silence.restart(self.limits.token_time);
        }
    }
}

impl Broken {
    /// Fault of an answer that another engine would give, too, perhaps.
    fn answer(reason: &str) -> Self {
        Self { fault: Fault::Answer, ..Self::new(reason) }
    }
}

impl SilenceTimer {
    fn new(since: Instant, most: Duration) -> Self {
        Self { since, most, sleep: Box::pin(sleep_until(since + most)) }
    }

    /// Begins anew, with this time limit.
    fn restart(&mut self, most: Duration) {
        self.since = Instant::now();
        if self.most != most {
            self.most = most;
            self.sleep.as_mut().reset(self.since + most);
        }
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.since + self.most
    }

    fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.sleep.as_mut().poll(cx));
            if self.is_over() {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(self.since + self.most);
        }
    }

    fn reason(&self) -> String {
        format!("no token came for {:?}", self.most)
    }
}
