//! An answer of a remote engine as steps. Its token ids are checked, and an answer that breaks off
//! before its first token is requested from another engine.
//!
//! Invariants: stop ids and the token limit hold whatever the engine does. There is exactly one
//! last step. The socket is read only when a step is polled, so a client that doesn't read leaves
//! the engine's socket unread. Dropping the stream aborts the request.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use engine::{Finish, GenerationError, Logprobs, StepOutput, StepStream, SubmitError, Token};
use tokio::time::{Sleep, sleep};

use super::attempt::{self, Attempt};
use super::pool::UpstreamPool;
use super::reading::{AnswerReader, Broken, Fault};
use super::request::RemoteRequest;
use super::tokens::ChunkTokens;
use super::wire::{Chunk, TokenSource, WireEnd};

/// Time in which an engine that answered 200 may still refuse the request: engines report an
/// invalid request in their first event at once.
const LATE_REFUSAL_TIME: Duration = Duration::from_millis(300);

/// Result of opening an answer, and the names of the engines that failed.
type Opened = (Result<Attempt, SubmitError>, Vec<Arc<str>>);

/// Step stream of one request.
pub(super) struct RemoteStream {
    pool: Arc<UpstreamPool>,
    request: Arc<RemoteRequest>,
    state: State,
    tokens: ChunkTokens,
    /// Names of the engines that failed to begin an answer.
    excluded: Vec<Arc<str>>,
    /// Number of tokens that may still be generated.
    left: usize,
    has_begun: bool,
    cached: usize,
    /// Tokens of the prompt with log-probabilities, until the first step.
    prompt_tokens: Vec<Token>,
    /// Log-probabilities of the token that ended the answer, for the last step.
    stop_logprobs: Option<Box<Logprobs>>,
    /// Number of tokens in the steps so far.
    told: usize,
    /// First step, if it came while `poll_start` waited for a refusal.
    first: Option<StepOutput>,
    late_refusal: Option<Pin<Box<Sleep>>>,
}

enum State {
    Opening(Pin<Box<dyn Future<Output = Opened> + Send>>),
    Reading(Box<AnswerReader>),
    Ended,
}

impl RemoteStream {
    pub(super) fn new(pool: Arc<UpstreamPool>, request: RemoteRequest) -> Self {
        let tokens = ChunkTokens::new(pool.vocabulary.clone(), request.top_logprobs, pool.limits.inline_text);
        let mut stream = Self {
            tokens,
            told: 0,
            left: request.max_tokens,
            pool,
            request: Arc::new(request),
            state: State::Ended,
            excluded: Vec::new(),
            has_begun: false,
            cached: 0,
            prompt_tokens: Vec::new(),
            stop_logprobs: None,
            first: None,
            late_refusal: None,
        };
        stream.open(Vec::new());
        stream
    }

