//! How many connections there may be. On those beyond that, requests get 503 but for `/health`; a few such are served at a time, and
//! what comes on top of them is closed at once, so that a flood costs no memory. The admin listener counts none.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Connections beyond the bound that are told so at a time.
const EXCESS: usize = 64;

/// The places for connections.
pub(super) struct Capacity {
    places: Arc<Semaphore>,
    excess: Arc<Semaphore>,
}

/// A connection's place. Put into each request's extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    Served,
    /// There are as many as there may be.
    Excess,
}

impl Capacity {
    pub(super) fn new(connections: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS))),
            excess: Arc::new(Semaphore::new(EXCESS)),
        }
    }

    /// A place for a new connection, given back when it is dropped; none where even refusals are too many.
    pub(super) fn admit(&self) -> Option<(Admission, OwnedSemaphorePermit)> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Some((Admission::Served, place));
        }
        metrics::counter!("sluice_connections_refused_total").increment(1);
        let place = Arc::clone(&self.excess).try_acquire_owned().ok()?;
        Some((Admission::Excess, place))
    }
}
