//! Unstored responses that a socket remembers, so that its client can continue them: the last one
//! of each lane.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::{End, Status, StoredItem};

use crate::accept::app::App;
use crate::answer::{Keeper, Keeping, Kept};
use crate::ws::lanes::Lane;
use accounts::{Account, Principal};

/// Bytes that an item takes beside its text.
const ITEM_BYTES: usize = 64;

/// Items of a conversation, each as JSON, oldest first.
pub(crate) type Context = Arc<[Vec<u8>]>;

/// The memory of one socket. What it holds is charged to the socket's principal, and all of it is
/// gone with the socket.
pub(crate) struct Memory {
    app: App,
    principal: Principal,
    /// At most one response of each lane, the oldest first.
    responses: Mutex<Vec<Remembered>>,
}

struct Remembered {
    lane: Lane,
    id: String,
    context: Context,
    /// Its bytes, held while it is here.
    account: Account,
}

impl Memory {
    pub(crate) fn new(app: &App, principal: &Principal) -> Self {
        Self { app: app.clone(), principal: principal.clone(), responses: Mutex::default() }
    }

    /// All items up to the end of the response `id`, of whatever lane.
    pub(crate) fn find(&self, id: &str) -> Option<Context> {
        self.lock().iter().find(|response| response.id == id).map(|response| Arc::clone(&response.context))
    }

    /// Forgets the response, if it is the lane's: a request in the lane failed to continue it.
    pub(crate) fn forget(&self, lane: &Lane, id: &str) {
        self.lock().retain(|response| response.lane != *lane || response.id != id);
    }

    /// Remembers a response in place of the lane's last one. The oldest are forgotten where there
    /// is too little room; one that is too large alone isn't remembered.
    fn remember(&self, lane: Lane, id: String, context: Context) {
        let bytes = context.iter().map(|item| item.len() + ITEM_BYTES).sum();
        let mut responses = self.lock();
        responses.retain(|response| response.lane != lane);
        let mut account = self.app.remembered.open(self.principal.clone());
        loop {
            let held: usize = responses.iter().map(|response| response.account.held()).sum();
            if held + bytes <= self.app.limits.http.socket_memory && account.hold(bytes).is_ok() {
                return responses.push(Remembered { lane, id, context, account });
            }
            if responses.is_empty() {
                return tracing::debug!(bytes, "a response is too large to be remembered");
            }
            responses.remove(0);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Remembered>> {
        self.responses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeper of an unstored answer: its socket remembers it.
pub(crate) struct MemoryKeeper {
    pub(crate) memory: Arc<Memory>,
    pub(crate) lane: Lane,
    /// Id of the response.
    pub(crate) id: String,
    /// The response that it continues.
    pub(crate) parent: Option<String>,
    /// Items that it continues.
    pub(crate) before: Context,
    /// Its own input.
    pub(crate) input: Vec<StoredItem>,
}

impl Keeper for MemoryKeeper {
    fn keep(self: Box<Self>, end: End) -> Keeping {
        let Self { memory, lane, id, parent, before, input } = *self;
        match (end.status, parent) {
            (Status::Completed | Status::Incomplete, _) => {
                let own = input.into_iter().chain(end.output).map(|item| item.body);
                memory.remember(lane, id, before.iter().cloned().chain(own).collect());
            }
            (Status::Failed, Some(parent)) => memory.forget(&lane, &parent),
            _ => {}
        }
        Box::pin(std::future::ready(Kept::Here))
    }
}
