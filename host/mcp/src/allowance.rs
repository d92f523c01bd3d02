//! Allowance of a tool server's messages. Whatever a server sends, unasked for or not, costs some
//! of it before it is looked at. The allowance grows with time and with every request that is sent,
//! so answers never use it up; a server that uses it up loses its connection.
//!
//! Invariant: a connection ends for one reason, which all its calls get. `client`, `screen` and the
//! transports share it.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::error::McpError;
use super::metrics::TOOL_FLOODS;
use super::values::ValueCounter;
use crate::limits::McpLimits;

/// Seconds for which unused allowance is kept.
const BURST: f64 = 4.0;
/// Bytes that cost as much as a message.
const BYTES: f64 = 65_536.0;
/// Notifications of progress that each request may cause, in addition to its answer.
const PROGRESS: f64 = 16.0;

/// Allowance of one connection, in messages.
pub(super) struct Allowance {
    /// Label of the server in metrics.
    label: Arc<str>,
    per_second: u32,
    /// What one request adds: the largest answer, and progress.
    per_request: f64,
    state: Mutex<State>,
    /// Why the connection ended, if it was ended here.
    violation: OnceLock<McpError>,
    ended: CancellationToken,
}

struct State {
    left: f64,
    at: Instant,
    /// Number of requests without an answer.
    open: u32,
}

impl Allowance {
    /// Makes the allowance of a new connection.
    pub(super) fn new(label: Arc<str>, limits: &McpLimits) -> Arc<Self> {
        let per_second = limits.messages_per_second;
        let state = State { left: BURST * f64::from(per_second), at: Instant::now(), open: 0 };
        Arc::new(Self {
            label,
            per_second,
            per_request: PROGRESS + cost(limits.message_bytes),
            state: Mutex::new(state),
            violation: OnceLock::new(),
            ended: CancellationToken::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a message of this size from the allowance. Returns false, and ends the connection, if
    /// there is too little left.
    pub(super) fn take(&self, bytes: usize) -> bool {
        self.spend(cost(bytes), Instant::now())
    }

    /// Takes a whole message, as [`Self::take`] does, unless it has too many values, which ends the
    /// connection, too.
    pub(super) fn take_message(&self, message: &[u8]) -> bool {
        match ValueCounter::default().read(message) {
            Ok(()) => self.take(message.len()),
            Err(fault) => {
                self.end(fault);
                false
            }
        }
    }

    /// Takes bytes that are no message.
    pub(super) fn take_bytes(&self, bytes: usize) -> bool {
        self.spend(cost(bytes) - 1.0, Instant::now())
    }

    fn spend(&self, cost: f64, now: Instant) -> bool {
        let mut state = self.lock();
        let passed = now.saturating_duration_since(state.at).as_secs_f64();
        let most = BURST * f64::from(self.per_second) + f64::from(state.open) * self.per_request;
        state.left = (state.left + passed * f64::from(self.per_second)).min(most) - cost;
        state.at = now;
        let is_over = state.left < 0.0;
        drop(state);
        if is_over {
            self.end(McpError::Flooded(self.per_second));
        }
        !is_over
    }

    /// Adds what a request may cause.
    pub(super) fn asked(&self) {
        let mut state = self.lock();
        state.open += 1;
        state.left += self.per_request;
    }

    /// Removes what a request added: it was answered or given up. An answer to nothing changes
    /// nothing.
    pub(super) fn answered(&self) {
        let mut state = self.lock();
        state.open = state.open.saturating_sub(1);
    }

    /// Ends the connection for this reason, unless it was ended before. A flood is counted before
    /// anybody learns of it.
    pub(super) fn end(&self, why: McpError) {
        let is_flood = matches!(why, McpError::Flooded(_));
        if self.violation.set(why).is_ok() && is_flood {
            let label = Arc::clone(&self.label);
            metrics::counter!(TOOL_FLOODS.name(), "server" => label).increment(1);
        }
        self.ended.cancel();
    }

    /// Ready when the connection must end.
    pub(super) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Why the connection was ended, if it was.
    pub(super) fn violation(&self) -> Option<&McpError> {
        self.violation.get()
    }
}

/// Cost of a message of this size, in messages.
fn cost(bytes: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "sizes are below 2^53")]
    let bytes = bytes as f64;
    1.0 + bytes / BYTES
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use super::{Allowance, McpError, McpLimits, cost};

    fn allowance() -> (Arc<Allowance>, Instant) {
        let limits = McpLimits { messages_per_second: 10, message_bytes: 1 << 20, ..McpLimits::default() };
        (Allowance::new("test".into(), &limits), Instant::now())
    }

    #[test]
    fn burst_of_four_seconds_then_the_steady_rate() {
        let (allowance, now) = allowance();
        assert_eq!((0..50).take_while(|_| allowance.spend(1.0, now)).count(), 40);
        assert_eq!(allowance.violation(), Some(&McpError::Flooded(10)));
        let (allowance, now) = self::allowance();
        let second = |n: u64| now + Duration::from_secs(n);
        assert!((1..100).all(|n| (0..10).all(|_| allowance.spend(1.0, second(n)))));
        assert_eq!((0..50).take_while(|_| allowance.spend(1.0, second(1000))).count(), 40);
    }

    #[test]
    fn bytes_cost_too() {
        let (allowance, now) = allowance();
        assert_eq!((0..50).take_while(|_| allowance.spend(cost(9 << 16), now)).count(), 4);
    }

    #[test]
    fn only_answers_to_requests_are_free() {
        let (allowance, now) = allowance();
        for _ in 0..1000 {
            allowance.asked();
            assert!(allowance.spend(cost(1 << 20), now));
            allowance.answered();
        }
        let unasked = (0..1000).take_while(|_| {
            allowance.answered();
            allowance.spend(1.0, now)
        });
        assert_eq!(unasked.count(), 40);
    }
}
