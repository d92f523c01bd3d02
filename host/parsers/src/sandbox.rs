//! Sandbox of instances: the engine, its ticker and the limits.
//!
//! Invariant: every store comes from [`Sandbox::store`], so none exists without its limits.

use std::io;
use std::sync::Arc;

use wasmtime::{Engine, Store};

use super::instance_limits::InstanceLimits;
use super::ticker::Ticker;
use crate::ParserLimits;

/// Fuel of a metered instance: more than any stream uses, so that it only counts.
pub(super) const FUEL: u64 = u64::MAX;

/// The engine, its ticker and the limits of each instance.
pub(super) struct Sandbox {
    pub(super) engine: Engine,
    pub(super) ticker: Arc<Ticker>,
    pub(super) limits: ParserLimits,
    pub(super) metered: bool,
}

impl Sandbox {
    /// Makes a store for one instance, with every limit set. The CPU time of its instantiation
    /// counts from here.
    ///
    /// # Errors
    /// This process was forked, and nothing could stop a guest in it.
    pub(super) fn store(&self) -> io::Result<Store<InstanceLimits>> {
        let mut store = Store::new(&self.engine, InstanceLimits::new(&self.limits, self.ticker.run()?));
        store.limiter(|limits| limits);
        store.set_hostcall_fuel(self.limits.hostcall_fuel);
        store.epoch_deadline_callback(|mut store| store.data_mut().epoch());
        store.set_epoch_deadline(1);
        if self.metered {
            store.set_fuel(FUEL).expect("a metered engine consumes fuel");
        }
        Ok(store)
    }
}
