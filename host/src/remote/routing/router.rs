//! The router: engines and the keys' last ones behind one lock; leases.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::RoutingOptions;
use super::breaker::Permit;
use super::candidates::{Ask, NoEngine};
use super::engines::{EngineStatus, Engines};
use super::gauges::ReportedLoad;
use super::homes::Homes;

/// Router over engines with a handle of type `T`: an `Arc` of a client, or a number in a simulation.
///
/// ```
/// # use std::time::Instant;
/// # use host::remote::routing::{Router, RoutingOptions};
/// let router = Router::new(RoutingOptions::default());
/// router.set_engines(vec![("http://one".into(), 1), ("http://two".into(), 2)]);
/// router.set_up("http://two", true);
/// let mut lease = router.select(7, |_| true, &[], Instant::now())?;
/// assert_eq!(*lease.engine(), 2);
/// lease.succeeded();
/// # Ok::<(), host::remote::routing::NoEngine>(())
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
    homes: Homes,
}

/// How the engine of a request relates to the key's last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinity {
    /// The key's last engine isn't remembered.
    New,
    /// It is the key's last engine.
    Hit,
    /// It is another than the key's last.
    Moved,
}

impl<T: Clone> Router<T> {
    /// Router without engines.
    pub fn new(options: RoutingOptions) -> Self {
        let state = State { engines: Engines::new(), homes: Homes::new(options.remembered_keys) };
        Self { shared: Arc::new(Shared { options, state: Mutex::new(state) }) }
    }

    /// Makes `engines` the router's, by name. One that stays keeps its state and gets the new handle; a new one is down until
    /// [`Self::set_up`]; one that is missing drains: no new requests, its leases live on.
    pub fn set_engines(&self, engines: Vec<(Arc<str>, T)>) {
        let unused = self.shared.lock().engines.set(engines, self.shared.options.slots);
        // Handles may be large: they are dropped without the lock.
        drop(unused);
    }

    /// Engine for a request whose prefix has the key `affinity`, counted as its load from here on.
    ///
    /// `usable` says whether an engine can serve this request at all; it is called under the router's lock. `excluded` are names
    /// of engines that were tried before.
    pub fn select(
        &self,
        affinity: u64,
        usable: impl Fn(&T) -> bool,
        excluded: &[Arc<str>],
        now: Instant,
    ) -> Result<Lease<T>, NoEngine> {
        let options = &self.shared.options;
        let mut state = self.shared.lock();
        let State { engines, homes } = &mut *state;
        let home = homes.get(affinity);
        let ask = Ask { key: affinity, home, usable, excluded, now };
        let choice = ask.choose(&mut engines.list, options)?;
        // A spill is remembered only where no other host routes: it would look for the key at its first engine.
        if choice.is_alone || (choice.is_first && !engines.is_up(home)) {
            homes.insert(affinity, engines.list[choice.at].id);
        }
        let engine = &mut engines.list[choice.at];
        engine.in_flight += 1;
        Ok(Lease {
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

    /// Takes an engine's gauges; unknown names are ignored.
    pub fn report(&self, engine: &str, load: ReportedLoad, now: Instant) {
        self.shared.lock().engines.report(engine, load, now);
    }

    /// Takes an engine's health: whether it answers and has our vocabulary; unknown names are ignored.
    pub fn set_up(&self, engine: &str, up: bool) {
        self.shared.lock().engines.set_up(engine, up);
    }

    /// State of each engine, those that drain included.
    pub fn status(&self, now: Instant) -> Vec<EngineStatus> {
        self.shared.lock().engines.status(&self.shared.options, now)
    }

    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.shared.lock().homes.len()
    }
}

impl<T> Shared<T> {
    /// A panic in `usable` happens before anything is changed: a poisoned lock's state is whole.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request's place on an engine: counts as its load until dropped.
pub struct Lease<T> {
    shared: Arc<Shared<T>>,
    id: u32,
    name: Arc<str>,
    handle: T,
    permit: Permit,
    affinity: Affinity,
    has_failed: bool,
}

impl<T> Lease<T> {
    /// The engine's handle.
    pub fn engine(&self) -> &T {
        &self.handle
    }

    /// The engine's name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// How the engine relates to the key's last one.
    pub fn affinity(&self) -> Affinity {
        self.affinity
    }

    /// Reports that the engine answered. A probe's success closes the breaker; others change nothing.
    pub fn succeeded(&mut self) {
        if !self.has_failed
            && let Some(engine) = self.shared.lock().engines.by_id(self.id)
        {
            engine.breaker.succeeded(self.permit);
        }
    }

    /// Reports that the engine failed, be it in the middle of its answer. Counts once for a lease.
    pub fn failed(&mut self, now: Instant) {
        if !std::mem::replace(&mut self.has_failed, true)
            && let Some(engine) = self.shared.lock().engines.by_id(self.id)
        {
            engine.breaker.failed(self.permit, &self.shared.options.breaker, now);
        }
    }
}

impl<T> Drop for Lease<T> {
    fn drop(&mut self) {
        let drained = self.shared.lock().engines.release(self.id, self.permit);
        drop(drained);
    }
}
