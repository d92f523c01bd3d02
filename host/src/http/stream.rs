//! Generating routes: a request becomes an answer (`crate::answer`), whose body is sent in one piece or as its client takes it.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderValue, header};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::answer::{RequestId, json, refuse, typed, warn};
use super::app::App;
use super::body::{CheckedBody, check_json};
use super::connection::Disconnect;
use super::stored::{self, Continues, Resolved, resolve};
use super::unpaid::unpaid;
use crate::accounts::{Account, Principal};
use crate::agent::AnswerStream;
use crate::answer::{Answer, LogReader, Policy, SseBody, event_log};
use crate::api::chat::{self, stored::Wish};
use crate::api::error::ApiError;
use crate::api::frames::Frames;
use crate::api::ids::{Ids, unix_now};
use crate::api::responses::{self, Continuation, Wishes};
use crate::api::{ApiRequest, Object, Protocol};
use crate::model::{Job, Model};
use crate::prompt::Role;

/// Who sent a request, and when.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// Owner of the request and of what is kept of it.
    pub(super) principal: Principal,
    /// Id of the request, for the log.
    pub(super) id: String,
    /// When the request came.
    pub(super) began: Instant,
}

impl Caller {
    /// The caller of a request.
    pub(super) fn of(request: &Request) -> Self {
        let extensions = request.extensions();
        Self {
            principal: extensions.get::<Principal>().cloned().unwrap_or_default(),
            id: extensions.get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default(),
            began: Instant::now(),
        }
    }

    /// The owner of what the request stores and may see.
    pub(super) fn owner(&self) -> store::Owner {
        store::Owner::new(self.principal.name())
    }

    /// The owner of a stored response, which runs now; `id` is for the log.
    pub(super) fn of_owner(owner: &store::Owner, id: String) -> Self {
        Self { principal: Principal::new(owner.name()), id, began: Instant::now() }
    }
}

/// An answer that is about to be generated.
pub(super) struct Begun {
    /// The answer.
    pub(super) answer: Answer,
    /// Whether the client wants a stream.
    pub(super) stream: bool,
    /// A line for each part of the request that is ignored.
    pub(super) warnings: Vec<String>,
    /// Items that the request continues, oldest first.
    pub(super) before: Arc<[Vec<u8>]>,
    /// The request's own items, where its answer isn't stored and they are wanted, or needed to read it.
    pub(super) input: Vec<store::Item>,
    /// Ends a stored answer as cancelled.
    pub(super) withdrawn: Option<CancellationToken>,
}

/// A response that was stored and will run in the background.
pub(super) struct QueuedResponse {
    /// Its id.
    pub(super) id: String,
    /// Its object as JSON.
    pub(super) object: String,
    /// Whether the client wants its events.
    pub(super) stream: bool,
    /// Whether the client wants deltas padded.
    pub(super) pad: bool,
    /// A line for each part of the request that is ignored.
    pub(super) warnings: Vec<String>,
}

/// What became of a request.
pub(super) enum Accepted {
    /// Its answer begins.
    Begun(Box<Begun>),
    /// It waits.
    Queued(QueuedResponse),
}

/// The handler of all generating routes.
pub(super) async fn generate(State(app): State<App>, request: Request, protocol: Protocol) -> Response {
    match respond(&app, request, protocol).await {
        Ok(response) => response,
        Err(error) => refuse(&error),
    }
}

async fn respond(app: &App, request: Request, protocol: Protocol) -> Result<Response, ApiError> {
    let caller = Caller::of(&request);
    let disconnect = request.extensions().get::<Disconnect>().cloned();
    let body = check_json(app, request).await?;
    let (mut response, warnings) =
        match accept(app, &caller, protocol, body, Continues::AsTheBodySays, true).await? {
            Accepted::Begun(begun) => {
                let Begun { answer, stream, warnings, withdrawn, .. } = *begun;
                let response = if stream {
                    send(app, answer, disconnect)
                } else {
                    let (status, body) = in_one_piece(app, answer, withdrawn).await;
                    json(status, body)
                };
                (response, warnings)
            }
            Accepted::Queued(QueuedResponse { id, object, stream, pad, warnings }) => {
                let response = if stream {
                    stored::follow(app, caller.owner(), id, None, pad, disconnect)
                } else {
                    json(200, object)
                };
                (response, warnings)
            }
        };
    warn(&mut response, &warnings);
    Ok(response)
}

