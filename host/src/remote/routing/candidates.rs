//! The choice among engines: who may take a request, and who of them does. O(n), without allocation.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::RoutingOptions;
use super::engines::Engine;
use super::hash::weight;

/// Why no engine takes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEngine {
    /// Engines that could take it are down, failing or excluded.
    #[error("no engine is available; try again in {} s", retry_after.as_secs().max(1))]
    None {
        /// When the first may be tried again.
        retry_after: Duration,
    },
    /// There are engines, but none is usable for this request.
    #[error("no engine can serve this request")]
    NotUsable,
}

/// Whether an engine may take the request that is being selected for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Candidacy {
    None,
    /// Only if all others are full too.
    Full,
    Yes,
}

/// What a request asks of an engine.
pub(super) struct Ask<'a, F> {
    pub(super) key: u64,
    /// Id of the key's last engine.
    pub(super) home: Option<u32>,
    pub(super) usable: F,
    pub(super) excluded: &'a [Arc<str>],
    pub(super) now: Instant,
}

impl<F> Ask<'_, F> {
    /// Index of the engine that takes the request.
    pub(super) fn choose<T>(
        &self,
        engines: &mut [Engine<T>],
        options: &RoutingOptions,
    ) -> Result<usize, NoEngine>
    where
        F: Fn(&T) -> bool,
    {
        for engine in engines.iter_mut() {
            engine.candidacy = self.candidacy(engine, options);
        }
        let wanted = [Candidacy::Yes, Candidacy::Full]
            .into_iter()
            .find(|&wanted| engines.iter().any(|engine| engine.candidacy == wanted))
            .ok_or_else(|| self.refusal(engines, options))?;
        let bound = self.bound(engines, wanted, options);
        let candidates = engines.iter().enumerate().filter(|(_, engine)| engine.candidacy == wanted);
        let best = candidates.min_by_key(|(_, engine)| {
            let load = engine.load(options.report_lifetime, self.now);
            let is_below = load < bound.max(engine.gauges.slots());
            let is_home = self.home == Some(engine.id);
            (!is_below, if is_below { 0 } else { load }, !is_home, Reverse(weight(self.key, engine.hash)))
        });
        best.map(|(at, _)| at).ok_or(NoEngine::NotUsable)
    }

    fn candidacy<T>(&self, engine: &Engine<T>, options: &RoutingOptions) -> Candidacy
    where
        F: Fn(&T) -> bool,
    {
        if !engine.is_available(self.now)
            || self.excluded.contains(&engine.name)
            || !(self.usable)(&engine.handle)
        {
            Candidacy::None
        } else if engine.gauges.is_full(options.kv_full, options.report_lifetime, self.now) {
            Candidacy::Full
        } else {
            Candidacy::Yes
        }
    }

    /// Load that the load factor allows on one candidate, rounded up.
    fn bound<T>(&self, engines: &[Engine<T>], wanted: Candidacy, options: &RoutingOptions) -> u32 {
        let loads = engines
            .iter()
            .filter(|engine| engine.candidacy == wanted)
            .map(|engine| u64::from(engine.load(options.report_lifetime, self.now)));
        let (count, total) = loads.fold((0, 0), |(count, total), load| (count + 1, total + load));
        let bound = (total * u64::from(options.load_percent)).div_ceil(100 * u64::max(count, 1));
        u32::try_from(bound).unwrap_or(u32::MAX)
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
