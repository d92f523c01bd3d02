//! Routes that convert text to token ids and back. They generate nothing.

use axum::extract::{Request, State};
use axum::http::Uri;

use crate::accept::app::App;
use crate::accept::body::check_json;
use crate::http::answer::{Answered, json, to_json};
use api::query::Query;
use api::{Protocol, tokenize};

/// `POST /tokenize`.
pub(crate) async fn tokenize(State(app): State<App>, request: Request) -> Answered {
    let (asked, model, _account) = check_json(&app, request)
        .await?
        .read(&app, |body, defaults, _| tokenize::tokenize(body, defaults))
        .await?;
    let tokens = model.tokenize(asked.job, asked.texts).await;
    let tokens = tokens.map_err(|error| Protocol::Completions.refusal(&error))?;
    Ok(json(200, to_json(&tokenize::tokens(&tokens))))
}

/// `POST /detokenize`.
pub(crate) async fn detokenize(State(app): State<App>, request: Request) -> Answered {
    let (asked, model, _account) = check_json(&app, request)
        .await?
        .read(&app, |body, defaults, _| tokenize::detokenize(body, defaults))
        .await?;
    let text = model.detokenize(asked.tokens).await;
    let text = text.map_err(|error| Protocol::Completions.refusal(&error))?;
    Ok(json(200, to_json(&tokenize::text(&text))))
}

/// `GET /tokenizer_info`. Where several models are served, the query names one: `?model=NAME`.
pub(crate) async fn tokenizer_info(State(app): State<App>, uri: Uri) -> Answered {
    let query = Query::new(uri.query().unwrap_or_default());
    let (model, _) = app.pick(tokenize::model_of(&query))?;
    Ok(json(200, to_json(&tokenize::info(&model.tokenizer_info()))))
}
