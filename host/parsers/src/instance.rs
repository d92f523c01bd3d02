//! Parser of one stream: an instance of a guest, called within its limits.
//!
//! Invariant: an instance that trapped, broke the contract, answered `fault` or has finished is
//! dropped at once, so that it can't be called again. Later calls return a fault.

use std::sync::Arc;

use wasmtime::Store;
use wasmtime::component::{Instance, InstancePre};

use super::error::{one_line, reason};
use super::instance_limits::InstanceLimits;
use super::sandbox::FUEL;
use contract::{Descriptor, Fault, FinishReason, Request, ResourceUsage, Step, StreamParser};

/// Exported functions of a guest, for any version of the contract: one implementation per version.
pub(super) trait Exports: Send + Sized + 'static {
    /// The functions' places in a component, looked up once for all its instances.
    type Pre: Send + Sync;

    /// Looks the functions up.
    fn find(linked: InstancePre<InstanceLimits>) -> wasmtime::Result<Self::Pre>;
    /// Functions of an instance. An error says which types aren't the contract's.
    fn of(store: &mut Store<InstanceLimits>, instance: &Instance) -> wasmtime::Result<Self>;
    /// Makes an instance.
    fn instantiate(pre: &Self::Pre, store: &mut Store<InstanceLimits>) -> wasmtime::Result<Self>;

    fn describe(
        &self,
        store: &mut Store<InstanceLimits>,
        options: &[(String, String)],
    ) -> wasmtime::Result<Result<Descriptor, String>>;
    /// The tools' schemas cross only if the parser needs them.
    fn start(
        &self,
        store: &mut Store<InstanceLimits>,
        request: &Request,
        needs_schemas: bool,
    ) -> wasmtime::Result<Result<(), String>>;
    fn text(&self, store: &mut Store<InstanceLimits>, chunk: &str) -> wasmtime::Result<Step>;
    fn marker(&self, store: &mut Store<InstanceLimits>, index: u32) -> wasmtime::Result<Step>;
    fn finish(&self, store: &mut Store<InstanceLimits>, reason: FinishReason) -> wasmtime::Result<Step>;
}

/// Guest that can still be called.
pub(super) struct LiveGuest<E> {
    pub(super) store: Store<InstanceLimits>,
    pub(super) exports: E,
}

impl<E> LiveGuest<E> {
    /// Calls the guest with a full allowance of CPU time. After an error it must not be called
    /// again.
    pub(super) fn enter<T>(
        &mut self,
        call: impl FnOnce(&E, &mut Store<InstanceLimits>) -> wasmtime::Result<T>,
    ) -> wasmtime::Result<T> {
        self.store.data_mut().call_begins()?;
        self.store.set_epoch_deadline(1);
        call(&self.exports, &mut self.store)
    }
}

/// Parser of one stream.
pub(super) struct GuestParser<E> {
    live: Option<LiveGuest<E>>,
    parser: Arc<str>,
    ops: usize,
}

impl<E: Exports> GuestParser<E> {
    /// Makes the parser of a guest that was started. `parser` is the plugin's name; an answer may
    /// have at most `ops` ops.
    pub(super) fn new(live: LiveGuest<E>, parser: Arc<str>, ops: usize) -> Self {
        Self { live: Some(live), parser, ops }
    }

    fn call(
        &mut self,
        call: impl FnOnce(&E, &mut Store<InstanceLimits>) -> wasmtime::Result<Step>,
    ) -> Result<Step, Fault> {
        let Some(live) = &mut self.live else {
            return Err(Fault::new(&self.parser, "called after its end"));
        };
        let step = match live.enter(call) {
            Ok(Step::Ops(ops)) if ops.len() > self.ops => {
                Err(format!("{} ops in one step, at most {} are allowed", ops.len(), self.ops))
            }
            Ok(Step::Fault(words)) => Ok(Step::Fault(one_line(&words))),
            Ok(step) => return Ok(step),
            Err(error) => Err(reason(&error)),
        };
        self.live = None;
        step.map_err(|reason| Fault::new(&self.parser, reason))
    }
}

impl<E: Exports> StreamParser for GuestParser<E> {
    fn text(&mut self, chunk: &str) -> Result<Step, Fault> {
        self.call(|exports, store| exports.text(store, chunk))
    }

    fn marker(&mut self, index: u32) -> Result<Step, Fault> {
        self.call(|exports, store| exports.marker(store, index))
    }

    fn finish(&mut self, reason: FinishReason) -> Result<Step, Fault> {
        let step = self.call(|exports, store| exports.finish(store, reason));
        self.live = None;
        step
    }

    fn usage(&self) -> Option<ResourceUsage> {
        let store = &self.live.as_ref()?.store;
        // `get_fuel` fails where the engine isn't metered.
        let left = store.get_fuel().ok()?;
        Some(ResourceUsage { fuel: FUEL - left, memory: store.data().memory_used() })
    }
}
