//! What instances are made in.
//!
//! Invariant: every store comes from [`Sandbox::bounded`], so none exists without its bounds.

use std::sync::Arc;

use wasmtime::{Engine, Store};

use super::budget::Budget;
use super::ticker::Ticker;
use crate::limits::ParserLimits;

/// Fuel of a metered instance: more than any stream burns, so it only counts.
pub(super) const FUEL: u64 = u64::MAX;

/// The engine, its clock and the bounds of each instance.
pub(super) struct Sandbox {
    pub(super) engine: Engine,
    pub(super) ticker: Arc<Ticker>,
    pub(super) limits: ParserLimits,
    pub(super) metered: bool,
}

impl Sandbox {
    /// A store for one instance, with every bound set; time for its instantiation has begun.
    pub(super) fn store(&self) -> Store<Budget> {
        self.bounded(&self.limits)
    }

    /// The same for an instance that makes a grammar, which takes longer than a stream's calls.
    pub(super) fn grammar_store(&self) -> Store<Budget> {
        self.bounded(&ParserLimits { call_time: self.limits.grammar_time, ..self.limits.clone() })
    }

    fn bounded(&self, limits: &ParserLimits) -> Store<Budget> {
        let mut store = Store::new(&self.engine, Budget::new(limits, self.ticker.run()));
        store.limiter(|budget| budget);
        store.set_hostcall_fuel(self.limits.hostcall_fuel);
        store.epoch_deadline_callback(|mut store| store.data_mut().epoch());
        store.set_epoch_deadline(1);
        if self.metered {
            store.set_fuel(FUEL).expect("a metered engine consumes fuel");
        }
        store
    }
}