    /// Next step; an error if no engine accepts the request.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<StepOutput, SubmitError>>> {
        loop {
            ready!(self.poll_open(cx))?;
            let State::Reading(reading) = &mut self.state else { return Poll::Ready(None) };
            let read = ready!(self.tokens.poll(cx, |cx| reading.poll_chunk(cx)));
            match read.and_then(|(tokens, chunk)| self.step(tokens, chunk)) {
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

    /// Ready when an engine answers or the last one has failed.
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SubmitError>> {
        while let State::Opening(opening) = &mut self.state {
            let (opened, excluded) = ready!(opening.as_mut().poll(cx));
            self.state = State::Ended;
            match opened {
                Ok(attempt) => {
                    self.excluded = excluded;
                    let longest_token = self.pool.vocabulary.longest_token();
                    let reader = AnswerReader::new(attempt, &self.request, longest_token, &self.pool.limits);
                    self.state = State::Reading(Box::new(reader));
                }
                Err(SubmitError::Unsupported { field: SubmitError::CONSTRAINT, .. })
                    if self.drop_optional_constraint() => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Sends the request again without its constraint, if that is optional. Returns whether it did.
    fn drop_optional_constraint(&mut self) -> bool {
        let Some(request) = self.request.without_optional() else { return false };
        self.request = Arc::new(request);
        self.open(Vec::new());
        true
    }

    fn open(&mut self, excluded: Vec<Arc<str>>) {
        self.prompt_tokens.clear();
        let (pool, request) = (Arc::clone(&self.pool), Arc::clone(&self.request));
        self.state = State::Opening(Box::pin(attempt::open(pool, request, excluded)));
    }

    /// Ends the answer. If `engine_ended` is false, the engine may still be generating.
    fn end(&mut self, engine_ended: bool) {
        if let State::Reading(reading) = std::mem::replace(&mut self.state, State::Ended) {
            reading.attempt.end(engine_ended, self.cached);
        }
    }

    /// Handles a broken answer: none if the request is sent again, else the last step or the error.
    fn broken(&mut self, Broken { reason, fault }: Broken) -> Option<Result<StepOutput, SubmitError>> {
        let State::Reading(reading) = std::mem::replace(&mut self.state, State::Ended) else { return None };
        if let (Fault::Request(words), false) = (&fault, self.has_begun) {
            let upstream = reading.attempt.refuse();
            if self.drop_optional_constraint() {
                return None;
            }
            return Some(Err(attempt::client_error(words, &upstream, &self.request)));
        }
        let name = reading.attempt.fail();
        tracing::warn!(engine = %name, reason, begun = self.has_begun, "an answer of a remote engine broke off");
        if !self.has_begun && fault == Fault::Engine && self.excluded.len() < self.pool.limits.retries {
            let mut excluded = std::mem::take(&mut self.excluded);
            excluded.push(name);
            self.open(excluded);
            return None;
        }
        // An engine may fail on a grammar that it had accepted: vLLM answers 500 to a grammar that
        // its backend can't compile.
        if !self.has_begun && self.drop_optional_constraint() {
            return None;
        }
        let reason = format!("{name}: {reason}");
        if !self.has_begun {
            return Some(Err(SubmitError::Failed(reason)));
        }
        let finish = Finish::Error(GenerationError::Upstream(reason));
        Some(Ok(StepOutput { finish: Some(finish), cached_tokens: self.cached, ..StepOutput::default() }))
    }

    /// Makes a step from a chunk; none if the chunk has nothing to report yet.
    fn step(&mut self, mut tokens: Vec<Token>, mut chunk: Chunk) -> Result<Option<StepOutput>, Broken> {
        self.prompt_tokens.append(&mut chunk.prompt_tokens);
        self.cached = chunk.cached.unwrap_or(self.cached).min(self.request.prompt.len());
        let engine_ended = chunk.end.is_some() && !chunk.is_too_long;
        let finish = self.finish(&mut tokens, &chunk)?;
        self.left -= tokens.len();
        self.told += tokens.len();
        if tokens.is_empty() && finish.is_none() {
            return Ok(None);
        }
        if !self.has_begun && self.request.prompt_logprobs.is_some() {
            self.check_scores()?;
        }
        self.begin();
        let untold_tokens = self.untold(finish.as_ref(), chunk.generated);
        if finish.is_some() {
            self.end(engine_ended);
        }
        let (prompt_tokens, stop_logprobs) =
            (std::mem::take(&mut self.prompt_tokens), self.stop_logprobs.take());
        Ok(Some(StepOutput {
            tokens,
            finish,
            stop_logprobs,
            prompt_tokens,
            cached_tokens: self.cached,
            untold_tokens,
            ..StepOutput::default()
        }))
    }

    /// Checks that the engine has told of each token of the prompt behind its first.
    fn check_scores(&self) -> Result<(), Broken> {
        let (told, asked) = (self.prompt_tokens.len() + 1, self.request.prompt.len());
        if told == asked {
            return Ok(());
        }
        Err(Broken::new(format!("it told log-probabilities of {told} of the prompt's {asked} tokens")))
    }

    /// Number of the answer's tokens that were in no step, by the engine's own count of all, which
    /// the token limit bounds.
    fn untold(&self, finish: Option<&Finish>, generated: Option<usize>) -> usize {
        let stop_token = usize::from(matches!(finish, Some(Finish::Stop(_))));
        let generated = generated.unwrap_or_default().min(self.request.max_tokens);
        generated.saturating_sub(self.told + stop_token)
    }

    /// How the answer ends within `tokens`, if it does: at a stop id, at the limit, or as the
    /// engine says. Cuts `tokens` off there.
    fn finish(&mut self, tokens: &mut Vec<Token>, chunk: &Chunk) -> Result<Option<Finish>, Broken> {
        let end = chunk.end;
        let stop = tokens.iter().position(|token| self.request.stop_ids.contains(&token.id));
        if let Some(at) = stop.filter(|at| *at < self.left) {
            let stop = tokens.swap_remove(at);
            tokens.truncate(at);
            self.stop_logprobs = stop.logprobs;
            return Ok(Some(Finish::Stop(stop.id)));
        }
        let own_stop = matches!(end, Some(WireEnd::Stop(_))) && tokens.len() <= self.left;
        // A prompt that is scored only ends with its scores.
        let is_scored = self.prompt_tokens.len() + 1 >= self.request.prompt.len();
        if tokens.len() >= self.left && !own_stop && (self.left > 0 || is_scored) {
            tokens.truncate(self.left);
            return Ok(Some(Finish::Length));
        }
        match end {
            None => Ok(None),
            Some(WireEnd::Length) => Ok(Some(Finish::Length)),
            Some(WireEnd::Stop(id)) => {
                // Text has no stop token: the last token is one of the answer's.
                let is_last_stop = chunk.source != TokenSource::Text;
                Ok(Some(self.own_stop(id, is_last_stop, tokens)))
            }
            Some(WireEnd::Aborted(reason)) => Err(Broken::new(reason)),
        }
    }

    /// Handles a stop at an id that isn't among the request's stop ids: the engine's own stop
    /// token, which it may send as the last token.
    fn own_stop(&mut self, id: Option<u32>, is_last_stop: bool, tokens: &mut Vec<Token>) -> Finish {
        let last = tokens.last().map(|token| token.id).filter(|_| is_last_stop);
        let id = id.or(last).or_else(|| self.request.stop_ids.first().copied());
        if last.is_some() && last == id {
            self.stop_logprobs = tokens.pop().and_then(|token| token.logprobs);
        }
        // An engine that stopped without any stop id to name has ended the answer all the same.
        id.map_or(Finish::Length, Finish::Stop)
    }

    /// Records the first token, once.
    fn begin(&mut self) {
        if let (State::Reading(reading), false) =
            (&mut self.state, std::mem::replace(&mut self.has_begun, true))
        {
            reading.attempt.begun();
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
            let waiting = self.late_refusal.get_or_insert_with(|| Box::pin(sleep(LATE_REFUSAL_TIME)));
            return waiting.as_mut().poll(cx).map(Ok);
        }
        Poll::Pending
    }

    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Option<StepOutput>> {
        if let Some(step) = self.first.take() {
            return Poll::Ready(Some(step));
        }
        let next = ready!(self.poll_next(cx));
        Poll::Ready(next.map(|next| {
            next.unwrap_or_else(|error| StepOutput {
                finish: Some(Finish::Refused(error)),
                ..StepOutput::default()
            })
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
