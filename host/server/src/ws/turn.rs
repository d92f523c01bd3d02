//! One response of a socket, from its request to its last event.

use std::sync::Arc;
use std::time::Instant;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::accept::acceptance::{Accepted, Begun, Extent, accept};
use crate::accept::app::App;
use crate::accept::body::CheckedBody;
use crate::accept::caller::Caller;
use crate::accept::keys::PresentedKey;
use crate::answer::{Answer, EventReader, Policy, event_log};
use crate::http::answer::RequestId;
use crate::state::resolve::Continues;
use crate::ws::create::Create;
use crate::ws::lanes::Lane;
use crate::ws::memory::{Memory, MemoryKeeper};
use crate::ws::outbox::Outbox;
use crate::ws::steering::{CLOSED, Steer, Steering, messages};
use accounts::{Account, Principal};
use api::Protocol;
use api::error::ApiError;
use api::event_names::EventNames;
use api::responses::steer::{self, ResponseEnd};
use api::responses::web_socket::{of_lane, renumbered, warned};
use model::ClientSession;

/// Names of the events that end a response.
const LAST: [&str; 3] = ["response.completed", "response.incomplete", "response.failed"];

/// A response that has begun.
struct RunningResponse {
    answer: Answer,
    id: String,
    /// A line for each part of the request that is ignored.
    warnings: Vec<String>,
    /// Whether it is to be stored, if the client says so.
    store: Option<bool>,
    /// What a successor has from it; none if it can't be steered.
    settings: Option<Settings>,
}

/// JSON of a request's fields but its input, and what is charged for it.
struct Settings {
    json: String,
    _account: Account,
}

/// A response that follows the one that its client steered.
struct Succession {
    /// The steered response.
    parent: String,
    store: Option<bool>,
    settings: Settings,
    steers: Vec<Steer>,
}

/// Who opened a socket.
pub(crate) struct Client {
    pub(crate) principal: Principal,
    /// The key that the upgrade came with, if one was needed.
    pub(crate) key: Option<PresentedKey>,
    /// The session that its responses are of.
    pub(crate) session: Option<ClientSession>,
    /// Whose names of events it knows.
    pub(crate) names: EventNames,
}

impl Client {
    /// Checks that the key is still the client's: the operator may have removed it since the upgrade.
    fn check(&self, app: &App) -> Result<(), ApiError> {
        let is_known = |key| app.access.keys.owner(key).as_ref() == Some(&self.principal);
        if self.key.as_ref().is_none_or(is_known) { Ok(()) } else { Err(ApiError::unauthorised()) }
    }
}

/// What the responses of one socket share.
pub(crate) struct Socket {
    pub(crate) app: App,
    pub(crate) client: Client,
    pub(crate) memory: Arc<Memory>,
    pub(crate) steering: Steering,
    pub(crate) out: Outbox,
    /// Closes the connection, if the client takes nothing.
    pub(crate) disconnect: CancellationToken,
}

impl Socket {
    /// Generates the response and sends its events, or the error that it could not begin; then its
    /// successors, while its client steers. Returns the lane. Dropping it cancels the response.
    pub(crate) async fn turn(&self, create: Create) -> Lane {
        let lane = create.lane.clone();
        let mut next = self.asked(create).await;
        while let Some(succession) = next {
            next = self.succeed(&lane, succession).await;
        }
        lane
    }

    /// Answers a request of the client. Input that waits for this request goes in front of its own.
    async fn asked(&self, mut create: Create) -> Option<Succession> {
        let (lane, parent) = (create.lane.clone(), create.parent.clone());
        let (steers, left) = self.steering.take_waiting(&lane, parent.as_deref());
        self.give_back(&lane, left, "The lane's next request doesn't continue the response.").await;
        let begun = async {
            if !steers.is_empty() {
                let messages = messages(&steers);
                let (_, text) =
                    create.body.refer(&self.app, move |body| steer::prepend(body, &messages)).await?;
                create.body = CheckedBody::of_text(&self.app, &self.client.principal, text.into()).await?;
            }
            self.begin(create).await
        };
        match begun.await {
            Ok(begun) => {
                drop(steers);
                self.send(begun, &lane).await
            }
            Err(error) => {
                parent.inspect(|parent| self.memory.forget(&lane, parent));
                self.out.error(&error, lane.as_ref()).await;
                self.give_back(&lane, steers, &error.message).await;
                None
            }
        }
    }

    /// Goes on from a response that was steered.
    async fn succeed(&self, lane: &Lane, succession: Succession) -> Option<Succession> {
        let Succession { parent, store, settings, steers } = succession;
        let begun = async {
            let text = steer::successor(&settings.json, &parent, &messages(&steers));
            drop(settings);
            let body = CheckedBody::of_text(&self.app, &self.client.principal, text.into()).await?;
            self.begin(Create { lane: lane.clone(), generate: true, parent: Some(parent), store, body }).await
        };
        match begun.await {
            Ok(begun) => {
                drop(steers);
                self.send(begun, lane).await
            }
            Err(error) => {
                self.give_back(lane, steers, &error.message).await;
                None
            }
        }
    }

    /// Gives input back that no response can have.
    pub(crate) async fn give_back(&self, lane: &Lane, steers: Vec<Steer>, why: &str) {
        for steer in steers {
            self.out.event(steer.failed(why, lane)).await;
        }
    }

