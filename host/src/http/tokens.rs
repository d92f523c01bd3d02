//! The routes that turn text into token ids and back. Nothing is generated.

use axum::extract::{Request, State};
use axum::response::Response;

use super::answer::{json, refuse};
use super::body::read_json;
use super::routes::to_json;
use super::server::App;
use crate::api::error::ApiError;
use crate::api::{Protocol, tokenize};

/// `POST /tokenize`.
pub(super) async fn tokenize(State(app): State<App>, request: Request) -> Response {
    answer(tokenized(&app, request).await)
}

/// `POST /detokenize`.
pub(super) async fn detokenize(State(app): State<App>, request: Request) -> Response {
    answer(detokenized(&app, request).await)
}

async fn tokenized(app: &App, request: Request) -> Result<String, ApiError> {
    let (asked, account) = read_json(app, request, tokenize::tokenize).await?;
    check_model(app, asked.model.as_deref())?;
    let tokens = app.model.on_account(&account).tokenize(asked.job, asked.texts).await;
    Ok(to_json(&tokenize::tokens(&tokens.map_err(|error| Protocol::Completions.refusal(&error))?)))
}

async fn detokenized(app: &App, request: Request) -> Result<String, ApiError> {
    let (asked, account) = read_json(app, request, tokenize::detokenize).await?;
    check_model(app, asked.model.as_deref())?;
    let text = app.model.on_account(&account).detokenize(asked.tokens).await;
    Ok(to_json(&tokenize::text(&text.map_err(|error| Protocol::Completions.refusal(&error))?)))
}

fn check_model(app: &App, asked: Option<&str>) -> Result<(), ApiError> {
    match asked {
        Some(name) if !app.model.is_named(name) => Err(ApiError::model_not_found(name)),
        _ => Ok(()),
    }
}

fn answer(result: Result<String, ApiError>) -> Response {
    result.map_or_else(|error| refuse(&error), |body| json(200, body))
}
