//! What hosts of one store learn from and ask of each other, every now and then: nothing while nobody
//! waits for others' logs and nothing runs.

use std::time::Duration;

use store::{Owner, ReasoningOutcome, Store};
use tokio::time::{Instant, sleep, sleep_until};

use crate::accept::app::App;
use crate::state::running::Handle;
use crate::state::store_error::refusal;
use api::error::ApiError;
use model::{NotStopped, ReasoningStop};

/// Shortest and longest time between two looks.
pub(crate) const LOOK: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));
/// Time within which another host answers.
const ANSWER: Duration = Duration::from_secs(5);

/// Looks for ever: soon where something grew or somebody has come, else less and less often.
pub(crate) async fn look(app: App) {
    let Some(store) = app.store.clone() else { return };
    let (mut pause, mut next) = (LOOK.1, Instant::now() + LOOK.1);
    loop {
        tokio::select! {
            () = sleep_until(next) => {}
            () = app.elsewhere.has_come() => {
                (pause, next) = (LOOK.0, next.min(Instant::now() + LOOK.0));
                continue;
            }
        }
        pause = if app.elsewhere.look(&*store).await { LOOK.0 } else { (pause * 2).min(LOOK.1) };
        answer(&app, &*store).await;
        next = Instant::now() + pause;
    }
}

/// Ends the reasoning of what runs here, where others ask for that.
async fn answer(app: &App, store: &dyn Store) {
    if app.running.is_empty() {
        return;
    }
    let Ok(asked) = store.asked_ends_of_reasoning().await else { return };
    for (owner, id) in asked {
        let handle = app.running.find(&owner, &id);
        let outcome = match handle.map_or(Err(NotStopped::NotReasoning), |handle| ask(&handle)) {
            Ok(()) => ReasoningOutcome::Ends,
            Err(NotStopped::NotReasoning) => ReasoningOutcome::NotReasoning,
            Err(NotStopped::Unsupported) => ReasoningOutcome::NotEndable,
        };
        if let Err(error) = store.answer_end_of_reasoning(&owner, &id, outcome).await {
            tracing::warn!(%error, "another server isn't told whether reasoning ends");
        }
    }
}

/// Ends the reasoning of a response that runs, here or elsewhere, or says why it goes on.
///
/// # Errors
/// What the client gets where the response is unknown, or its host doesn't answer.
pub(crate) async fn end_reasoning(
    app: &App,
    store: &dyn Store,
    owner: &Owner,
    id: &str,
) -> Result<Result<(), NotStopped>, ApiError> {
    if let Some(handle) = app.running.find(owner, id) {
        return Ok(ask(&handle));
    }
    if !store.ask_end_of_reasoning(owner, id).await.map_err(refusal)? {
        return Ok(Err(NotStopped::NotReasoning));
    }
    let (last, mut pause) = (Instant::now() + ANSWER, LOOK.0);
    while Instant::now() < last {
        sleep(pause).await;
        pause = (pause * 2).min(LOOK.1);
        match store.end_of_reasoning(owner, id).await.map_err(refusal)? {
            Some(ReasoningOutcome::Ends) => return Ok(Ok(())),
            Some(ReasoningOutcome::NotReasoning) => return Ok(Err(NotStopped::NotReasoning)),
            Some(ReasoningOutcome::NotEndable) => return Ok(Err(NotStopped::Unsupported)),
            None => {}
        }
    }
    Err(ApiError::unavailable("The server that runs the response doesn't answer: try again."))
}

/// Ends the reasoning of a response that runs here, once it is generated.
fn ask(handle: &Handle) -> Result<(), NotStopped> {
    handle.reasoning.get().map_or(Err(NotStopped::NotReasoning), ReasoningStop::ask)
}
