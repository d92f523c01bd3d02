//! Bounds of remote engines, with their default values, and the rows of those that the operator can
//! change.

use std::time::Duration;

use bounds::Field::{Time, Usize};
use bounds::Unit::{Count, Seconds};
use bounds::{Bound, Bounded, bound};

/// Bounds of remote engines.
#[derive(Debug, Clone)]
pub struct RemoteLimits {
    /// Time limit of connecting.
    pub connect_time: Duration,
    /// Time limit from a request to its first token; after it another engine is tried.
    pub first_token_time: Duration,
    /// Time limit between two tokens.
    pub token_time: Duration,
    /// Maximum number of other engines that are tried for an answer that hasn't begun.
    pub retries: usize,
    /// Interval of the health checks.
    pub health_time: Duration,
    /// Time limit of a request for an engine's facts, health or metrics.
    pub probe_time: Duration,
    /// Time limit of the events behind an answer's end, which have its counts.
    pub tail_time: Duration,
    /// Maximum number of these events.
    pub tail_events: usize,
    /// Maximum number of an answer's events in addition to one per token of prompt and answer.
    pub spare_events: usize,
    /// Size of an event's text in bytes from which on it is tokenised on a thread of its own.
    pub inline_text: usize,
}

impl Default for RemoteLimits {
    fn default() -> Self {
        Self {
            connect_time: Duration::from_secs(2),
            first_token_time: Duration::from_mins(2),
            token_time: Duration::from_secs(30),
            retries: 2,
            health_time: Duration::from_secs(2),
            probe_time: Duration::from_secs(5),
            tail_time: Duration::from_secs(1),
            tail_events: 8,
            spare_events: 1024,
            inline_text: 4 << 10,
        }
    }
}

impl Bounded for RemoteLimits {
    const HEADING: &'static str = "Limits of remote engines";
    #[rustfmt::skip] // A row per bound.
    const BOUNDS: &'static [Bound<Self>] = &[
        bound("engine-connect-seconds", Seconds, 1..=60, "Time for connecting to an engine", |l| Time(&mut l.connect_time)),
        bound("engine-first-token-seconds", Seconds, 1..=3600, "Time from a request to an engine to its first token; after that another engine is tried", |l| Time(&mut l.first_token_time)),
        bound("engine-token-seconds", Seconds, 1..=3600, "Time between two tokens from an engine; after that the answer fails", |l| Time(&mut l.token_time)),
        bound("engine-retries", Count("ENGINES"), 1..=16, "Other engines that are tried for an answer that hasn't begun", |l| Usize(&mut l.retries)),
        bound("engine-health-seconds", Seconds, 1..=600, "Interval of checks of an engine's health and load", |l| Time(&mut l.health_time)),
    ];
}
