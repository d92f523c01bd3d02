//! Counts a prompt's tokens without generating. Clients of Messages ask for that before they send a long conversation.

use axum::extract::{Request, State};
use axum::response::Response;

use super::answer::{json, refuse, to_json, warn};
use super::app::App;
use super::body::read_json;
use crate::api::error::ApiError;
use crate::api::{Object, Protocol, messages};
use crate::model::Model;

/// `POST /v1/messages/count_tokens`.
pub(super) async fn count_tokens(State(app): State<App>, request: Request) -> Response {
    count(&app, request).await.unwrap_or_else(|error| refuse(&error))
}

async fn count(app: &App, request: Request) -> Result<Response, ApiError> {
    let read = |body: &Object<'_>, defaults: &_, model: &Model| {
        let mut read = messages::count(body, defaults)?;
        read.warnings.extend(model.warnings(&read.job));
        Ok(read)
    };
    let (asked, model, _account) = read_json(app, request, read).await?;
    let messages::CountRequest { job, warnings, .. } = asked;
    let counted = model.count_prompt(job).await;
    let tokens = counted.map_err(|error| Protocol::Messages.refusal(&error))?;
    let mut response = json(200, to_json(&messages::counted(tokens)));
    warn(&mut response, &warnings);
    Ok(response)
}
