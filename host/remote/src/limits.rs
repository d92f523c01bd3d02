//! Bounds of remote engines, with their default values, and the rows of those that the operator can
//! change.

use std::time::Duration;

bounds::limits! {
    /// Bounds of remote engines.
    RemoteLimits, "Limits of remote engines":

    connect_time: Duration = Duration::from_secs(2), "engine-connect-seconds", Seconds, 1..=60, "Time for connecting to an engine";
    first_token_time: Duration = Duration::from_mins(2), "engine-first-token-seconds", Seconds, 1..=3600, "Time from a request to an engine to its first token; after that another engine is tried";
    token_time: Duration = Duration::from_secs(30), "engine-token-seconds", Seconds, 1..=3600, "Time between two tokens from an engine; after that the answer fails";
    retries: usize = 2, "engine-retries", Count("ENGINES"), 1..=16, "Other engines that are tried for an answer that hasn't begun";
    health_time: Duration = Duration::from_secs(2), "engine-health-seconds", Seconds, 1..=600, "Interval of checks of an engine's health and load";
    /// Time limit of a request for an engine's facts, health or metrics.
    probe_time: Duration = Duration::from_secs(5);
    /// Time limit of the events behind an answer's end, which have its counts.
    tail_time: Duration = Duration::from_secs(1);
    /// Maximum number of these events.
    tail_events: usize = 8;
    /// Maximum number of an answer's events in addition to one per token of prompt and answer.
    spare_events: usize = 1024;
    /// Size of an event's text in bytes from which on it is tokenised on a thread of its own.
    inline_text: usize = 4 << 10;
}
