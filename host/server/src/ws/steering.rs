//! Input that steers the responses of a socket: which responses run and may be steered, and what
//! input waits for the end of each.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use crate::accept::body::hold;
use crate::ws::lanes::Lane;
use accounts::Account;
use api::ids::Ids;
use api::responses::end_reasoning;
pub(crate) use api::responses::steer::{self, SteerFault, SteerRequest};
use api::responses::web_socket::error_event;
use model::{NotStopped, ReasoningStop};

/// Number of inputs that may wait for one response's end.
const WAITING: usize = 8;
/// Number of responses of which it is known that they have ended.
const ENDED: usize = 64;

/// Why a socket that closes takes no input.
pub(crate) const CLOSED: &str = "This WebSocket takes no more requests.";

/// Input that was accepted.
pub(crate) struct Steer {
    id: String,
    response: String,
    /// JSON as it came.
    input: String,
    /// JSON of its messages.
    messages: String,
    /// Charged for it.
    _account: Account,
}

impl Steer {
    /// Tells the client that it still waits, for the `required` input.
    pub(crate) fn pending(&self, required: &[serde_json::Value], lane: &Lane) -> Bytes {
        steer::pending(&self.id, &self.response, required, lane.as_ref())
    }

    /// Gives it back.
    pub(crate) fn failed(self, why: &str, lane: &Lane) -> Bytes {
        let why = (SteerFault::NoSuccessor, why);
        steer::failed(Some(&self.id), &self.response, self.input, why, lane.as_ref())
    }
}

/// The messages of several inputs, in their order.
pub(crate) fn messages(steers: &[Steer]) -> String {
    steers.iter().map(|steer| &*steer.messages).collect::<Vec<_>>().join(",")
}

/// The steering of one socket.
#[derive(Default)]
pub(crate) struct Steering(Mutex<Responses>);

/// The responses of a socket, as far as their steering needs it.
#[derive(Default)]
struct Responses {
    active: Vec<ActiveResponse>,
    /// Input that waits for the client to continue its response in this lane, one response in each
    /// lane.
    waiting: Vec<(Lane, Vec<Steer>)>,
    /// Responses that have ended, whether they failed, and their lanes; the latest last.
    ended: VecDeque<(String, bool, Lane)>,
    is_closed: bool,
}

struct ActiveResponse {
    response: String,
    lane: Lane,
    /// Ends the response; none if it can't be steered.
    stop: Option<CancellationToken>,
    /// Ends the response's reasoning.
    reasoning: ReasoningStop,
    steers: Vec<Steer>,
}

impl Steering {
    /// A response has begun, whose reasoning `reasoning` ends. `stop` ends it, if it can be steered.
    pub(crate) fn begin(
        &self,
        response: &str,
        lane: &Lane,
        stop: Option<CancellationToken>,
        reasoning: ReasoningStop,
    ) {
        let (response, lane, steers) = (response.to_owned(), lane.clone(), Vec::new());
        self.lock().active.push(ActiveResponse { response, lane, stop, reasoning, steers });
    }

    /// Ends the reasoning of a response that runs, or refuses that. Returns the event that says so.
    pub(crate) fn end_reasoning(&self, response: &str) -> Bytes {
        let responses = self.lock();
        let lane = responses.lane_of(response);
        let active = responses.active.iter().find(|active| active.response == response);
        let asked = match active {
            Some(active) => active.reasoning.ask().map_err(end_reasoning::refusal),
            None if responses.ended.iter().any(|(id, ..)| id == response) => {
                Err(end_reasoning::refusal(NotStopped::NotReasoning))
            }
            None => Err(end_reasoning::unknown()),
        };
        match asked {
            Ok(()) => end_reasoning::accepted(response, lane.as_ref()),
            Err(error) => error_event(&error, lane.as_ref()),
        }
    }

