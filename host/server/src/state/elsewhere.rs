//! What other hosts of the store do that somebody here waits for, and what they ask of this one: one
//! question for all, every now and then. Nothing is asked while nobody waits and nothing runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::{LogPosition, Owner, ReasoningOutcome, Store};
use tokio::sync::{Notify, oneshot};
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
/// Logs of one question.
const LOGS: usize = 1000;

/// Those who wait for logs that grow elsewhere. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Elsewhere(Arc<Shared>);

#[derive(Default)]
struct Shared {
    waiting: Mutex<HashMap<LogPosition, Vec<oneshot::Sender<()>>>>,
    has_come: Notify,
}

impl Elsewhere {
    /// Waits until a log has more events, has ended or is gone, or can't be looked at.
    pub(crate) async fn grown(&self, log: LogPosition) {
        let (told, waits) = oneshot::channel();
        self.lock().entry(log).or_default().push(told);
        self.0.has_come.notify_one();
        let _ = waits.await;
    }

    /// The logs that somebody still waits for.
    fn waited_for(&self) -> Vec<LogPosition> {
        let mut waiting = self.lock();
        waiting.retain(|_, waits| {
            waits.retain(|told| !told.is_closed());
            !waits.is_empty()
        });
        waiting.keys().copied().collect()
    }

    /// Tells those who wait for these logs.
    fn tell(&self, logs: &[LogPosition]) {
        let mut waiting = self.lock();
        for told in logs.iter().filter_map(|log| waiting.remove(log)).flatten() {
            // Who has left hears nothing.
            let _ = told.send(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LogPosition, Vec<oneshot::Sender<()>>>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks for ever: soon where something grew or somebody has come, else less and less often.
pub(crate) async fn look(app: App) {
    let Some(store) = app.store.clone() else { return };
    let (mut pause, mut next) = (LOOK.1, Instant::now() + LOOK.1);
    loop {
        tokio::select! {
            () = sleep_until(next) => {}
            () = app.elsewhere.0.has_come.notified() => {
                (pause, next) = (LOOK.0, next.min(Instant::now() + LOOK.0));
                continue;
            }
        }
        pause = if look_for_growth(&app.elsewhere, &*store).await { LOOK.0 } else { (pause * 2).min(LOOK.1) };
        answer(&app, &*store).await;
        next = Instant::now() + pause;
    }
}

/// Tells those whose logs have grown. Returns whether there were any.
async fn look_for_growth(elsewhere: &Elsewhere, store: &dyn Store) -> bool {
    let mut has_grown = false;
    for logs in elsewhere.waited_for().chunks(LOGS) {
        // Those of a store that can't be read find out why.
        let grown = store.grown(logs.to_vec()).await.unwrap_or_else(|_| logs.to_vec());
        has_grown |= !grown.is_empty();
        elsewhere.tell(&grown);
    }
    has_grown
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
    let last = Instant::now() + ANSWER;
    while Instant::now() < last {
        sleep(LOOK.0).await;
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
