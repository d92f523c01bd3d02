//! Generating routes: a request becomes an answer (`crate::answer`), whose body is sent in one piece or as its client takes it.

use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderValue, header};

use super::answer::{RequestId, json, refuse, typed, warn};
use super::app::App;
use super::body::check_json;
use super::connection::Disconnect;
use crate::agent::AnswerStream;
use crate::answer::{Answer, Policy, SseBody, event_log};
use crate::api::error::ApiError;
use crate::api::{ApiRequest, Object, Protocol};
use crate::model::Model;

/// The handler of all generating routes.
pub(super) async fn generate(State(app): State<App>, request: Request, protocol: Protocol) -> Response {
    match accept(&app, request, protocol).await {
        Ok(response) => response,
        Err(error) => refuse(&error),
    }
}

async fn accept(app: &App, request: Request, protocol: Protocol) -> Result<Response, ApiError> {
    let began = Instant::now();
    let id = request.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default();
    let disconnect = request.extensions().get::<Disconnect>().cloned();
    let read = move |body: &Object<'_>, defaults: &_, model: &Model| {
        let mut read = protocol.read_object(body, defaults)?;
        read.warnings.extend(model.warnings(&read.job));
        Ok(read)
    };
    let (api_request, model, account) = check_json(app, request).await?.read(app, read).await?;
    let ApiRequest { stream, job, hosted, compaction, machine, warnings } = api_request;
    if !warnings.is_empty() {
        // Only the client is told which: they are names of the request.
        tracing::debug!(%id, fields = warnings.len(), "parts of the request are ignored");
    }
    let label = model.label();
    let refusal = Box::new(move |error: &_| protocol.refusal(error).into_failure());
    let events = AnswerStream::begin(model, job, hosted, compaction, &app.limits.mcp, refusal)
        .await
        .map_err(|error| protocol.refusal(&error))?;
    // The body and the prompt's text are freed by now, and the answer keeps little of them.
    drop(account);
    let check = app.check_streams.then(|| protocol.check());
    let answer = Answer::new(label, id, began, events, machine, check, &app.aborting);
    let mut response = if stream {
        send(app, answer, disconnect)
    } else {
        let (status, body) = answer.whole().await;
        json(status, body)
    };
    warn(&mut response, &warnings);
    Ok(response)
}

/// Starts the task of a streaming answer, and makes the response whose body reads the log.
fn send(app: &App, answer: Answer, disconnect: Option<Disconnect>) -> Response {
    let limits = &app.limits;
    let (log, reader) = event_log(Policy::Cancel { queue: limits.stream_queue });
    let body = Body::new(SseBody::new(reader, answer.frames(), limits));
    app.tasks.spawn(answer.run(log, limits.slow_reader, disconnect.map(|Disconnect(token)| token)));
    let mut response = typed(200, "text/event-stream; charset=utf-8", body);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
