//! Cross-origin requests of web pages (CORS), off unless the operator names origins. Answers
//! preflights and adds headers to every answer.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tower::{Layer as _, ServiceExt as _};

use crate::accept::named::Named;

/// Middleware: answers preflights and adds headers, for the origins that are named now.
pub(crate) async fn answer(State(named): State<Named>, request: Request, next: Next) -> Response {
    let lists = named.lists();
    match &lists.cors {
        None => next.run(request).await,
        Some(cors) => cors.layer(next).oneshot(request).await.into_response(),
    }
}
