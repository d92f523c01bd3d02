//! Turns a request into an engine's answer that has begun: chooses an engine, sends the request,
//! and tries other engines after a failure.
//!
//! Another engine is tried if this one didn't begin: no connection, too busy, a gateway's error, or
//! no first token in time. A status 500 is final, since the request itself may be the cause.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::SubmitError;
use http::{HeaderMap, StatusCode, header};
use reqwest::{Body, RequestBuilder, Response};

use super::abort::AbortGuard;
use super::identity;
use super::pool::UpstreamPool;
use super::request::RemoteRequest;
use super::routing::{Affinity, EngineLease, NoEngine};
use super::upstream::Upstream;
use super::wire::{self, WireFault, WireReader, engine_error};
use super::words::without_places;
use net::{connection_words, read_body};

/// Largest body of a refusal that is read, in bytes.
const MAX_REFUSAL: usize = 64 << 10;

/// An engine's answer that has begun.
pub(super) struct Attempt {
    pub(super) lease: EngineLease<Arc<Upstream>>,
    pub(super) body: Body,
    pub(super) reader: Box<dyn WireReader>,
    pub(super) abort: AbortGuard,
    /// Time at which the request was sent to the engine.
    pub(super) asked: tokio::time::Instant,
}

/// Why an engine didn't begin an answer.
enum Refusal {
    /// Another engine may accept the request.
    Elsewhere(SubmitError),
    /// No other engine is tried.
    Final(SubmitError),
}

/// Opens the answer on the first engine that begins one. `excluded` names engines that were tried
/// before; the result adds those that failed here.
pub(super) async fn open(
    pool: Arc<UpstreamPool>,
    request: Arc<RemoteRequest>,
    mut excluded: Vec<Arc<str>>,
) -> (Result<Attempt, SubmitError>, Vec<Arc<str>>) {
    let mut last = None;
    loop {
        let lease = match select(&pool, &request, &excluded) {
            Ok(lease) => lease,
            // The error of an engine that was asked says more than the router's error that no other
            // is left.
            Err(error) => return (Err(last.unwrap_or(error)), excluded),
        };
        let name = Arc::clone(lease.name());
        if !excluded.is_empty() {
            lease.engine().metrics.retries.increment(1);
        }
        match ask(lease, &pool, &request).await {
            Ok(attempt) => return (Ok(attempt), excluded),
            Err(Refusal::Final(error)) => return (Err(error), excluded),
            Err(Refusal::Elsewhere(error)) => {
                excluded.push(name);
                if excluded.len() > pool.limits.retries {
                    return (Err(error), excluded);
                }
                last = Some(error);
            }
        }
    }
}

/// Selects an engine. The returned lease counts the request as the engine's load.
fn select(
    pool: &UpstreamPool,
    request: &RemoteRequest,
    excluded: &[Arc<str>],
) -> Result<EngineLease<Arc<Upstream>>, SubmitError> {
    let can = |upstream: &Arc<Upstream>| upstream.check(request).is_ok();
    let lease =
        pool.router.select(request.affinity.number(), can, excluded, Instant::now()).map_err(|none| {
            match none {
                NoEngine::None { retry_after } => {
                    SubmitError::Unavailable { retry_after: Some(retry_after), dropped: None }
                }
                NoEngine::NotUsable => pool.refusal(request),
            }
        })?;
    if lease.affinity() == Affinity::Hit {
        lease.engine().metrics.affinity_hits.increment(1);
    }
    Ok(lease)
}

/// Sends the request to the selected engine. Each request that is sent is counted once, by its
/// outcome.
async fn ask(
    mut lease: EngineLease<Arc<Upstream>>,
    pool: &UpstreamPool,
    request: &RemoteRequest,
) -> Result<Attempt, Refusal> {
    let asked = tokio::time::Instant::now();
    let upstream = Arc::clone(lease.engine());
    let unavailable = || Refusal::Elsewhere(SubmitError::UNAVAILABLE);
    // The engine may have become unavailable since it was selected.
    let Some(facts) = upstream.facts() else { return Err(unavailable()) };
    let wire = wire::of(facts.kind);
    let id = system::random::hex::<16>();
    let abort = AbortGuard::new(&upstream, wire.abort(&id));
    let post = upstream.post(wire.path(), wire.body(request, &facts, &id));
    let post = post.headers(identity::headers(&facts, request));
    let post = match &request.traceparent {
        Some(traceparent) => post.header("traceparent", &**traceparent),
        None => post,
    };
    let cancelled = CancelGuard(Some(&upstream));
    let begun = begin(post, &upstream, asked + pool.limits.first_token_time).await;
    let failure = match begun {
        Ok(response) if response.status() == StatusCode::OK => match plain_body(response) {
            Ok(body) => {
                cancelled.disarm();
                let scored = request.prompt_logprobs.map_or(&[][..], |_| &request.prompt);
                let reader = wire.reader(scored);
                return Ok(Attempt { lease, body, reader, abort, asked });
            }
            Err(words) => words,
        },
        Ok(response) => {
            abort.disarm();
            let refusal = refusal(response, &upstream, request).await;
            cancelled.disarm();
            if refusal.is_fault {
                lease.failed(Instant::now());
                upstream.metrics.failed.increment(1);
            } else {
                upstream.metrics.refused.increment(1);
            }
            return Err(refusal.refusal);
        }
        Err(words) => words,
    };
    cancelled.disarm();
    lease.failed(Instant::now());
    upstream.metrics.failed.increment(1);
    tracing::warn!(engine = %upstream.name(), reason = failure, "a remote engine failed to begin an answer");
    Err(unavailable())
}