    /// Takes the client's input for a response that runs, or refuses it. Returns the event that
    /// says so.
    pub(crate) fn submit(&self, request: SteerRequest, mut account: Account) -> Bytes {
        let SteerRequest { response, input, messages } = request;
        let mut responses = self.lock();
        let lane = responses.lane_of(&response);
        let checked = messages
            .map_err(|what| (SteerFault::InvalidInput, what))
            .and_then(|messages| Ok((messages, responses.find(&response)?)))
            .and_then(|(messages, active)| {
                let stop = active.stop.clone().ok_or_else(not_supported)?;
                if active.steers.len() >= WAITING || hold(&mut account, input.len()).is_err() {
                    return Err(too_many());
                }
                Ok((messages, active, stop))
            });
        match checked {
            Err((fault, message)) => steer::failed(None, &response, input, (fault, &message), lane.as_ref()),
            Ok((messages, active, stop)) => {
                let id = Ids::random().next("steer_");
                let event = steer::accepted(&id, &response, lane.as_ref());
                active.steers.push(Steer { id, response, input, messages, _account: account });
                stop.cancel();
                event
            }
        }
    }

    /// A response ends: its input takes no more. Returns what it has.
    pub(crate) fn end(&self, response: &str, has_failed: bool) -> Vec<Steer> {
        let mut responses = self.lock();
        let Some(at) = responses.active.iter().position(|active| active.response == response) else {
            return Vec::new();
        };
        let ActiveResponse { response, lane, steers, .. } = responses.active.swap_remove(at);
        if responses.ended.len() >= ENDED {
            responses.ended.pop_front();
        }
        responses.ended.push_back((response, has_failed, lane));
        steers
    }

    /// Has input wait for the client to continue its response in the lane. Returns it where the
    /// socket takes no more requests.
    pub(crate) fn wait(&self, lane: &Lane, steers: Vec<Steer>) -> Vec<Steer> {
        let mut responses = self.lock();
        if responses.is_closed {
            return steers;
        }
        responses.waiting.push((lane.clone(), steers));
        Vec::new()
    }

    /// Takes the input that waits in a lane: that for the response `parent`, which is continued
    /// now, and that for another, which is not.
    pub(crate) fn take_waiting(&self, lane: &Lane, parent: Option<&str>) -> (Vec<Steer>, Vec<Steer>) {
        let mut responses = self.lock();
        let Some(at) = responses.waiting.iter().position(|(of, _)| of == lane) else {
            return Default::default();
        };
        let (_, steers) = responses.waiting.swap_remove(at);
        steers.into_iter().partition(|steer| Some(&*steer.response) == parent)
    }

    /// The socket takes no more requests. Returns the input that waits for one.
    pub(crate) fn close(&self) -> Vec<(Lane, Vec<Steer>)> {
        let mut responses = self.lock();
        responses.is_closed = true;
        std::mem::take(&mut responses.waiting)
    }

    /// Whether no successor may begin.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    fn lock(&self) -> MutexGuard<'_, Responses> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why input is refused.
type Refused = (SteerFault, String);

impl Responses {
    fn lane_of(&self, response: &str) -> Lane {
        let active = self.active.iter().map(|active| (&active.response, &active.lane));
        let ended = self.ended.iter().map(|(id, _, lane)| (id, lane));
        active.chain(ended).find(|(id, _)| *id == response).and_then(|(_, lane)| lane.clone())
    }

    fn find(&mut self, response: &str) -> Result<&mut ActiveResponse, Refused> {
        let ended = self.ended.iter().find(|(id, ..)| id == response);
        let fault = match ended {
            _ if self.is_closed => (SteerFault::NotActive, CLOSED),
            Some((_, true, _)) => (SteerFault::NotActive, "The response has failed."),
            Some((_, false, _)) => (
                SteerFault::Completed,
                "The response has ended: send the input with a response.create that continues it.",
            ),
            None => (SteerFault::NotFound, "No response with this id runs on this WebSocket."),
        };
        let found = self.active.iter_mut().find(|active| active.response == response);
        found.filter(|_| !self.is_closed).ok_or_else(|| (fault.0, fault.1.to_owned()))
    }
}

fn not_supported() -> Refused {
    let message = "A response can't be steered in a conversation, with context_management, without an answer of the model, or where there is no memory to keep its settings in.";
    (SteerFault::NotSupported, message.to_owned())
}

fn too_many() -> Refused {
    (
        SteerFault::TooMany,
        format!(
            "At most {WAITING} inputs may wait for the end of a response, and less where memory is short."
        ),
    )
}