/// Accepts a request: reads it with what it continues, starts its generation, and stores what its client wants stored. Without `generate` its
/// answer is empty.
///
/// # Errors
/// What the client did wrong, or what there is no room for. Nothing is stored or generated then.
pub(super) async fn accept(
    app: &App,
    caller: &Caller,
    protocol: Protocol,
    body: CheckedBody,
    continues: Continues,
    generate: bool,
) -> Result<Accepted, ApiError> {
    if protocol != Protocol::Responses {
        return accept_other(app, caller, protocol, body).await;
    }
    let (body, mut continuation, mut resolved) = consult(app, caller, body, continues).await?;
    continuation.prompt_only = !generate;
    let store = continuation.store;
    let (request, model, account) = read(app, protocol, body, continuation).await?;
    let (stream, warnings) = (request.stream, request.warnings.clone());
    if resolved.background {
        model.check(&request.job).map_err(|error| protocol.refusal(&error))?;
        let (mut machine, pad) = (request.machine, resolved.pad);
        let (id, object) = stored::enqueue(app, &caller.owner(), &mut *machine, resolved).await?;
        return Ok(Accepted::Queued(QueuedResponse { id, object, stream, pad, warnings }));
    }
    let mut answer = launch(app, caller, protocol, request, model, generate).await?;
    let withdrawn = if store {
        Some(stored::keep(app, &caller.owner(), &mut answer, &mut resolved).await?)
    } else {
        None
    };
    drop(account);
    let Resolved { before, input, .. } = resolved;
    let begun = Begun { answer, stream, warnings, before, input, withdrawn };
    Ok(Accepted::Begun(Box::new(begun)))
}

/// Accepts a request of another protocol than Responses. A chat completion is stored if its client wants that.
async fn accept_other(
    app: &App,
    caller: &Caller,
    protocol: Protocol,
    body: CheckedBody,
) -> Result<Accepted, ApiError> {
    let (body, wish) = completion_wish(app, protocol, body).await?;
    let (request, model, account) = read(app, protocol, body, Continuation::default()).await?;
    let (stream, mut warnings) = (request.stream, request.warnings.clone());
    let mut answer = launch(app, caller, protocol, request, model, true).await?;
    let withdrawn = match wish {
        Some(wish) if app.store.is_some() => {
            Some(stored::keep_completion(app, &caller.owner(), &mut answer, wish).await?)
        }
        Some(_) => {
            warnings.push("store ignored: this server keeps nothing (--store none)".to_owned());
            None
        }
        None => None,
    };
    // The body and the prompt's text are freed by now, and the answer keeps little of them.
    drop(account);
    let begun = Begun { answer, stream, warnings, before: Arc::new([]), input: Vec::new(), withdrawn };
    Ok(Accepted::Begun(Box::new(begun)))
}

/// What a chat request wants stored.
async fn completion_wish(
    app: &App,
    protocol: Protocol,
    body: CheckedBody,
) -> Result<(CheckedBody, Option<Wish>), ApiError> {
    if protocol != Protocol::Chat {
        return Ok((body, None));
    }
    let max = app.limits.metadata;
    let (mut body, wish) = body.refer(app, move |body| chat::stored::wish(body, max)).await?;
    body.hold(wish.as_ref().map_or(0, Wish::size))?;
    Ok((body, wish))
}

/// The first step of a Responses request's reading: what it continues and refers to is asked of the store.
pub(super) async fn consult(
    app: &App,
    caller: &Caller,
    body: CheckedBody,
    continues: Continues,
) -> Result<(CheckedBody, Continuation, Resolved), ApiError> {
    let has_store = app.store.is_some();
    let wants_own = continues.wants_items();
    let (mut body, wishes) = body.refer(app, move |body| Wishes::read(body, has_store, wants_own)).await?;
    if continues.asks_store() && wishes.need_store() {
        super::store_error::store(app)?;
    }
    let _unpaid = if wishes.read_store() { Some(unpaid(app).await?) } else { None };
    let (continuation, resolved) = resolve(app, &caller.owner(), wishes, continues).await?;
    body.hold(continuation.size() + resolved.size())?;
    Ok((body, continuation, resolved))
}