/// Sends the request and waits for the head of the response, until `deadline` or until the engine
/// is found gone. The error is for the log.
async fn begin(
    post: RequestBuilder,
    upstream: &Upstream,
    deadline: tokio::time::Instant,
) -> Result<Response, String> {
    tokio::select! {
        sent = post.send() => sent.map_err(|error| connection_words(&error)),
        () = upstream.gone() => Err("it was found gone".to_owned()),
        () = tokio::time::sleep_until(deadline) => Err("it didn't begin to answer in time".to_owned()),
    }
}

/// Counts a request as cancelled if it is dropped before the engine has answered.
struct CancelGuard<'a>(Option<&'a Upstream>);

impl CancelGuard<'_> {
    /// Called when the engine has answered or failed.
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelGuard<'_> {
    fn drop(&mut self) {
        if let Some(upstream) = self.0 {
            upstream.metrics.cancelled.increment(1);
        }
    }
}

/// The body of an answer; an error if the body is compressed.
fn plain_body(response: Response) -> Result<Body, String> {
    if response.headers().contains_key(header::CONTENT_ENCODING) {
        return Err("its answer is packed, which it wasn't asked for".to_owned());
    }
    Ok(Body::from(response))
}

/// Refusal made from a status other than 200.
struct StatusRefusal {
    refusal: Refusal,
    /// Whether the refusal counts as a failure of the engine in its circuit breaker.
    is_fault: bool,
}

async fn refusal(response: Response, upstream: &Upstream, request: &RemoteRequest) -> StatusRefusal {
    let status = response.status();
    let retry_after = retry_after(response.headers());
    let dropped = identity::dropped_reason(response.headers());
    let body = tokio::time::timeout(Duration::from_secs(5), read_body(response, MAX_REFUSAL)).await;
    let body = body.ok().and_then(Result::ok).unwrap_or_default();
    // An engine's words may quote any text that it was sent, which no log may hold.
    tracing::warn!(engine = %upstream.name(), %status, dropped, bytes = body.len(), "a remote engine refused a request");
    let words = match engine_error(&body) {
        WireFault::Engine(_, words) | WireFault::Unreadable(words) => words,
    };
    let (refusal, is_fault) = match status {
        StatusCode::TOO_MANY_REQUESTS => {
            (Refusal::Elsewhere(SubmitError::Overloaded { retry_after, dropped }), false)
        }
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
            (Refusal::Elsewhere(SubmitError::Unavailable { retry_after, dropped }), dropped.is_none())
        }
        status if status.is_client_error() => {
            (Refusal::Final(client_error(&words, upstream, request)), false)
        }
        status => {
            (Refusal::Final(SubmitError::Failed(format!("{} answered {status}", upstream.name()))), true)
        }
    };
    StatusRefusal { refusal, is_fault }
}

/// Error for a request that the engine refused: because of the prompt's length, the constraint, the
/// priority, or a disagreement between this server and the engine.
pub(super) fn client_error(words: &str, upstream: &Upstream, request: &RemoteRequest) -> SubmitError {
    let facts = upstream.facts();
    let name = facts.as_ref().map_or("engine", |facts| &facts.name);
    if words.contains("context") && words.contains("length") || words.contains("context size") {
        let context = facts.as_ref().and_then(|facts| facts.context).unwrap_or(request.prompt.len());
        return SubmitError::PromptLength { tokens: request.prompt.len(), context };
    }
    let unsupported = |field| SubmitError::Unsupported {
        field,
        reason: format!("the engine ({name}) refuses it: {}", without_places(words)),
    };
    if request.constraint.is_some() {
        return unsupported(SubmitError::CONSTRAINT);
    }
    if request.priority != 0 && words.contains("priority") {
        return unsupported("priority");
    }
    SubmitError::Failed(format!("{} refused a request of this server", upstream.name()))
}

/// Value of `Retry-After` if it is in seconds, at most an hour; a date is ignored.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse::<u64>().ok()?;
    Some(Duration::from_secs(seconds.min(3600)))
}

impl Attempt {
    /// Records that the first token has come.
    pub(super) fn begun(&mut self) {
        self.lease.succeeded();
        self.lease.engine().metrics.first_token(self.asked.elapsed());
    }

    /// Ends an answer that is complete. `engine_ended` is false if this server ended it, at a stop
    /// id or the limit, while the engine goes on; `cached` counts prompt tokens that the engine had
    /// cached.
    pub(super) fn end(self, engine_ended: bool, cached: usize) {
        let metrics = &self.lease.engine().metrics;
        metrics.completed.increment(1);
        metrics.cached_tokens.increment(cached as u64);
        if engine_ended {
            self.abort.disarm();
        }
    }

    /// Records that the answer broke off. Returns the engine's name.
    pub(super) fn fail(mut self) -> Arc<str> {
        self.lease.failed(Instant::now());
        self.lease.engine().metrics.failed.increment(1);
        Arc::clone(self.lease.name())
    }

    /// Records that the engine refused the request after it had answered 200.
    pub(super) fn refuse(self) -> Arc<Upstream> {
        self.abort.disarm();
        let upstream = Arc::clone(self.lease.engine());
        upstream.metrics.refused.increment(1);
        upstream
    }

    /// Records that the answer's reader left. Dropping the attempt aborts the request.
    pub(super) fn cancel(self) {
        self.lease.engine().metrics.cancelled.increment(1);
    }
}
