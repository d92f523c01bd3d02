//! Bounds the number of connections. Requests on excess connections get 503, except `/health`. Only a few excess connections are served at
//! a time and any more are closed at once, so that a flood costs no memory. The admin listener isn't counted.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Number of excess connections that are served at a time.
const EXCESS: usize = 64;

/// Places for connections.
pub(super) struct Capacity {
    places: Arc<Semaphore>,
    excess: Arc<Semaphore>,
}

/// Whether a connection has a place within the bound. Put into each request's extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    Served,
    /// All places are taken.
    Excess,
}

impl Capacity {
    pub(super) fn new(connections: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS))),
            excess: Arc::new(Semaphore::new(EXCESS)),
        }
    }

    /// A place for a new connection, given back when it is dropped; none if the excess places are taken, too.
    pub(super) fn admit(&self) -> Option<(Admission, OwnedSemaphorePermit)> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Some((Admission::Served, place));
        }
        metrics::counter!("sluice_connections_refused_total").increment(1);
        let place = Arc::clone(&self.excess).try_acquire_owned().ok()?;
        Some((Admission::Excess, place))
    }
}
