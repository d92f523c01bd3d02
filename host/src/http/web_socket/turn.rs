//! One response of a socket, from its request to its last event.

use std::sync::Arc;
use std::time::Instant;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::super::acceptance::{Accepted, Begun, Extent, accept};
use super::super::answer::RequestId;
use super::super::app::App;
use super::super::caller::Caller;
use super::super::stored::Continues;
use super::inbox::Create;
use super::lanes::Lane;
use super::memory::{Memory, MemoryKeeper};
use super::outbox::Outbox;
use crate::accounts::Principal;
use crate::answer::{Answer, EventReader, Policy, event_log};
use crate::api::Protocol;
use crate::api::error::ApiError;
use crate::api::machine::Record;
use crate::api::responses::web_socket::{of_lane, renumbered};

/// What the responses of one socket share.
pub(super) struct Socket {
    pub(super) app: App,
    pub(super) principal: Principal,
    pub(super) memory: Arc<Memory>,
    pub(super) out: Outbox,
    /// Closes the connection, if the client takes nothing.
    pub(super) disconnect: CancellationToken,
}

impl Socket {
    /// Generates the response and sends its events, or the error that it could not begin. Returns the lane. Dropping it cancels the response.
    pub(super) async fn turn(&self, create: Create) -> Lane {
        let lane = create.lane.clone();
        match self.begin(create).await {
            Ok(answer) => self.send(answer, &lane).await,
            Err(error) => self.out.error(&error, lane.as_ref()).await,
        }
        lane
    }

    /// Accepts the request. If its response isn't stored, the socket will remember it.
    async fn begin(&self, create: Create) -> Result<Answer, ApiError> {
        let Create { lane, generate, parent, store, body } = create;
        let RequestId(id) = RequestId::random();
        let caller = Caller { principal: self.principal.clone(), id, began: Instant::now() };
        let is_stored = self.app.store.is_some() && store != Some(false);
        let continues = match &parent {
            _ if is_stored => Continues::AsTheBodySays,
            Some(parent) => self.memory.find(parent).map_or(Continues::ToRemember, Continues::Remembered),
            None => Continues::ToRemember,
        };
        let extent = if generate { Extent::Answer } else { Extent::Prefill };
        let accepted = accept(&self.app, &caller, Protocol::Responses, body, continues, extent).await;
        let Begun { mut answer, before, input, .. } = match accepted {
            Ok(Accepted::Begun(begun)) => *begun,
            Ok(Accepted::Queued(_)) => return Err(ApiError::internal("A socket's response was queued.")),
            Err(error) => {
                parent.inspect(|parent| self.memory.forget(&lane, parent));
                return Err(error);
            }
        };
        if !is_stored && let Some(Record { id, .. }) = answer.record() {
            let memory = Arc::clone(&self.memory);
            answer.kept_by(Box::new(MemoryKeeper { memory, lane, id, parent, before, input }));
        }
        Ok(answer)
    }

    /// Sends the answer's events. While there is none for a while, it is asked for a heartbeat.
    async fn send(&self, answer: Answer, lane: &Lane) {
        let limits = &self.app.limits;
        let (log, reader) = event_log(Policy::Cancel { queue: limits.stream_queue });
        self.app.tasks.spawn(answer.run(log, limits.slow_reader, Some(self.disconnect.clone())));
        let mut events = EventReader::new(reader);
        let mut left_out = 0;
        loop {
            match timeout(limits.heartbeat, events.next()).await {
                Err(_) => events.ask_for_heartbeat(),
                // `response.failed` says the same, and clients of sockets take errors for those of requests without a response.
                Ok(Ok(Some(event))) if event.name == Some("error") => left_out += 1,
                Ok(Ok(Some(event))) => {
                    let json = renumbered(event.json, event.number, event.number - left_out);
                    self.out.event(of_lane(json, lane.as_ref())).await;
                }
                Ok(Ok(None)) => return,
                Ok(Err(error)) => {
                    tracing::error!(%error, "an answer broke off");
                    let error = ApiError::internal("The server failed to end this response.");
                    return self.out.error(&error, lane.as_ref()).await;
                }
            }
        }
    }
}
