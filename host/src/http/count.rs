//! Counts a prompt's tokens without generating: clients ask for that before they send a long conversation.

use axum::extract::{Request, State};
use axum::response::Response;
use serde::Serialize;

use super::answer::{json, refuse, to_json, warn};
use super::app::App;
use super::body::check_json;
use crate::api::error::ApiError;
use crate::api::request::CountRequest;
use crate::api::{Defaults, Object, Protocol, messages, responses};
use crate::model::Model;

/// Reader of a protocol's body.
type Read = fn(&Object<'_>, &Defaults) -> Result<CountRequest, ApiError>;

/// `POST /v1/messages/count_tokens`.
pub(super) async fn count_messages(State(app): State<App>, request: Request) -> Response {
    answer(&app, request, Protocol::Messages, messages::count, messages::counted).await
}

/// `POST /v1/responses/input_tokens`.
pub(super) async fn count_responses(State(app): State<App>, request: Request) -> Response {
    answer(&app, request, Protocol::Responses, responses::count, responses::counted).await
}

async fn answer<T: Serialize>(
    app: &App,
    request: Request,
    protocol: Protocol,
    read: Read,
    body: fn(usize) -> T,
) -> Response {
    match count(app, request, protocol, read).await {
        Ok((tokens, warnings)) => {
            let mut response = json(200, to_json(&body(tokens)));
            warn(&mut response, &warnings);
            response
        }
        Err(error) => refuse(&error),
    }
}

async fn count(
    app: &App,
    request: Request,
    protocol: Protocol,
    read: Read,
) -> Result<(usize, Vec<String>), ApiError> {
    let read = move |body: &Object<'_>, defaults: &_, model: &Model| {
        let mut asked = read(body, defaults)?;
        asked.warnings.extend(model.warnings(&asked.job));
        Ok(asked)
    };
    let body = check_json(app, request).await?;
    let (CountRequest { job, warnings, .. }, model, _account) = body.read(app, read).await?;
    let tokens = model.count_prompt(job).await.map_err(|error| protocol.refusal(&error))?;
    Ok((tokens, warnings))
}
