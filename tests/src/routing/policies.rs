//! Routing policies: Sluice's router with several options, and others to compare with.

use std::sync::Arc;
use std::time::{Duration, Instant};

use remote::routing::{EngineLease, ReportedLoad, Router, RoutingOptions};

use super::engine::{Engine, Prompt};

/// Routing policy of one host.
pub(super) trait Policy {
    /// Selects an engine for a request, other than those in `tried`. The request counts as its load
    /// until `release`.
    fn select(
        &mut self,
        key: u64,
        prompt: &Prompt,
        tried: &[usize],
        engines: &[Engine],
        now: u64,
    ) -> Option<Placement>;
    /// Ends a request.
    fn release(&mut self, placement: Placement, outcome: Outcome, now: u64);
    /// Updates an engine's gauges.
    fn report(&mut self, _engine: usize, _load: ReportedLoad, _now: u64) {}
    /// Updates an engine's health.
    fn set_up(&mut self, engine: usize, up: bool);
    /// Replaces the list of engines by `0..count`.
    fn list(&mut self, count: usize);
}

/// Engine selected for a request.
pub(super) struct Placement {
    /// Number of the engine.
    pub(super) engine: usize,
    lease: Option<EngineLease<usize>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Succeeded,
    Failed,
}

/// Sluice's router as a policy.
pub(super) struct RouterPolicy {
    router: Router<usize>,
    names: Vec<Arc<str>>,
    start: Instant,
    gets_gauges: bool,
}

impl RouterPolicy {
    /// `gets_gauges`: whether the router gets the engines' gauges.
    pub(super) fn new(options: RoutingOptions, gets_gauges: bool) -> Self {
        Self { router: Router::new(options), names: Vec::new(), start: Instant::now(), gets_gauges }
    }

    fn at(&self, now: u64) -> Instant {
        self.start + Duration::from_micros(now)
    }
}

impl Policy for RouterPolicy {
    fn select(&mut self, key: u64, _: &Prompt, tried: &[usize], _: &[Engine], now: u64) -> Option<Placement> {
        let excluded: Vec<_> = tried.iter().map(|&engine| Arc::clone(&self.names[engine])).collect();
        let lease = self.router.select(key, |_| true, &excluded, self.at(now)).ok()?;
        Some(Placement { engine: *lease.engine(), lease: Some(lease) })
    }

    fn release(&mut self, placement: Placement, outcome: Outcome, now: u64) {
        if let Some(mut lease) = placement.lease {
            match outcome {
                Outcome::Succeeded => lease.succeeded(),
                Outcome::Failed => lease.failed(self.at(now)),
            }
        }
    }

    fn report(&mut self, engine: usize, load: ReportedLoad, now: u64) {
        if self.gets_gauges {
            self.router.report(&self.names[engine], load, self.at(now));
        }
    }

    fn set_up(&mut self, engine: usize, up: bool) {
        self.router.set_up(&self.names[engine], up);
    }

    fn list(&mut self, count: usize) {
        for engine in self.names.len()..count {
            self.names.push(format!("http://engine-{engine}:8000").into());
        }
        self.router.set_engines(self.names[..count].iter().cloned().zip(0..).collect());
    }
}

/// How a [`Counted`] policy chooses.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// The engines in cyclic order.
    RoundRobin,
    /// The engine with the fewest requests.
    LeastLoad,
    /// A radix tree that knows each engine's cache exactly. The engine with the longest match;
    /// where at most half of the prompt matches, the engine with the fewest cached tokens; where
    /// loads differ by more than `absolute` and by more than half, the engine with the fewest
    /// requests.
    Tree { absolute: u32 },
    /// The same tree. The engine with the longest match among those whose load is below 1.25 × the
    /// mean, or below `slots`.
    BoundedTree { slots: u32 },
}

/// Policies that count the requests of each engine and have no circuit breaker.
pub(super) struct CountingPolicy {
    rule: Rule,
    in_flight: Vec<u32>,
    up: Vec<bool>,
    listed: usize,
    last: usize,
}

impl CountingPolicy {
    pub(super) fn new(rule: Rule) -> Self {
        Self { rule, in_flight: Vec::new(), up: Vec::new(), listed: 0, last: 0 }
    }

    fn least(&self, open: &[usize], rank: impl Fn(usize) -> u64) -> Option<usize> {
        open.iter().copied().min_by_key(|&engine| (rank(engine), self.in_flight[engine]))
    }

    fn tree(&self, prompt: &Prompt, open: &[usize], engines: &[Engine], absolute: u32) -> Option<usize> {
        let loads = || open.iter().map(|&engine| self.in_flight[engine]);
        let (most, least) = (loads().max()?, loads().min()?);
        if most - least > absolute && most * 2 > least * 3 {
            return self.least(open, |engine| self.in_flight[engine].into());
        }
        let best = self.longest_match(prompt, open, engines)?;
        if matched(&engines[best], prompt) * 2 > u64::from(prompt.system) + u64::from(prompt.own) {
            return Some(best);
        }
        self.least(open, |engine| engines[engine].cached_tokens())
    }

    fn longest_match(&self, prompt: &Prompt, open: &[usize], engines: &[Engine]) -> Option<usize> {
        self.least(open, |engine| u64::MAX - matched(&engines[engine], prompt))
    }

    fn bounded_tree(&self, prompt: &Prompt, open: &[usize], engines: &[Engine], slots: u32) -> Option<usize> {
        let total: usize = open.iter().map(|&engine| self.in_flight[engine] as usize).sum();
        let bound = (total * 5).div_ceil(open.len().max(1) * 4).max(slots as usize);
        let below: Vec<_> =
            open.iter().copied().filter(|&engine| (self.in_flight[engine] as usize) < bound).collect();
        self.longest_match(prompt, &below, engines)
    }
}

fn matched(engine: &Engine, prompt: &Prompt) -> u64 {
    let (system, own) = engine.cached(prompt);
    u64::from(system) + u64::from(own)
}

impl Policy for CountingPolicy {
    fn select(
        &mut self,
        _: u64,
        prompt: &Prompt,
        tried: &[usize],
        engines: &[Engine],
        _: u64,
    ) -> Option<Placement> {
        let open: Vec<_> =
            (0..self.listed).filter(|engine| self.up[*engine] && !tried.contains(engine)).collect();
        let engine = match self.rule {
            Rule::RoundRobin => {
                open.iter().copied().find(|&engine| engine > self.last).or(open.first().copied())
            }
            Rule::LeastLoad => {
                let turned = |engine: usize| (engine + self.listed - self.last) % self.listed;
                self.least(&open, |engine| u64::from(self.in_flight[engine]) << 32 | turned(engine) as u64)
            }
            Rule::Tree { absolute } => self.tree(prompt, &open, engines, absolute),
            Rule::BoundedTree { slots } => self.bounded_tree(prompt, &open, engines, slots),
        }?;
        self.last = engine;
        self.in_flight[engine] += 1;
        Some(Placement { engine, lease: None })
    }

    fn release(&mut self, placement: Placement, _: Outcome, _: u64) {
        self.in_flight[placement.engine] -= 1;
    }

    fn set_up(&mut self, engine: usize, up: bool) {
        self.up[engine] = up;
    }

    fn list(&mut self, count: usize) {
        self.listed = count;
        let known = self.in_flight.len().max(count);
        self.in_flight.resize(known, 0);
        self.up.resize(known, false);
    }
}
