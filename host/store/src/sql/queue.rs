//! Calls to the threads that own the connections, in a bounded queue. A call is answered once it is
//! committed. A caller that goes away changes nothing: a call that was queued is made.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::session::Session;
use crate::{Owner, Result, StoreError};

/// Calls that wait at most; further callers wait for a place.
const WAITING: usize = 1024;

/// A call, with what a thread must know to make it.
pub(crate) struct Queued<K> {
    pub(crate) kind: K,
    pub(crate) call: Box<dyn Call>,
}

pub(crate) trait Call: Send {
    /// Makes the call, once more if it was made before.
    fn run(&mut self, session: &Session) -> Result<()>;
    /// Answers the caller; `lost` says why it wasn't made, or why a success wasn't committed.
    fn answer(self: Box<Self>, lost: Option<&StoreError>);
}

struct Pending<F, T> {
    work: F,
    /// None while it wasn't made.
    result: Option<Result<T>>,
    answer: oneshot::Sender<Result<T>>,
    _place: OwnedSemaphorePermit,
}

impl<T: Send, F: Fn(&Session) -> Result<T> + Send> Call for Pending<F, T> {
    fn run(&mut self, session: &Session) -> Result<()> {
        let result = self.result.insert((self.work)(session));
        result.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    fn answer(self: Box<Self>, lost: Option<&StoreError>) {
        let result = match (self.result, lost) {
            // One that failed by itself has an error of its own.
            (Some(result), Some(lost)) => result.and(Err(lost.clone())),
            (Some(result), None) => result,
            (None, lost) => Err(lost.cloned().unwrap_or_else(closed)),
        };
        // The caller may have gone.
        let _ = self.answer.send(result);
    }
}

struct Waiting<K> {
    calls: VecDeque<Queued<K>>,
    closed: bool,
    /// Owners of whom a call is being made that keeps their others waiting.
    busy: HashSet<Owner>,
}

/// A bounded queue of calls, shared by callers and threads.
pub(crate) struct Queue<K> {
    waiting: Mutex<Waiting<K>>,
    ready: Condvar,
    places: Arc<Semaphore>,
}

fn closed() -> StoreError {
    StoreError::Unavailable("it is closed".to_owned())
}

impl<K> Queue<K> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            waiting: Mutex::new(Waiting { calls: VecDeque::new(), closed: false, busy: HashSet::new() }),
            ready: Condvar::new(),
            places: Arc::new(Semaphore::new(WAITING)),
        })
    }

    /// Has `work` made by a thread, and returns its result once it is committed.
    pub(crate) async fn call<T: Send + 'static>(
        self: Arc<Self>,
        kind: K,
        work: impl Fn(&Session) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let place = self.places.clone().acquire_owned().await.map_err(|_| closed())?;
        let (answer, result) = oneshot::channel();
        let call = Box::new(Pending { work, result: None, answer, _place: place });
        {
            let mut waiting = self.lock();
            if waiting.closed {
                return Err(closed());
            }
            waiting.calls.push_back(Queued { kind, call });
        }
        self.ready.notify_one();
        result.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Takes no more calls; threads make those that wait and end.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.places.close();
        self.ready.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<K>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the thread has something else to do than garbage.
    pub(crate) fn is_waiting(&self) -> bool {
        let waiting = self.lock();
        waiting.closed || !waiting.calls.is_empty()
    }

    /// The next calls, at most `limit`; none once the queue is closed and empty.
    pub(crate) fn take(&self, limit: usize) -> VecDeque<Queued<K>> {
        let waits = |waiting: &mut Waiting<K>| waiting.calls.is_empty() && !waiting.closed;
        let mut waiting = self.ready.wait_while(self.lock(), waits).unwrap_or_else(PoisonError::into_inner);
        let count = waiting.calls.len().min(limit);
        waiting.calls.drain(..count).collect()
    }

    /// The first call that waits for no other one of its `owner`, who is busy until it is
    /// [`done`](Self::done); none once the queue is closed and empty. So one owner's calls don't keep all
    /// threads waiting for its lock.
    pub(crate) fn take_free(&self, owner: fn(&K) -> Option<&Owner>) -> Option<Queued<K>> {
        let mut waiting = self.lock();
        loop {
            let is_free =
                |queued: &Queued<K>| owner(&queued.kind).is_none_or(|owner| !waiting.busy.contains(owner));
            if let Some(place) = waiting.calls.iter().position(is_free) {
                let queued = waiting.calls.remove(place)?;
                waiting.busy.extend(owner(&queued.kind).cloned());
                return Some(queued);
            }
            if waiting.closed && waiting.calls.is_empty() {
                return None;
            }
            waiting = self.ready.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// An owner's call is made.
    pub(crate) fn done(&self, owner: &Owner) {
        self.lock().busy.remove(owner);
        self.ready.notify_all();
    }

    /// Whether no call comes for this long.
    pub(crate) fn is_quiet(&self, time: Duration) -> bool {
        let waits = |waiting: &mut Waiting<K>| waiting.calls.is_empty() && !waiting.closed;
        let waited = self.ready.wait_timeout_while(self.lock(), time, waits);
        waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

/// Answers all who wait, should a thread panic.
pub(crate) struct CloseOnDrop<'a, K>(pub(crate) &'a Queue<K>);

impl<K> Drop for CloseOnDrop<'_, K> {
    fn drop(&mut self) {
        self.0.close();
        self.0.lock().calls.clear();
    }
}
