//! Readers of stored events: whoever asks for a background response's events gets those behind a
//! number, then each further one as it is stored. Invariant: a stream ends with the last event of
//! its response, or with `response.failed` where that can't be had.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use store::{Chunk, Events, LogPosition, Owner};
use tokio::time::timeout;

use crate::accept::app::App;
use crate::answer::{LogWriter, Policy, SseBody, StoreProgress, event_log};
use crate::http::connection::Disconnect;
use crate::http::event_stream::event_stream;
use crate::state::exchange::LOOK;
use crate::state::running::Handle;
use crate::state::store_error::{refusal, store};
use accounts::{Account, Principal};
use api::error::{ApiError, not_stored};
use api::event_buffer::EventBuffer;
use api::event_names::EventNames;
use api::frames::Frames;
use api::responses::stored::push;
use api::responses::{Ending, FoldedLog};

/// Time that the last events of a response may take to come, once its log can't be read or the
/// server must end.
const LAST: Duration = Duration::from_secs(1);

/// A response whose events are wanted.
pub(crate) struct Followed {
    pub(crate) owner: Owner,
    pub(crate) id: String,
    /// The response as it was stored when it began, as JSON.
    pub(crate) object: Box<str>,
}

/// The stream of a background response's events behind number `after`, from the first on without
/// one; deltas are padded if the client wants them so (`pad`), and events have the `names` that it knows. A
/// client that takes nothing for too long is disconnected.
pub(crate) fn follow(
    app: &App,
    mut response: Followed,
    after: Option<u64>,
    pad: bool,
    names: EventNames,
    disconnect: Option<Disconnect>,
) -> Response {
    // Events wait in the store, so a reader that takes none holds one read's.
    let (log, reader) = event_log(Policy::Cancel { queue: 1 });
    let mut account = app.accounts.open(Principal::new(response.owner.name()));
    if account.hold(response.object.len()).is_err() {
        // It is needed where the store fails, and then is less than the end that it belongs to.
        response.object = "{}".into();
    }
    let follower = Follower {
        app: app.clone(),
        followed: response,
        handle: None,
        after,
        pad,
        disconnect,
        _account: account,
    };
    app.tasks.spawn(follower.run(log));
    event_stream(SseBody::new(reader, Frames::new(true).named(names), &app.limits.http))
}

struct Follower {
    app: App,
    followed: Followed,
    /// What this process knows of the response, if it ran here.
    handle: Option<Handle>,
    /// Number of the last event that was read.
    after: Option<u64>,
    pad: bool,
    disconnect: Option<Disconnect>,
    /// Pays for the object.
    _account: Account,
}

impl Follower {
    /// Copies events from the store to the log, until the response's end, or until its reader
    /// leaves or takes nothing for too long.
    async fn run(mut self, log: LogWriter) {
        let aborting = self.app.aborting.clone();
        let aborted = async {
            aborting.cancelled().await;
            tokio::time::sleep(LAST).await;
        };
        let following = async {
            if let Err(error) = self.copy(&log).await {
                tracing::warn!(%error, "a stored response can't be followed to its end");
                self.break_off(error, &log).await;
            }
        };
        tokio::select! {
            () = following => {}
            () = log.abandoned() => {}
            () = aborted => {}
        }
    }

    async fn copy(&mut self, log: &LogWriter) -> Result<(), ApiError> {
        let store = Arc::clone(store(&self.app)?);
        loop {
            if !log.has_room() && timeout(self.app.limits.http.slow_reader, log.room()).await.is_err() {
                tracing::info!("a client that follows a stored response reads nothing: disconnected");
                if let Some(Disconnect(token)) = &self.disconnect {
                    token.cancel();
                }
                return Ok(());
            }
            // What runs here is looked at before the store is read: what comes in between changes
            // the watch.
            let Followed { owner, id, .. } = &self.followed;
            let found = self.app.running.find(owner, id);
            let runs = found.is_some();
            self.handle = found.or(self.handle.take());
            self.handle.iter_mut().for_each(|handle| handle.progress.mark_unchanged());
            let unstored = self.unstored();
            let events = store.events_after(owner, id, self.after).await.map_err(refusal)?;
            let Events::Log { chunk, end, position } = events else { return Err(no_log()) };
            let came = !chunk.events.is_empty();
            let mut buffer = EventBuffer::new();
            self.push(&chunk.events, &mut buffer);
            if end {
                log.finish(&mut buffer);
                return Ok(());
            }
            if came {
                log.append(&mut buffer);
                continue;
            }
            if unstored.is_some() {
                return Err(ApiError::turn(&not_stored()));
            }
            self.pause(runs, position).await;
        }
    }

    /// Ends the stream of a response whose end can't be read: as its answer ended here, if that is
    /// known and follows what was read, else as failed.
    async fn break_off(&mut self, error: ApiError, log: &LogWriter) {
        if let Some(handle) = self.handle.clone() {
            let _ = timeout(LAST, handle.ended()).await;
        }
        let next = self.after.map_or(0, |after| after + 1);
        let rest = self.unstored().and_then(|last| {
            let read = usize::try_from(next.checked_sub(last.first)?).ok()?;
            last.events.get(read..).filter(|rest| !rest.is_empty()).map(<[_]>::to_vec)
        });
        let ending = Ending::Failed(error.into_failure());
        let events = rest.unwrap_or_else(|| {
            let end = ending.end(&self.followed.object, Some(FoldedLog::unread(next)));
            end.last.map(|chunk| chunk.events).unwrap_or_default()
        });
        let mut buffer = EventBuffer::new();
        self.push(&events, &mut buffer);
        log.finish(&mut buffer);
    }

    /// The last events of a response that ran here and couldn't be stored to its end.
    fn unstored(&self) -> Option<Arc<Chunk>> {
        match &*self.handle.as_ref()?.progress.borrow() {
            StoreProgress::Unstored(last) => Some(Arc::clone(last)),
            StoreProgress::Stored(_) => None,
        }
    }

    /// Adds the next events.
    fn push(&mut self, events: &[Vec<u8>], buffer: &mut EventBuffer) {
        for event in events {
            push(event, self.pad, buffer);
        }
        let next = self.after.map_or(0, |after| after + 1) + events.len() as u64;
        self.after = next.checked_sub(1);
    }

    /// Waits for further events behind `position`, of a response that `runs` here or elsewhere.
    async fn pause(&mut self, runs: bool, position: LogPosition) {
        match self.handle.as_mut().filter(|_| runs) {
            // Its end closes the watch, and is read next.
            Some(handle) => {
                let _ = timeout(LOOK.1, handle.progress.changed()).await;
            }
            None => self.app.elsewhere.grown(position).await,
        }
    }
}

/// Why a log that is no longer stored ends a stream.
fn no_log() -> ApiError {
    let message = "The events of this response are no longer stored: read it without `stream`.";
    ApiError::new(410, "invalid_request_error", "events_expired", message)
}
