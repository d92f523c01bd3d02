//! An answer of an engine elsewhere as steps: its ids are checked, and an answer that breaks off before its first token is begun again by
//! another engine.
//!
//! Invariants: stop ids and the limit hold whatever the engine does; exactly one last step; nothing is read that isn't asked for, so that
//! a client that doesn't read leaves the engine's socket unread; dropping it gives the request up.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use engine::{Finish, GenerationError, Step, StepStream, SubmitError, Token};
use tokio::time::{Sleep, sleep};

use super::attempt::{self, Attempt};
use super::pool::UpstreamPool;
use super::reading::{Broken, Fault, Reading};
use super::request::RemoteRequest;
use super::wire::{Chunk, Piece, WireEnd};

/// Time in which an engine that answers 200 may still refuse: what it finds wrong with a request it says at once, in its first event.
const SECOND_THOUGHTS: Duration = Duration::from_millis(300);

/// An attempt, or why there is none, and the engines that were asked in vain.
type Opened = (Result<Attempt, SubmitError>, Vec<Arc<str>>);

/// See the module.
pub(super) struct RemoteStream {
    pool: Arc<UpstreamPool>,
    request: Arc<RemoteRequest>,
    state: State,
    /// Engines that were asked in vain.
    excluded: Vec<Arc<str>>,
    /// Tokens that may still come.
    left: usize,
    has_begun: bool,
    cached: usize,
    /// The first step, where it came while the engine's first word was waited for.
    first: Option<Step>,
    second_thoughts: Option<Pin<Box<Sleep>>>,
}

enum State {
    Opening(Pin<Box<dyn Future<Output = Opened> + Send>>),
    Reading(Box<Reading>),
    Ended,
}

impl RemoteStream {
    pub(super) fn new(pool: Arc<UpstreamPool>, request: RemoteRequest) -> Self {
        let mut stream = Self {
            left: request.max_tokens,
            pool,
            request: Arc::new(request),
            state: State::Ended,
            excluded: Vec::new(),
            has_begun: false,
            cached: 0,
            first: None,
            second_thoughts: None,
        };
        stream.open(Vec::new());
        stream
    }

