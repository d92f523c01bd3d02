//! Counts a prompt's tokens without generating: clients ask for that before they send a long
//! conversation.

use axum::extract::{Request, State};
use serde::Serialize;

use crate::accept::acceptance::consult;
use crate::accept::app::App;
use crate::accept::body::{CheckedBody, check_json};
use crate::accept::caller::Caller;
use crate::http::answer::{Answered, json, to_json, warn};
use crate::state::resolve::Continues;
use crate::state::threads::threaded;

use api::agent::clear;
use api::error::ApiError;
use api::request::CountRequest;
use api::{Defaults, JsonObject, Protocol, messages, responses};
use model::{Model, StartError};

/// `POST /v1/messages/count_tokens`.
pub(crate) async fn count_messages(State(app): State<App>, request: Request) -> Answered {
    let caller = Caller::of(&request);
    let body = check_json(&app, request).await?;
    let (body, _) = threaded(&app, &caller, body).await?;
    count(&app, body, Protocol::Messages, messages::count, messages::counted).await
}

/// `POST /v1/responses/input_tokens`.
pub(crate) async fn count_responses(State(app): State<App>, request: Request) -> Answered {
    let caller = Caller::of(&request);
    let body = check_json(&app, request).await?;
    let (body, continuation, _) = consult(&app, &caller, body, Continues::AsTheBodySays).await?;
    let read = move |body: &JsonObject<'_>, defaults: &_| responses::count(body, &continuation, defaults);
    count(&app, body, Protocol::Responses, read, responses::counted).await
}

async fn count<T: Serialize>(
    app: &App,
    body: CheckedBody,
    protocol: Protocol,
    read: impl FnOnce(&JsonObject<'_>, &Defaults) -> Result<CountRequest, ApiError> + Send + 'static,
    counted: fn(usize, Option<usize>) -> T,
) -> Answered {
    let read = move |body: &JsonObject<'_>, defaults: &_, model: &Model| {
        let mut asked = read(body, defaults)?;
        asked.warnings.extend(model.warnings(&asked.job));
        Ok(asked)
    };
    let (CountRequest { mut job, clearing, warnings, .. }, model, _account) = body.read(app, read).await?;
    let count = async {
        let Some(clearing) = clearing else { return Ok((model.count_prompt(job).await?, None)) };
        let whole = model.count_prompt(job.clone()).await?;
        clear(&model, &mut job, &clearing).await?;
        Ok((model.count_prompt(job).await?, Some(whole)))
    };
    let (tokens, whole) = count.await.map_err(|error: StartError| protocol.refusal(&error))?;
    let mut response = json(200, to_json(&counted(tokens, whole)));
    warn(&mut response, &warnings);
    Ok(response)
}
