//! Record of the requests that a fake engine received, and its health, which a test sets.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;

/// Record of the requests that the engine received.
#[derive(Default)]
pub struct RequestLog {
    /// Bodies of requests for answers, without probes.
    pub(super) requests: Mutex<Vec<Value>>,
    /// Head of the last request for an answer, in lower case.
    pub(super) head: Mutex<String>,
    /// Request ids that were aborted over `/abort_request`.
    pub(super) aborted: Mutex<Vec<String>>,
    /// Number of requests whose client disconnected before the answer's end.
    pub(super) disconnected: AtomicUsize,
    pub(super) running: AtomicUsize,
    /// Number of answers that were lies.
    pub(super) lies: AtomicUsize,
    /// Answer to health checks.
    pub(super) health: Mutex<Health>,
    /// Number of health checks that the client gave up.
    pub(super) missed_checks: AtomicUsize,
    pub(super) changed: Notify,
}

/// Answer of a fake engine to health checks.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Health {
    /// Status 200.
    #[default]
    Well,
    /// Status 503.
    Failing,
    /// No answer.
    Silent,
}

impl RequestLog {
    /// Returns the bodies of the requests for answers, without probes.
    pub fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the head of the last request for an answer, in lower case.
    pub fn head(&self) -> String {
        self.head.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Request ids that were aborted over `/abort_request`.
    pub fn aborted(&self) -> Vec<String> {
        self.aborted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the answer to health checks from now on.
    pub fn set_health(&self, health: Health) {
        *self.health.lock().unwrap_or_else(PoisonError::into_inner) = health;
    }

    /// Number of health checks that the client gave up.
    pub fn missed_checks(&self) -> usize {
        self.missed_checks.load(Ordering::SeqCst)
    }

    /// Number of answers that were lies, to their end or until the client disconnected.
    pub fn lies(&self) -> usize {
        self.lies.load(Ordering::SeqCst)
    }

    /// Number of requests whose client disconnected before the answer's end.
    pub fn disconnected(&self) -> usize {
        self.disconnected.load(Ordering::SeqCst)
    }

    /// Waits until `holds` returns true, for at most half a minute.
    ///
    /// # Panics
    /// If it doesn't in that time.
    pub async fn wait_until(&self, holds: impl Fn(&Self) -> bool) {
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                if holds(self) {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), waiting).await.expect("it happens");
    }
}
