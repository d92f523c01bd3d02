//! Selection among engines: which may take a request, and which one does. O(n), without allocation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use seeded::mix;

use super::RoutingOptions;
use super::bound::Loads;
use super::candidate::{Candidacy, EngineCandidate};
use super::engines::Engine;
use super::gauges::LoadReport;

/// Why no engine takes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEngine {
    /// All engines that could serve the request are down, failing or excluded.
    #[error("no engine is available; try again in {} s", retry_after.as_secs().max(1))]
    None {
        /// Time until the first of these engines may be tried again.
        retry_after: Duration,
    },
    /// Engines are listed, but none can serve this request.
    #[error("no engine can serve this request")]
    NotUsable,
}

/// The engine that takes a request.
pub(super) struct Choice {
    /// Index of the engine in the list.
    pub(super) at: usize,
    /// Whether the engine is the first in the key's order among the candidates; otherwise the
    /// request was spilled.
    pub(super) is_first: bool,
    /// Whether no other host routes to these engines, as far as they report.
    pub(super) is_alone: bool,
}

/// A request that an engine is selected for.
pub(super) struct Ask<'a, F> {
    pub(super) key: u64,
    /// Id of the key's last engine.
    pub(super) home: Option<u32>,
    pub(super) usable: F,
    pub(super) excluded: &'a [Arc<str>],
    pub(super) now: Instant,
}

impl<F> Ask<'_, F> {
    /// Selects the engine for the request.
    pub(super) fn choose<T>(
        &self,
        engines: &mut [Engine<T>],
        options: &RoutingOptions,
    ) -> Result<Choice, NoEngine>
    where
        F: Fn(&T) -> bool,
    {
        let (mut roomy, mut full) = (Loads::default(), Loads::default());
        for engine in engines.iter_mut() {
            let report = engine.report(options.report_lifetime, self.now);
            let others = report.map(LoadReport::others);
            let candidacy =
                self.candidacy(engine, report.is_some_and(|report| report.is_full(options.kv_full)));
            match candidacy {
                Candidacy::Yes => roomy.add(engine.in_flight, others),
                Candidacy::Full => full.add(engine.in_flight, others),
                Candidacy::None => {}
            }
            let load = engine.in_flight.saturating_add(others.unwrap_or(0));
            engine.candidate = EngineCandidate { candidacy, load };
        }
        let (wanted, loads) = if roomy.count > 0 { (Candidacy::Yes, roomy) } else { (Candidacy::Full, full) };
        let bound = loads.bound(self.home.is_some(), options);
        let (mut best, mut first) = (None, None);
        for (at, engine) in
            engines.iter().enumerate().filter(|(_, engine)| engine.candidate.candidacy == wanted)
        {
            let load = engine.candidate.load;
            let class = if load < bound.of(engine.slots()) { 0 } else { 1 + u64::from(load) };
            // Order of the engines for this key: its last engine first, then by descending
            // rendezvous weight.
            let order = (self.home != Some(engine.id), !weight(self.key, engine.hash));
            if best.is_none_or(|best| (class, order, at) < best) {
                best = Some((class, order, at));
            }
            if first.is_none_or(|first| order < first) {
                first = Some(order);
            }
        }
        let (_, order, at) = best.ok_or_else(|| self.refusal(engines, options))?;
        Ok(Choice { at, is_first: first == Some(order), is_alone: bound.is_alone })
    }

    fn candidacy<T>(&self, engine: &Engine<T>, is_full: bool) -> Candidacy
    where
        F: Fn(&T) -> bool,
    {
        if !engine.is_available(self.now)
            || self.excluded.contains(&engine.name)
            || !(self.usable)(&engine.handle)
        {
            Candidacy::None
        } else if is_full {
            Candidacy::Full
        } else {
            Candidacy::Yes
        }
    }

    fn refusal<T>(&self, engines: &[Engine<T>], options: &RoutingOptions) -> NoEngine
    where
        F: Fn(&T) -> bool,
    {
        let down = options.breaker.open_first;
        let usable = engines.iter().filter(|engine| engine.is_listed() && (self.usable)(&engine.handle));
        let first =
            usable.map(|engine| if engine.up { engine.breaker.retry_after(self.now) } else { down }).min();
        match first {
            Some(retry_after) => NoEngine::None { retry_after },
            None if engines.iter().any(Engine::is_listed) => NoEngine::NotUsable,
            None => NoEngine::None { retry_after: down },
        }
    }
}

/// Rendezvous weight of an engine for a key: the engine with the highest takes the key. It is the
/// same on every host and in every version.
fn weight(key: u64, engine: u64) -> u64 {
    mix(mix(key) ^ engine)
}
