//! Stored responses that run in this process, by id: who cancels one, or waits for its events,
//! finds it here.
//!
//! Invariant: a response leaves when its end was stored, or is another's to store. One whose place
//! is dropped before that, since its client left while it began or its task failed, is handed to
//! the upkeep, which ends it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::{Lease, Owner};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// The responses that run. Cheap to clone.
#[derive(Clone, Default)]
pub(in crate::http) struct Running(Arc<Shared>);

#[derive(Default)]
struct Shared {
    entries: Mutex<HashMap<String, RunningEntry>>,
    /// Leases of those that nobody ends.
    abandoned: Mutex<Vec<Lease>>,
    has_abandoned: Notify,
}

struct RunningEntry {
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
pub(super) struct RunningPlace {
    running: Running,
    pub(super) lease: Lease,
    pub(super) withdrawn: CancellationToken,
    pub(super) stored: watch::Sender<u64>,
    has_ended: bool,
}

impl RunningPlace {
    /// Gives the place up, since the response's end was stored, or is another's to store.
    pub(super) fn leave(mut self) {
        self.has_ended = true;
    }
}

impl Running {
    /// Enters a response that this process runs.
    pub(super) fn enter(&self, lease: Lease) -> RunningPlace {
        let (stored, receiver) = watch::channel(0);
        let withdrawn = CancellationToken::new();
        let handle = Handle { withdrawn: withdrawn.clone(), stored: receiver };
        let entry = RunningEntry { lease: lease.clone(), handle };
        let older = lock(&self.0.entries).insert(lease.id().to_owned(), entry);
        if let Some(older) = older {
            // Whoever ran it has lost its lease.
            older.handle.withdrawn.cancel();
        }
        RunningPlace { running: self.clone(), lease, withdrawn, stored, has_ended: false }
    }

    /// The owner's response of this id, if it runs here.
    pub(super) fn find(&self, owner: &Owner, id: &str) -> Option<Handle> {
        let entries = lock(&self.0.entries);
        entries.get(id).filter(|entry| entry.lease.owner() == owner).map(|entry| entry.handle.clone())
    }

    /// Leases of all.
    pub(super) fn leases(&self) -> Vec<Lease> {
        lock(&self.0.entries).values().map(|entry| entry.lease.clone()).collect()
    }

    /// Waits for responses that nobody ends.
    pub(super) async fn abandoned(&self) -> Vec<Lease> {
        self.0.has_abandoned.notified().await;
        std::mem::take(&mut *lock(&self.0.abandoned))
    }
}

impl Drop for RunningPlace {
    fn drop(&mut self) {
        let shared = &self.running.0;
        let mut entries = lock(&shared.entries);
        if entries.get(self.lease.id()).is_some_and(|entry| entry.lease == self.lease) {
            entries.remove(self.lease.id());
        }
        drop(entries);
        if !self.has_ended {
            lock(&shared.abandoned).push(self.lease.clone());
            shared.has_abandoned.notify_one();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
