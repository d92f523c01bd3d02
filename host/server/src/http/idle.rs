//! How long a connection waits for its client: for the rest of a request's head, and for the next
//! request. Invariant: a connection on which a request is being answered waits for neither.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// What a connection waits for. Used by its task.
pub(crate) struct Waiting {
    phase: Mutex<Phase>,
    changed: Notify,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The head of a request has been on its way since then, or the connection is new.
    Head(Instant),
    /// A request is being answered.
    Busy,
    /// The last answer was sent then.
    Idle(Instant),
}

impl Phase {
    /// For how much longer the connection waits; none where it waits for nothing.
    fn left(self, patience: Patience, now: Instant) -> Option<Duration> {
        match self {
            Self::Head(since) => Some(patience.head.saturating_sub(now - since)),
            Self::Idle(since) => Some(patience.idle.saturating_sub(now - since)),
            Self::Busy => None,
        }
    }
}

/// For how long a connection waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// For a head, from its first byte on.
    pub(crate) head: Duration,
    /// For the first byte of the next request.
    pub(crate) idle: Duration,
}

impl Waiting {
    pub(crate) fn new() -> Self {
        Self { phase: Mutex::new(Phase::Head(Instant::now())), changed: Notify::new() }
    }

    /// Whether a request is being answered.
    pub(crate) fn is_busy(&self) -> bool {
        *self.lock() == Phase::Busy
    }

    /// A request has arrived.
    pub(crate) fn begin(&self) {
        *self.lock() = Phase::Busy;
    }

    /// Its answer was taken.
    pub(crate) fn end(&self) {
        self.go_to(Phase::Idle(Instant::now()));
    }

    /// Bytes have come.
    pub(crate) fn received(&self) {
        if matches!(*self.lock(), Phase::Idle(_)) {
            self.go_to(Phase::Head(Instant::now()));
        }
    }

    /// Ready when the client has kept the connection waiting for too long. `patience` is asked again
    /// and again, since it depends on how many connections there are.
    pub(crate) async fn over(&self, patience: impl Fn() -> Patience) {
        loop {
            let patience = patience();
            let left = self.lock().left(patience, Instant::now());
            match left {
                Some(Duration::ZERO) => return,
                Some(left) => {
                    let _ = timeout(left.min(patience.head), self.changed.notified()).await;
                }
                None => self.changed.notified().await,
            }
        }
    }

    fn go_to(&self, phase: Phase) {
        *self.lock() = phase;
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_and_a_next_request_have_times_of_their_own() {
        let patience = Patience { head: Duration::from_secs(5), idle: Duration::from_secs(75) };
        let began = Instant::now();
        let left = |phase: Phase, after| {
            let left = phase.left(patience, began + Duration::from_secs(after));
            left.map(|left| left.as_secs())
        };
        assert_eq!([left(Phase::Head(began), 1), left(Phase::Head(began), 9)], [Some(4), Some(0)]);
        assert_eq!([left(Phase::Idle(began), 9), left(Phase::Idle(began), 99)], [Some(66), Some(0)]);
        assert_eq!(left(Phase::Busy, 9999), None);
    }

    #[test]
    fn bytes_begin_a_head_only_between_requests() {
        let waiting = Waiting::new();
        let phase = || *waiting.lock();
        let new = phase();
        waiting.received();
        assert_eq!(phase(), new, "the rest of a head");
        waiting.begin();
        waiting.received();
        assert_eq!(phase(), Phase::Busy, "a body");
        waiting.end();
        assert!(matches!(phase(), Phase::Idle(_)));
        waiting.received();
        assert!(matches!(phase(), Phase::Head(_)));
    }
}
