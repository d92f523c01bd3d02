//! `POST /v1/responses/compact`: a conversation becomes a shorter one that stands for it.

use axum::extract::{Request, State};

use crate::accept::acceptance::{Extent, consult, launch};
use crate::accept::app::App;
use crate::accept::body::{COPIES, check_json};
use crate::accept::caller::Caller;
use crate::accept::record_draft::RecordDraft;
use crate::http::answer::{Answered, json, warn};
use crate::state::resolve::Continues;
use api::{JsonObject, Protocol, responses};
use model::Model;

/// The handler.
pub(crate) async fn compact(State(app): State<App>, request: Request) -> Answered {
    let caller = Caller::of(&request);
    let body = check_json(&app, request).await?;
    let (mut body, continuation, _) = consult(&app, &caller, body, Continues::AsTheBodySays).await?;
    // Images of users' messages are shown again.
    let shown = continuation.whole.as_ref().map_or(0, |whole| whole.size() - whole.copied());
    body.hold(shown, COPIES - 1)?;
    let draft = RecordDraft::new(&app, &caller, Protocol::Responses, &body, &continuation).of_compaction();
    let (ids, now) = draft.ids_and_clock();
    let read = move |body: &JsonObject<'_>, defaults: &_, model: &Model| {
        Ok(responses::compact(body, &continuation, defaults, ids, &now)?.for_model(model))
    };
    // The account lives as long as the answer, which holds the users' messages.
    let (request, model, _account) = body.read(&app, read).await?;
    let (warnings, model) = (request.warnings.clone(), draft.begin(&app, model));
    // A client that leaves drops the answer, and with it the generation.
    let (status, body) =
        launch(&app, &caller, Protocol::Responses, request, model, Extent::Answer).await?.whole().await;
    let mut response = json(status, body);
    warn(&mut response, &warnings);
    Ok(response)
}
