//! Bounds the number of connections. Requests on excess connections get 503, except `/health`. Only
//! a few excess connections are served at a time: a further one takes the place of the oldest, so
//! that neither a flood nor connections that send nothing keep `/health` from being answered, and a
//! flood costs no memory. The admin listener isn't counted.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::server_metrics::CONNECTIONS_REFUSED;

/// Number of excess connections that are served at a time.
const EXCESS: usize = 64;

/// Places for connections.
pub(crate) struct Capacity {
    places: Arc<Semaphore>,
    /// Number of places, taken or not.
    total: usize,
    excess: Arc<Semaphore>,
    /// Tokens that close the excess connections, oldest first; those of connections that have ended
    /// are cancelled.
    closing: Mutex<VecDeque<CancellationToken>>,
}

/// Whether a connection has a place within the bound. Put into each request's extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    Served,
    /// All places are taken.
    Excess,
}

/// A connection's place, given back when it is dropped.
pub(crate) struct ConnectionPlace {
    pub(crate) admission: Admission,
    /// Token that closes the connection.
    pub(crate) disconnect: CancellationToken,
    _permit: Option<OwnedSemaphorePermit>,
}

impl ConnectionPlace {
    /// The place of a connection that isn't counted.
    pub(crate) fn uncounted() -> Self {
        Self::new(Admission::Served, None)
    }

    fn new(admission: Admission, permit: Option<OwnedSemaphorePermit>) -> Self {
        Self { admission, disconnect: CancellationToken::new(), _permit: permit }
    }
}

impl Capacity {
    pub(crate) fn new(connections: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS))),
            total: connections,
            excess: Arc::new(Semaphore::new(EXCESS)),
            closing: Mutex::default(),
        }
    }

    /// Whether less than a quarter of the places is free.
    pub(crate) fn is_tight(&self) -> bool {
        self.places.available_permits() < self.total / 4
    }

    /// A place for a new connection, perhaps that of an excess one, whose end is waited for.
    /// `None`: the server is gone.
    pub(crate) async fn admit(&self) -> Option<ConnectionPlace> {
        if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
            return Some(ConnectionPlace::new(Admission::Served, Some(permit)));
        }
        metrics::counter!(CONNECTIONS_REFUSED.name()).increment(1);
        if self.excess.available_permits() == 0 {
            self.close_oldest();
        }
        let permit = Arc::clone(&self.excess).acquire_owned().await.ok()?;
        let place = ConnectionPlace::new(Admission::Excess, Some(permit));
        let mut closing = self.closing();
        closing.retain(|token| !token.is_cancelled());
        closing.push_back(place.disconnect.clone());
        drop(closing);
        Some(place)
    }

    fn close_oldest(&self) {
        let closing = self.closing();
        if let Some(oldest) = closing.iter().find(|token| !token.is_cancelled()) {
            oldest.cancel();
        }
    }

    fn closing(&self) -> MutexGuard<'_, VecDeque<CancellationToken>> {
        self.closing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.disconnect.cancel();
    }
}
