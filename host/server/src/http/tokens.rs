//! Routes that convert text to token ids and back. They generate nothing.

use axum::extract::{Request, State};
use axum::http::Uri;
use axum::response::Response;

use crate::accept::app::App;
use crate::accept::body::check_json;
use crate::http::answer::{json, refuse, to_json};
use api::error::ApiError;
use api::query::Query;
use api::{Protocol, tokenize};

/// `POST /tokenize`.
pub(crate) async fn tokenize(State(app): State<App>, request: Request) -> Response {
    answer(tokenized(&app, request).await)
}

/// `POST /detokenize`.
pub(crate) async fn detokenize(State(app): State<App>, request: Request) -> Response {
    answer(detokenized(&app, request).await)
}

async fn tokenized(app: &App, request: Request) -> Result<String, ApiError> {
    let (asked, model, _account) = check_json(app, request)
        .await?
        .read(app, |body, defaults, _| tokenize::tokenize(body, defaults))
        .await?;
    let tokens = model.tokenize(asked.job, asked.texts).await;
    Ok(to_json(&tokenize::tokens(&tokens.map_err(|error| Protocol::Completions.refusal(&error))?)))
}

async fn detokenized(app: &App, request: Request) -> Result<String, ApiError> {
    let (asked, model, _account) = check_json(app, request)
        .await?
        .read(app, |body, defaults, _| tokenize::detokenize(body, defaults))
        .await?;
    let text = model.detokenize(asked.tokens).await;
    Ok(to_json(&tokenize::text(&text.map_err(|error| Protocol::Completions.refusal(&error))?)))
}

/// `GET /tokenizer_info`. Where several models are served, the query names one: `?model=NAME`.
pub(crate) async fn tokenizer_info(State(app): State<App>, uri: Uri) -> Response {
    let query = Query::new(uri.query().unwrap_or_default());
    let picked = app.pick(tokenize::model_of(&query));
    answer(picked.map(|(model, _)| to_json(&tokenize::info(&model.tokenizer_info()))))
}

fn answer(result: Result<String, ApiError>) -> Response {
    result.map_or_else(|error| refuse(&error), |body| json(200, body))
}