    /// The next step; an error if no engine takes the request on.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Step, SubmitError>>> {
        loop {
            ready!(self.poll_open(cx))?;
            let State::Reading(reading) = &mut self.state else { return Poll::Ready(None) };
            let read = ready!(reading.poll_chunk(cx, &self.pool.limits));
            match read.and_then(|chunk| self.step(chunk)) {
                Ok(Some(step)) => return Poll::Ready(Some(Ok(step))),
                Ok(None) => {}
                Err(broken) => {
                    if let Some(end) = self.broken(broken) {
                        return Poll::Ready(Some(end));
                    }
                }
            }
        }
    }

    /// Ready when an engine answers, or none does.
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SubmitError>> {
        while let State::Opening(opening) = &mut self.state {
            let (opened, excluded) = ready!(opening.as_mut().poll(cx));
            self.state = State::Ended;
            match opened {
                Ok(attempt) => {
                    self.excluded = excluded;
                    self.state = State::Reading(Box::new(Reading::new(attempt, self.request.prompt.len())));
                }
                Err(SubmitError::Unsupported { field: SubmitError::CONSTRAINT, .. })
                    if self.leave_out_wish() => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Asks again without a constraint that may be left out, if the request has one.
    fn leave_out_wish(&mut self) -> bool {
        let Some(request) = self.request.without_optional() else { return false };
        self.request = Arc::new(request);
        self.open(Vec::new());
        true
    }

    fn open(&mut self, excluded: Vec<Arc<str>>) {
        let (pool, request) = (Arc::clone(&self.pool), Arc::clone(&self.request));
        self.state = State::Opening(Box::pin(attempt::open(pool, request, excluded)));
    }

    /// The last step. An engine that was stopped here may still be generating.
    fn end(&mut self, tokens: Vec<Token>, finish: Finish, engine_ended: bool) -> Step {
        if let State::Reading(reading) = std::mem::replace(&mut self.state, State::Ended) {
            reading.attempt.end(engine_ended, self.cached);
        }
        Step { tokens, finish: Some(finish), cached_tokens: self.cached }
    }

    /// What a broken answer comes to: none if another engine is asked for it, else its end.
    fn broken(&mut self, Broken { reason, fault }: Broken) -> Option<Result<Step, SubmitError>> {
        let State::Reading(reading) = std::mem::replace(&mut self.state, State::Ended) else { return None };
        if let (Fault::Request(words), false) = (&fault, self.has_begun) {
            let upstream = reading.attempt.refuse();
            if self.leave_out_wish() {
                return None;
            }
            return Some(Err(attempt::client_error(words, &upstream, &self.request)));
        }
        let name = reading.attempt.fail();
        tracing::warn!(engine = %name, reason, begun = self.has_begun, "an answer of an engine elsewhere broke off");
        if !self.has_begun && fault == Fault::Engine && self.excluded.len() < self.pool.limits.retries {
            let mut excluded = std::mem::take(&mut self.excluded);
            excluded.push(name);
            self.open(excluded);
            return None;
        }
        // Engines fail so over grammars that they took for good (vLLM's 500 of a grammar that its backend can't compile).
        if !self.has_begun && self.leave_out_wish() {
            return None;
        }
        let reason = format!("{name}: {reason}");
        if !self.has_begun {
            return Some(Err(SubmitError::Failed(reason)));
        }
        let finish = Finish::Error(GenerationError::Upstream(reason));
        Some(Ok(Step { finish: Some(finish), cached_tokens: self.cached, ..Step::default() }))
    }

    /// A step of what was read; none if nothing of it is to be told yet.
    fn step(&mut self, chunk: Chunk) -> Result<Option<Step>, Broken> {
        self.cached = chunk.cached.unwrap_or(self.cached);
        let engine_ended = chunk.end.is_some();
        let mut tokens = self.tokens(chunk.pieces)?;
        let finish = self.finish(&mut tokens, chunk.end)?;
        self.left -= tokens.len();
        if !tokens.is_empty() || finish.is_some() {
            self.begin();
        }
        match finish {
            Some(finish) => Ok(Some(self.end(tokens, finish, engine_ended))),
            None if tokens.is_empty() => Ok(None),
            None => Ok(Some(Step { tokens, finish: None, cached_tokens: self.cached })),
        }
    }

    /// How the answer ends with these tokens, which are cut off there: by a stop id, at the limit, or as the engine says.
    fn finish(&self, tokens: &mut Vec<Token>, end: Option<WireEnd>) -> Result<Option<Finish>, Broken> {
        let stop = tokens.iter().position(|token| self.request.stop_ids.contains(&token.id));
        if let Some(at) = stop.filter(|at| *at < self.left) {
            let id = tokens[at].id;
            tokens.truncate(at);
            return Ok(Some(Finish::Stop(id)));
        }
        let own_stop = matches!(end, Some(WireEnd::Stop(_))) && tokens.len() <= self.left;
        if tokens.len() >= self.left && !own_stop {
            tokens.truncate(self.left);
            return Ok(Some(Finish::Length));
        }
        match end {
            None => Ok(None),
            Some(WireEnd::Length) => Ok(Some(Finish::Length)),
            Some(WireEnd::Stop(id)) => Ok(Some(self.own_stop(id, tokens))),
            Some(WireEnd::Aborted(reason)) => Err(Broken::new(reason)),
        }
    }

    /// A stop that isn't among the request's ids: one of the engine's own, which it tells as the last token.
    fn own_stop(&self, id: Option<u32>, tokens: &mut Vec<Token>) -> Finish {
        let last = tokens.last().map(|token| token.id);
        let id = id.or(last).or_else(|| self.request.stop_ids.first().copied());
        if last.is_some() && last == id {
            tokens.pop();
        }
        // An engine that stopped for nothing that it or the request names has ended its answer all the same.
        id.map_or(Finish::Length, Finish::Stop)
    }

    /// Ids of the pieces.
    fn tokens(&self, pieces: Vec<Piece>) -> Result<Vec<Token>, Broken> {
        let vocabulary = &self.pool.vocabulary;
        let mut tokens = Vec::with_capacity(pieces.len());
        for piece in pieces {
            match piece {
                Piece::Token(token) => tokens.push(token),
                Piece::Text(text) => {
                    let ids = vocabulary.encode(&text);
                    tokens.extend(ids.into_iter().map(|id| Token { id, logprobs: None }));
                }
            }
        }
        match tokens.iter().find(|token| token.id as usize >= vocabulary.size()) {
            Some(Token { id, .. }) => {
                Err(Broken::new(format!("token id {id} is not in this model's vocabulary")))
            }
            None => Ok(tokens),
        }
    }

    /// The first token is there.
    fn begin(&mut self) {
        if let (State::Reading(reading), false) =
            (&mut self.state, std::mem::replace(&mut self.has_begun, true))
        {
            reading.begun();
        }
    }
}

impl StepStream for RemoteStream {
    fn poll_start(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SubmitError>> {
        if let Poll::Ready(next) = self.poll_next(cx) {
            self.first = next.transpose()?;
            return Poll::Ready(Ok(()));
        }
        if matches!(self.state, State::Reading(_)) {
            let thinking = self.second_thoughts.get_or_insert_with(|| Box::pin(sleep(SECOND_THOUGHTS)));
            return thinking.as_mut().poll(cx).map(Ok);
        }
        Poll::Pending
    }

    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Option<Step>> {
        if let Some(step) = self.first.take() {
            return Poll::Ready(Some(step));
        }
        let next = ready!(self.poll_next(cx));
        Poll::Ready(next.map(|next| {
            next.unwrap_or_else(|error| Step { finish: Some(Finish::Refused(error)), ..Step::default() })
        }))
    }
}

impl Drop for RemoteStream {
    fn drop(&mut self) {
        if let State::Reading(reading) = std::mem::replace(&mut self.state, State::Ended) {
            reading.attempt.cancel();
        }
    }
}
