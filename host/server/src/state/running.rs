//! Stored responses that run in this process, by id: who cancels one, or waits for its events,
//! finds it here.
//!
//! Invariant: a response leaves when its end was stored, or is another's to store. One whose place
//! is dropped before that, since its client left while it began or its task failed, is handed to
//! the upkeep, which ends it. One whose end couldn't be stored is remembered until it is, so that
//! nobody waits for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use store::{Chunk, Lease, Owner};
use tokio::sync::{Mutex as AsyncMutex, Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::answer::StoreProgress;
use accounts::{Account, Accounts, Principal};
use api::responses::FoldedLog;
use model::ReasoningStop;

/// The responses that run. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Running(Arc<Shared>);

#[derive(Default)]
struct Shared {
    entries: Mutex<HashMap<String, RunningEntry>>,
    /// Those that run no more, and of which the store says that they do.
    unstored: Mutex<HashMap<String, RunningEntry>>,
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
pub(crate) struct Handle {
    /// Cancelled when nobody wants the response any more.
    pub(crate) withdrawn: CancellationToken,
    /// What is stored of it. Closed when it runs no more.
    pub(crate) progress: watch::Receiver<StoreProgress>,
    /// Ends the response's reasoning, once it is generated.
    pub(crate) reasoning: Arc<OnceLock<ReasoningStop>>,
    /// What its stored events add up to, for those who read it meanwhile.
    pub(crate) so_far: Arc<AsyncMutex<SoFar>>,
}

/// What the events of a response add up to, as far as they were read. It is held by an account of
/// the response's owner.
#[derive(Default)]
pub(crate) struct SoFar {
    pub(crate) log: FoldedLog,
    account: Option<Account>,
}

impl SoFar {
    /// Has the owner's account hold all of it; what it can't hold isn't kept.
    pub(crate) fn hold(&mut self, accounts: &Accounts, owner: &Owner) {
        let open = || accounts.open(Principal::new(owner.name()));
        let account = self.account.get_or_insert_with(open);
        let bytes = usize::try_from(self.log.bytes()).unwrap_or(usize::MAX).saturating_mul(2);
        if account.hold(bytes.saturating_sub(account.held())).is_err() {
            *self = Self::default();
        }
    }
}

impl Handle {
    /// Waits until the response runs no more.
    pub(crate) async fn ended(mut self) {
        while self.progress.changed().await.is_ok() {}
    }
}

/// A response's place. Dropping it says that the response runs no more.
pub(crate) struct RunningPlace {
    running: Running,
    pub(crate) lease: Lease,
    pub(crate) withdrawn: CancellationToken,
    pub(crate) progress: watch::Sender<StoreProgress>,
    pub(crate) reasoning: Arc<OnceLock<ReasoningStop>>,
    has_ended: bool,
}

impl RunningPlace {
    /// Gives the place up, since the response's end was stored, or is another's to store.
    pub(crate) fn leave(mut self) {
        self.has_ended = true;
    }
}

impl Running {
    /// Enters a response that this process runs.
    pub(crate) fn enter(&self, lease: Lease) -> RunningPlace {
        let (progress, receiver) = watch::channel(StoreProgress::Stored(0));
        let withdrawn = CancellationToken::new();
        let reasoning = Arc::default();
        let handle = Handle {
            withdrawn: withdrawn.clone(),
            progress: receiver,
            reasoning: Arc::clone(&reasoning),
            so_far: Arc::default(),
        };
        let entry = RunningEntry { lease: lease.clone(), handle };
        let older = lock(&self.0.entries).insert(lease.id().to_owned(), entry);
        if let Some(older) = older {
            // Whoever ran it has lost its lease.
            older.handle.withdrawn.cancel();
        }
        lock(&self.0.unstored).remove(lease.id());
        RunningPlace { running: self.clone(), lease, withdrawn, progress, reasoning, has_ended: false }
    }

    /// The owner's response of this id, if it runs here, or its end couldn't be stored.
    pub(crate) fn find(&self, owner: &Owner, id: &str) -> Option<Handle> {
        let find = |entries: &Mutex<HashMap<String, RunningEntry>>| {
            let entries = lock(entries);
            entries.get(id).filter(|entry| entry.lease.owner() == owner).map(|entry| entry.handle.clone())
        };
        find(&self.0.entries).or_else(|| find(&self.0.unstored))
    }

    /// Remembers that these `last` events of a response couldn't be stored.
    pub(crate) fn remember_unstored(&self, lease: Lease, last: Arc<Chunk>) {
        let (_, progress) = watch::channel(StoreProgress::Unstored(last));
        let (withdrawn, reasoning) = (CancellationToken::new(), Arc::default());
        let handle = Handle { withdrawn, progress, reasoning, so_far: Arc::default() };
        lock(&self.0.unstored).insert(lease.id().to_owned(), RunningEntry { lease, handle });
    }

    /// Forgets that the response's end couldn't be stored: it is stored now, or the response is gone.
    pub(crate) fn forget_unstored(&self, id: &str) {
        lock(&self.0.unstored).remove(id);
    }

    /// Whether nothing runs.
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0.entries).is_empty()
    }

    /// Leases of all.
    pub(crate) fn leases(&self) -> Vec<Lease> {
        lock(&self.0.entries).values().map(|entry| entry.lease.clone()).collect()
    }

    /// Waits for responses that nobody ends.
    pub(crate) async fn abandoned(&self) -> Vec<Lease> {
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
