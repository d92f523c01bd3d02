//! The router: the engines and each key's last engine behind one lock, and the leases.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::RoutingOptions;
use super::breaker::Permit;
use super::candidates::{Ask, NoEngine};
use super::engines::{Behind, EngineStatus, Engines};
use super::gauges::ReportedLoad;
use super::last_engines::LastEngines;

/// Router over engines with a handle of type `T`: an `Arc` of a client, or a number in a
/// simulation.
///
/// ```
/// # use std::time::Instant;
/// # use remote::routing::{Router, RoutingOptions};
/// let router = Router::new(RoutingOptions::default());
/// router.set_engines(vec![("http://one".into(), 1), ("http://two".into(), 2)]);
/// router.set_up("http://two", true);
/// let mut lease = router.select(7, |_| true, &[], Instant::now())?;
/// assert_eq!(*lease.engine(), 2);
/// lease.succeeded();
/// # Ok::<(), remote::routing::NoEngine>(())
/// ```
pub struct Router<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    options: RoutingOptions,
    state: Mutex<State<T>>,
}

struct State<T> {
    engines: Engines<T>,
    last_engines: LastEngines,
}

/// Relation of the selected engine to the key's last engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinity {
    /// The key's last engine isn't remembered.
    New,
    /// The selected engine is the key's last engine.
    Hit,
    /// The selected engine is another than the key's last engine.
    Moved,
}

impl<T: Clone> Router<T> {
    /// Makes a router without engines.
    pub fn new(options: RoutingOptions) -> Self {
        let state =
            State { engines: Engines::new(), last_engines: LastEngines::new(options.remembered_keys) };
        Self { shared: Arc::new(Shared { options, state: Mutex::new(state) }) }
    }

    /// Replaces the list of engines, matched by name. An engine that stays keeps its state and gets
    /// the new handle. A new engine is down until [`Self::set_up`]. An engine that is missing
    /// drains: it gets no new requests, and its leases stay valid.
    pub fn set_engines(&self, engines: Vec<(Arc<str>, T)>) {
        let unused = self.shared.lock().engines.set(engines, self.shared.options.slots);
        // Dropping a handle may be slow, so it happens outside the lock.
        drop(unused);
    }

    /// Selects an engine for a request whose prefix has the key `affinity`. The returned lease
    /// counts as the engine's load.
    ///
    /// `usable` says whether an engine can serve this request at all; it is called under the
    /// router's lock. `excluded` are names of engines that were tried before.
    pub fn select(
        &self,
        affinity: u64,
        usable: impl Fn(&T) -> bool,
        excluded: &[Arc<str>],
        now: Instant,
    ) -> Result<EngineLease<T>, NoEngine> {
        let options = &self.shared.options;
        let mut state = self.shared.lock();
        let State { engines, last_engines } = &mut *state;
        let home = last_engines.get(affinity);
        let ask = Ask { key: affinity, home, usable, excluded, now };
        let choice = ask.choose(&mut engines.list, options)?;
        // A spill is remembered only if no other host routes: another host would look for the key
        // at its first engine.
        if choice.is_alone || (choice.is_first && !engines.is_up(home)) {
            last_engines.insert(affinity, engines.list[choice.at].id);
        }
        let engine = &mut engines.list[choice.at];
        engine.in_flight += 1;
        Ok(EngineLease {
            shared: Arc::clone(&self.shared),
            id: engine.id,
            name: Arc::clone(&engine.name),
            handle: engine.handle.clone(),
            permit: engine.breaker.permit(now),
            affinity: match home {
                None => Affinity::New,
                Some(home) if home == engine.id => Affinity::Hit,
                Some(_) => Affinity::Moved,
            },
            has_failed: false,
        })
    }

    /// Updates an engine's gauges; unknown names are ignored.
    pub fn report(&self, engine: &str, load: ReportedLoad, now: Instant) {
        self.shared.lock().engines.report(engine, load, now);
    }

    /// Sets what is behind an engine's URL: until then, one engine that says nothing of its slots.
    /// Unknown names are ignored.
    pub(crate) fn set_behind(&self, engine: &str, behind: Behind) {
        self.shared.lock().engines.set_behind(engine, behind, self.shared.options.slots);
    }

    /// Sets whether an engine is up: whether it answers and has our vocabulary. Unknown names are
    /// ignored.
    pub fn set_up(&self, engine: &str, up: bool) {
        self.shared.lock().engines.set_up(engine, up);
    }

    /// State of each engine, draining ones included.
    pub fn status(&self, now: Instant) -> Vec<EngineStatus> {
        self.shared.lock().engines.status(&self.shared.options, now)
    }

    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.shared.lock().last_engines.len()
    }
}

impl<T> Shared<T> {
    /// Locks the state. A poisoned lock is usable, since a panic in `usable` happens before any
    /// change.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request's place on an engine; it counts as the engine's load until it is dropped.
pub struct EngineLease<T> {
    shared: Arc<Shared<T>>,
    id: u32,
    name: Arc<str>,
    handle: T,
    permit: Permit,
    affinity: Affinity,
    has_failed: bool,
}

impl<T> EngineLease<T> {
    /// The engine's handle.
    pub fn engine(&self) -> &T {
        &self.handle
    }

    /// The engine's name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Relation of the engine to the key's last engine.
    pub fn affinity(&self) -> Affinity {
        self.affinity
    }

    /// Reports that the engine answered. A probe's success closes the breaker; any other success
    /// changes nothing.
    pub fn succeeded(&mut self) {
        if !self.has_failed
            && let Some(engine) = self.shared.lock().engines.by_id(self.id)
        {
            engine.breaker.succeeded(self.permit);
        }
    }

    /// Reports that the engine failed, also in the middle of its answer. Only a lease's first
    /// failure counts.
    pub fn failed(&mut self, now: Instant) {
        if !std::mem::replace(&mut self.has_failed, true)
            && let Some(engine) = self.shared.lock().engines.by_id(self.id)
        {
            engine.failed(self.permit, &self.shared.options.breaker, now);
        }
    }
}

impl<T> Drop for EngineLease<T> {
    fn drop(&mut self) {
        let drained = self.shared.lock().engines.release(self.id, self.permit);
        drop(drained);
    }
}
