//! Stored responses that run in this process, by id: who cancels one, or waits for its events, finds it here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::{Lease, Owner};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The responses that run. Cheap to clone.
#[derive(Clone, Default)]
pub(in crate::http) struct Running(Arc<Mutex<HashMap<String, Entry>>>);

struct Entry {
    lease: Lease,
    handle: Handle,
}

/// What others know of a response that runs.
#[derive(Clone)]
pub(in crate::http) struct Handle {
    /// Cancelled when nobody wants the response any more.
    pub(super) withdrawn: CancellationToken,
    /// Number of its stored events. Closed when it runs no more.
    pub(super) stored: watch::Receiver<u64>,
}

impl Handle {
    /// Waits until the response runs no more.
    pub(super) async fn ended(mut self) {
        while self.stored.changed().await.is_ok() {}
    }
}

/// A response's place. Dropping it says that the response runs no more.
pub(super) struct Place {
    running: Running,
    id: String,
    pub(super) lease: Lease,
    pub(super) withdrawn: CancellationToken,
    pub(super) stored: watch::Sender<u64>,
}

impl Running {
    /// Enters a response that this process runs.
    pub(super) fn enter(&self, lease: Lease) -> Place {
        let (stored, receiver) = watch::channel(0);
        let withdrawn = CancellationToken::new();
        let id = lease.id().to_owned();
        let handle = Handle { withdrawn: withdrawn.clone(), stored: receiver };
        self.lock().insert(id.clone(), Entry { lease: lease.clone(), handle });
        Place { running: self.clone(), id, lease, withdrawn, stored }
    }

    /// The owner's response of this id, if it runs here.
    pub(super) fn find(&self, owner: &Owner, id: &str) -> Option<Handle> {
        self.lock().get(id).filter(|entry| entry.lease.owner() == owner).map(|entry| entry.handle.clone())
    }

    /// Leases of all.
    pub(super) fn leases(&self) -> Vec<Lease> {
        self.lock().values().map(|entry| entry.lease.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.running.lock().remove(&self.id);
    }
}
