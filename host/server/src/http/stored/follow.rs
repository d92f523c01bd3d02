//! Readers of stored events: whoever asks for a background response's events gets those behind a
//! number, then each further one as it is stored.

use std::time::Duration;

use axum::response::Response;
use store::{Events, Owner};
use tokio::time::timeout;

use super::super::app::App;
use super::super::connection::Disconnect;
use super::super::store_error::{refusal, store};
use super::super::stream::event_stream;
use super::running::Handle;
use crate::answer::{LogWriter, Policy, SseBody, event_log};
use api::error::ApiError;
use api::event_buffer::EventBuffer;
use api::frames::Frames;
use api::responses::stored::push;

/// Shortest and longest time between two looks for events of a response that runs elsewhere.
const LOOK: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));

/// The stream of a background response's events behind number `after`, from the first on without
/// one; deltas are padded if the client wants them so (`pad`). A client that takes nothing for too
/// long is disconnected.
pub(in crate::http) fn follow(
    app: &App,
    owner: Owner,
    id: String,
    after: Option<u64>,
    pad: bool,
    disconnect: Option<Disconnect>,
) -> Response {
    // Events wait in the store, so a reader that takes none holds one read's.
    let (log, reader) = event_log(Policy::Cancel { queue: 1 });
    let follower = Follower { app: app.clone(), owner, id, after, pad, disconnect };
    app.tasks.spawn(follower.run(log));
    event_stream(SseBody::new(reader, Frames::new(true), &app.limits))
}

struct Follower {
    app: App,
    owner: Owner,
    id: String,
    /// Number of the last event that was read.
    after: Option<u64>,
    pad: bool,
    disconnect: Option<Disconnect>,
}

impl Follower {
    /// Copies events from the store to the log, until the response's end, or until its reader
    /// leaves or takes nothing for too long.
    async fn run(mut self, log: LogWriter) {
        let aborting = self.app.aborting.clone();
        tokio::select! {
            result = self.copy(&log) => if let Err(error) = result {
                tracing::warn!(%error, "a stored response can't be followed to its end");
            },
            () = log.abandoned() => {}
            () = aborting.cancelled() => {}
        }
    }

    async fn copy(&mut self, log: &LogWriter) -> Result<(), ApiError> {
        let store = store(&self.app)?;
        let mut wait = LOOK.0;
        loop {
            if !log.has_room() && timeout(self.app.limits.slow_reader, log.room()).await.is_err() {
                tracing::info!("a client that follows a stored response reads nothing: disconnected");
                if let Some(Disconnect(token)) = &self.disconnect {
                    token.cancel();
                }
                return Ok(());
            }
            // The number of stored events is watched before the store is read: what comes in
            // between is noticed.
            let running = self.app.running.find(&self.owner, &self.id);
            let events = store.events_after(&self.owner, &self.id, self.after).await.map_err(refusal)?;
            let Events::Log { chunk, end } = events else { return Ok(()) };
            let came = !chunk.events.is_empty();
            let mut buffer = EventBuffer::new();
            chunk.events.iter().for_each(|event| push(event, self.pad, &mut buffer));
            if came {
                self.after = Some(chunk.first + chunk.events.len() as u64 - 1);
            }
            if end {
                log.finish(&mut buffer);
                return Ok(());
            }
            if came {
                log.append(&mut buffer);
                wait = LOOK.0;
                continue;
            }
            pause(running, wait).await;
            wait = (wait * 2).min(LOOK.1);
        }
    }
}

/// Waits for further events of a response that runs here, or for a while.
async fn pause(running: Option<Handle>, wait: Duration) {
    match running {
        // Its end closes the watch, and is read next.
        Some(mut handle) => {
            let _ = timeout(LOOK.1, handle.stored.changed()).await;
        }
        None => tokio::time::sleep(wait).await,
    }
}
