//! Generating routes: a request becomes an answer (`crate::answer`), whose body is sent in one
//! piece or as its client takes it.

use axum::extract::{Request, State};
use axum::response::Response;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::accept::acceptance::{Accepted, Begun, Extent, QueuedResponse, accept};
use crate::accept::app::App;
use crate::accept::body::check_json;
use crate::accept::caller::Caller;
use crate::answer::{Answer, Policy, SseBody, event_log};
use crate::http::answer::{event_names, json, refuse, warn};
use crate::http::connection::Disconnect;
use crate::http::event_stream::event_stream;
use crate::http::stored;
use crate::state::resolve::Continues;
use api::Protocol;
use api::error::ApiError;
use api::event_names::EventNames;

/// The handler of all generating routes.
pub(crate) async fn generate(State(app): State<App>, request: Request, protocol: Protocol) -> Response {
    match respond(&app, request, protocol).await {
        Ok(response) => response,
        Err(error) => refuse(&error),
    }
}

async fn respond(app: &App, request: Request, protocol: Protocol) -> Result<Response, ApiError> {
    let caller = Caller::of(&request);
    let disconnect = request.extensions().get::<Disconnect>().cloned();
    let names = event_names(request.headers());
    let body = check_json(app, request).await?;
    let (mut response, warnings) =
        match accept(app, &caller, protocol, body, Continues::AsTheBodySays, Extent::Answer).await? {
            Accepted::Begun(begun) => {
                let Begun { answer, stream, warnings, withdrawn, .. } = *begun;
                let response = if stream {
                    send(app, answer, names, disconnect)
                } else {
                    let (status, body) = in_one_piece(app, answer, withdrawn).await;
                    json(status, body)
                };
                (response, warnings)
            }
            Accepted::Queued(QueuedResponse { id, object, stream, pad, warnings }) => {
                let response = if stream {
                    let followed = stored::Followed { owner: caller.owner(), id, object: object.into() };
                    stored::follow(app, followed, None, pad, names, disconnect)
                } else {
                    json(200, object)
                };
                (response, warnings)
            }
        };
    warn(&mut response, &warnings);
    Ok(response)
}

/// Generates an answer in one piece. A stored one whose client leaves is ended as cancelled, and
/// stored so.
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
fn send(app: &App, answer: Answer, names: EventNames, disconnect: Option<Disconnect>) -> Response {
    let (log, reader) = event_log(Policy::Cancel { queue: app.limits.model.stream_queue });
    let frames = answer.frames().named(names);
    let too_slow = disconnect.map(|Disconnect(token)| token);
    app.tasks.spawn(answer.run(log, app.limits.http.slow_reader, too_slow));
    event_stream(SseBody::new(reader, frames, &app.limits.http))
}