    /// Accepts the request. If its response isn't stored, the socket will remember it.
    async fn begin(&self, create: Create) -> Result<RunningResponse, ApiError> {
        self.client.check(&self.app)?;
        let Create { lane, generate, parent, store, body } = create;
        let (body, settings) = body.refer(&self.app, |body| Ok(steer::settings(body))).await?;
        let settings = settings.filter(|_| generate).and_then(|json| self.held(json));
        let RequestId(id) = RequestId::random();
        let principal = self.client.principal.clone();
        let session = self.client.session;
        let caller = Caller { principal, id, began: Instant::now(), span: None, session, is_probe: false };
        let is_stored = self.app.store.is_some() && store != Some(false);
        let continues = match &parent {
            _ if is_stored => Continues::AsTheBodySays,
            Some(parent) => self.memory.find(parent).map_or(Continues::ToRemember, Continues::Remembered),
            None => Continues::ToRemember,
        };
        let extent = if generate { Extent::Answer } else { Extent::Prefill };
        let accepted = accept(&self.app, &caller, Protocol::Responses, body, continues, extent).await;
        let Begun { mut answer, warnings, before, input, .. } = match accepted {
            Ok(Accepted::Begun(begun)) => *begun,
            Ok(Accepted::Queued(_)) => return Err(ApiError::internal("A socket's response was queued.")),
            Err(error) => return Err(error),
        };
        let id = answer.record().map(|record| record.id).unwrap_or_default();
        let stop = settings.is_some().then(CancellationToken::new);
        if let Some(stop) = &stop {
            answer.steered_by(stop);
        }
        self.steering.begin(&id, &lane, stop, answer.reasoning().clone());
        if !is_stored {
            let (memory, id) = (Arc::clone(&self.memory), id.clone());
            answer.kept_by(Box::new(MemoryKeeper { memory, lane, id, parent, before, input }));
        }
        Ok(RunningResponse { answer, id, warnings, store, settings })
    }

    /// Settings that are charged for; none where there is no room.
    fn held(&self, json: String) -> Option<Settings> {
        let mut account = self.app.remembered.open(self.client.principal.clone());
        account.hold(json.len()).ok()?;
        Some(Settings { json, _account: account })
    }

    /// Sends the answer's events. While there is none for a while, it is asked for a heartbeat.
    /// Returns what follows where its client steered it.
    async fn send(&self, running: RunningResponse, lane: &Lane) -> Option<Succession> {
        let RunningResponse { answer, id, mut warnings, store, settings } = running;
        let limits = &self.app.limits;
        let (log, reader) = event_log(Policy::Cancel { queue: limits.model.stream_queue });
        self.app.tasks.spawn(answer.run(log, limits.http.slow_reader, Some(self.disconnect.clone())));
        let mut events = EventReader::new(reader);
        let (mut left_out, mut steers, mut last) = (0, Vec::new(), None);
        loop {
            match timeout(limits.http.heartbeat, events.next()).await {
                Err(_) => events.ask_for_heartbeat(),
                // `response.failed` says the same, and clients of sockets take errors for those of
                // requests without a response.
                Ok(Ok(Some(event))) if event.name == Some("error") => left_out += 1,
                Ok(Ok(Some(event))) => {
                    let json = renumbered(event.json, event.number, event.number - left_out);
                    if event.name.is_some_and(|name| LAST.contains(&name)) {
                        // Whoever steers it from here on is told that it has ended.
                        steers = self.steering.end(&id, event.name == Some("response.failed"));
                        last = Some(json.clone()).filter(|_| !steers.is_empty());
                    }
                    let json = warned(json, &std::mem::take(&mut warnings));
                    let json = self.client.names.renamed(event.name.unwrap_or_default(), json);
                    self.out.event(of_lane(json, lane.as_ref())).await;
                }
                Ok(Ok(None)) => break,
                Ok(Err(error)) => {
                    tracing::error!(%error, "an answer broke off");
                    let error = ApiError::internal("The server failed to end this response.");
                    self.out.error(&error, lane.as_ref()).await;
                    break;
                }
            }
        }
        // An answer that broke off has no last event.
        steers.extend(self.steering.end(&id, true));
        if steers.is_empty() {
            return None;
        }
        let ended = last.map(|last| ResponseEnd::read(&last));
        self.after(lane, ended, Succession { parent: id, store, settings: settings?, steers }).await
    }

    /// What follows the end of a response that was steered: its successor; or the client must
    /// answer its calls first, or gets its input back.
    async fn after(
        &self,
        lane: &Lane,
        ended: Option<ResponseEnd>,
        succession: Succession,
    ) -> Option<Succession> {
        let Some(required) = ended.filter(|ended| ended.can_go_on).map(|ended| ended.required) else {
            let why = "The response failed or was cancelled, so no other can continue it.";
            self.give_back(lane, succession.steers, why).await;
            return None;
        };
        if required.is_empty() && !self.steering.is_closed() {
            return Some(succession);
        }
        if !self.steering.is_closed() {
            for steer in &succession.steers {
                self.out.event(steer.pending(&required, lane)).await;
            }
        }
        let left = self.steering.wait(lane, succession.steers);
        self.give_back(lane, left, CLOSED).await;
        None
    }
}