/// The second step: reads the request with what it continues.
async fn read(
    app: &App,
    protocol: Protocol,
    body: CheckedBody,
    continuation: Continuation,
) -> Result<(ApiRequest, Model, Account), ApiError> {
    let read = move |body: &Object<'_>, defaults: &_, model: &Model| {
        let mut read = match protocol {
            Protocol::Responses => {
                responses::read_continuing(body, &continuation, defaults, Ids::random(), unix_now)
            }
            _ => protocol.read_object(body, defaults),
        }?;
        read.warnings.extend(model.warnings(&read.job));
        Ok(read)
    };
    body.read(app, read).await
}

/// Starts a request's generation.
pub(super) async fn launch(
    app: &App,
    caller: &Caller,
    protocol: Protocol,
    request: ApiRequest,
    model: Model,
    generate: bool,
) -> Result<Answer, ApiError> {
    let ApiRequest { job, hosted, compaction, machine, warnings, .. } = request;
    if !warnings.is_empty() {
        // Only the client is told which: they are names of the request.
        tracing::debug!(id = %caller.id, fields = warnings.len(), "parts of the request are ignored");
    }
    let label = model.label();
    let events = if generate {
        let refusal = Box::new(move |error: &_| protocol.refusal(error).into_failure());
        AnswerStream::begin(model, job, hosted, compaction, &app.limits.mcp, refusal).await
    } else if has_question(&job) {
        let job = Job { max_output_tokens: Some(1), ..job };
        model.start_choices(job).await.map(AnswerStream::of_prompt)
    } else {
        Ok(AnswerStream::empty())
    }
    .map_err(|error| protocol.refusal(&error))?;
    let check = app.check_streams.then(|| protocol.check());
    Ok(Answer::new(label, caller.id.clone(), caller.began, events, machine, check, &app.aborting))
}

/// Whether a user speaks in the job's conversation. Templates render no other.
fn has_question(job: &Job) -> bool {
    job.conversation.messages.iter().any(|message| message.role == Role::User)
}

/// Starts the generation of a stored request that has waited.
pub(super) async fn start(
    app: &App,
    caller: &Caller,
    body: CheckedBody,
    continuation: Continuation,
) -> Result<Answer, ApiError> {
    let (request, model, _account) = read(app, Protocol::Responses, body, continuation).await?;
    let mut answer = launch(app, caller, Protocol::Responses, request, model, true).await?;
    // Its first events were checked when they were made.
    answer.uncheck();
    Ok(answer)
}

/// Generates an answer in one piece. A stored one whose client leaves is ended as cancelled, and stored so.
async fn in_one_piece(app: &App, answer: Answer, withdrawn: Option<CancellationToken>) -> (u16, String) {
    let Some(withdrawn) = withdrawn else { return answer.whole().await };
    let (sender, whole) = oneshot::channel();
    app.tasks.spawn(async move {
        // Without a client nobody takes it.
        let _ = sender.send(answer.whole().await);
    });
    let left = withdrawn.drop_guard();
    let whole = whole.await;
    left.disarm();
    whole.unwrap_or_else(|_| {
        let error = ApiError::internal("The server failed to make this answer.");
        (error.status, error.body())
    })
}

/// Starts the task of a streaming answer, and makes the response whose body reads the log.
fn send(app: &App, answer: Answer, disconnect: Option<Disconnect>) -> Response {
    let (log, reader) = event_log(Policy::Cancel { queue: app.limits.stream_queue });
    let frames = answer.frames();
    let too_slow = disconnect.map(|Disconnect(token)| token);
    app.tasks.spawn(answer.run(log, app.limits.slow_reader, too_slow));
    event_stream(app, reader, frames)
}

/// The response that sends a log's events as server-sent events.
pub(super) fn event_stream(app: &App, reader: LogReader, frames: Frames) -> Response {
    let body = Body::new(SseBody::new(reader, frames, &app.limits));
    let mut response = typed(200, "text/event-stream; charset=utf-8", body);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
