//! One response of a socket, from its request to its last event.

use std::time::Instant;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::super::answer::RequestId;
use super::super::app::App;
use super::inbox::Create;
use super::lanes::Lane;
use super::outbox::Outbox;
use crate::agent::AnswerStream;
use crate::answer::{Answer, EventReader, Policy, event_log};
use crate::api::error::ApiError;
use crate::api::responses::web_socket::of_lane;
use crate::api::{ApiRequest, Object, Protocol};
use crate::model::Model;

/// What the responses of one socket share.
pub(super) struct Socket {
    pub(super) app: App,
    pub(super) principal: crate::accounts::Principal,
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

    async fn begin(&self, create: Create) -> Result<Answer, ApiError> {
        let (app, protocol) = (&self.app, Protocol::Responses);
        let began = Instant::now();
        let RequestId(id) = RequestId::random();
        let read = move |body: &Object<'_>, defaults: &_, _: &Model| protocol.read_object(body, defaults);
        let (api_request, model, account) = create.body.read(app, read).await?;
        let ApiRequest { job, machine, .. } = api_request;
        let stream =
            AnswerStream::one(model.start_choices(job).await.map_err(|error| protocol.refusal(&error))?);
        drop(account);
        let check = app.check_streams.then(|| protocol.check());
        Ok(Answer::new(model.label(), id, began, stream, machine, check, &app.aborting))
    }

    /// Sends the answer's events. While there is none for a while, it is asked for a heartbeat.
    async fn send(&self, answer: Answer, lane: &Lane) {
        let limits = &self.app.limits;
        let (log, reader) = event_log(Policy::Cancel { queue: limits.stream_queue });
        self.app.tasks.spawn(answer.run(log, limits.slow_reader, Some(self.disconnect.clone())));
        let mut events = EventReader::new(reader);
        loop {
            match timeout(limits.heartbeat, events.next()).await {
                Err(_) => events.ask_for_heartbeat(),
                Ok(Ok(Some(event))) => self.out.event(of_lane(event.json, lane.as_ref())).await,
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
