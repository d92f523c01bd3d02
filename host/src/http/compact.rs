//! `POST /v1/responses/compact`: a conversation becomes a shorter one that stands for it.

use std::time::Instant;

use axum::extract::{Request, State};
use axum::response::Response;

use super::answer::{RequestId, json, refuse, warn};
use super::app::App;
use super::body::check_json;
use crate::agent::AnswerStream;
use crate::answer::Answer;
use crate::api::error::ApiError;
use crate::api::ids::{Ids, unix_now};
use crate::api::{ApiRequest, Object, Protocol, responses};
use crate::model::Model;

/// The handler.
pub(super) async fn compact(State(app): State<App>, request: Request) -> Response {
    match run(&app, request).await {
        Ok(response) => response,
        Err(error) => refuse(&error),
    }
}

async fn run(app: &App, request: Request) -> Result<Response, ApiError> {
    let began = Instant::now();
    let id = request.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default();
    let protocol = Protocol::Responses;
    let read = move |body: &Object<'_>, defaults: &_, model: &Model| {
        let mut read = responses::compact(body, defaults, Ids::random(), unix_now)?;
        read.warnings.extend(model.warnings(&read.job));
        Ok(read)
    };
    // The account lives as long as the answer, which holds the users' messages.
    let (api_request, model, _account) = check_json(app, request).await?.read(app, read).await?;
    let ApiRequest { job, hosted, compaction, machine, warnings, .. } = api_request;
    let label = model.label();
    let refusal = Box::new(move |error: &_| protocol.refusal(error).into_failure());
    let events = AnswerStream::begin(model, job, hosted, compaction, &app.limits.mcp, refusal)
        .await
        .map_err(|error| protocol.refusal(&error))?;
    let (status, body) = Answer::new(label, id, began, events, machine, None, &app.aborting).whole().await;
    let mut response = json(status, body);
    warn(&mut response, &warnings);
    Ok(response)
}
