//! Circuit breaker of one engine. After several failures the engine gets no requests for a while,
//! then exactly one (the probe).

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Parameters of a breaker.
#[derive(Clone, Debug)]
pub struct BreakerOptions {
    /// Failures within `window` that open the breaker; at least 1.
    pub failures: usize,
    /// Length of the window.
    pub window: Duration,
    /// Time that the breaker is open at first; doubled after each probe that fails.
    pub open_first: Duration,
    /// Longest time that the breaker is open.
    pub open_longest: Duration,
}

impl Default for BreakerOptions {
    fn default() -> Self {
        Self {
            failures: 5,
            window: Duration::from_secs(10),
            open_first: Duration::from_secs(5),
            open_longest: Duration::from_mins(1),
        }
    }
}

/// State of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// Requests pass.
    Closed,
    /// No request passes.
    Open,
    /// One request may pass as a probe, or is under way.
    HalfOpen,
}

/// The breaker's epoch in which a request was let pass. The request's outcome is ignored if the
/// epoch has changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Permit {
    epoch: u64,
    probe: bool,
}

pub(super) struct Breaker {
    state: State,
    /// Number of the current state, incremented with each change.
    epoch: u64,
    /// Times of the latest failures while closed, the oldest first; fewer than
    /// `BreakerOptions::failures`.
    failures: VecDeque<Instant>,
    /// Length of the last open time; zero while closed.
    open_for: Duration,
}

#[derive(Clone, Copy)]
enum State {
    Closed,
    Open { until: Instant },
    Probing { since: Instant },
}

impl Breaker {
    pub(super) fn new() -> Self {
        Self { state: State::Closed, epoch: 0, failures: VecDeque::new(), open_for: Duration::ZERO }
    }

    pub(super) fn permits(&self, now: Instant) -> bool {
        match self.state {
            State::Closed => true,
            State::Open { until } => until <= now,
            State::Probing { .. } => false,
        }
    }

    /// Lets a request pass; `permits` must have returned true. The request becomes the probe unless
    /// the breaker is closed.
    pub(super) fn permit(&mut self, now: Instant) -> Permit {
        let probe = !matches!(self.state, State::Closed);
        if probe {
            self.change(State::Probing { since: now });
        }
        Permit { epoch: self.epoch, probe }
    }

    pub(super) fn succeeded(&mut self, permit: Permit) {
        if permit.probe && permit.epoch == self.epoch {
            self.open_for = Duration::ZERO;
            self.change(State::Closed);
        }
    }

    pub(super) fn failed(&mut self, permit: Permit, options: &BreakerOptions, now: Instant) {
        if permit.epoch == self.epoch {
            match self.state {
                State::Probing { .. } => self.open(options, now),
                State::Closed => self.count_failure(options, now),
                State::Open { .. } => {}
            }
        }
    }

    /// Ends a request without an outcome, as when its client left. If it was the probe, another
    /// request may become the probe.
    pub(super) fn abandoned(&mut self, permit: Permit) {
        if let State::Probing { since } = self.state
            && permit.epoch == self.epoch
        {
            self.change(State::Open { until: since });
        }
    }

    /// Time until a request may pass; one second while a probe is under way.
    pub(super) fn retry_after(&self, now: Instant) -> Duration {
        match self.state {
            State::Closed => Duration::ZERO,
            State::Open { until } => until.saturating_duration_since(now),
            State::Probing { .. } => Duration::from_secs(1),
        }
    }

    pub(super) fn state(&self, now: Instant) -> BreakerState {
        match self.state {
            State::Closed => BreakerState::Closed,
            State::Open { until } if now < until => BreakerState::Open,
            State::Open { .. } | State::Probing { .. } => BreakerState::HalfOpen,
        }
    }

    fn count_failure(&mut self, options: &BreakerOptions, now: Instant) {
        self.failures.retain(|&at| now.saturating_duration_since(at) <= options.window);
        self.failures.push_back(now);
        if self.failures.len() >= options.failures {
            self.open(options, now);
        }
    }

    fn open(&mut self, options: &BreakerOptions, now: Instant) {
        self.open_for = (self.open_for * 2).max(options.open_first).min(options.open_longest);
        self.change(State::Open { until: now + self.open_for });
    }

    fn change(&mut self, state: State) {
        self.state = state;
        self.epoch += 1;
        self.failures.clear();
    }
}
