//! Parsers that are components of some version of the contract: linked without any imports,
//! described, and started once per stream.
//!
//! Each version is a module: bindings generated from its WIT folder, and what is its own. What all
//! versions have is translated by one text, `translate.rs`. Copies are avoided: a chunk is written
//! straight into the guest's memory, and returned strings are moved.

use std::sync::Arc;

use wasmtime::component::{Component, InstancePre, Linker};

use super::error::{LoadProblem, Mismatch, one_line, reason};
use super::factory::ParserFactory;
use super::instance::{Exports, GuestParser, LiveGuest};
use super::instance_limits::InstanceLimits;
use super::sandbox::Sandbox;
use super::stamp::Stamp;
use super::version::ContractVersion;
use contract::{Descriptor, Fault, Request, SCHEMAS, SendParser};

/// Bindings to the contract in a WIT folder.
macro_rules! bindings {
    ($folder:literal) => {
        #[allow(
            missing_docs,
            unsafe_code,
            unreachable_pub,
            clippy::pedantic,
            reason = "written by wasmtime's macro from the WIT file"
        )]
        mod bindings {
            wasmtime::component::bindgen!({
                path: $folder,
                world: "plugin",
                ownership: Borrowing { duplicate_if_necessary: false },
            });
        }
    };
}
use bindings;

mod v0_1;
mod v0_2_draft;

/// Links a component whose parser is of the version that its `stamp` says.
pub(super) fn link(
    sandbox: &Arc<Sandbox>,
    component: Arc<Component>,
    stamp: &Stamp,
) -> Result<Box<dyn ParserFactory>, LoadProblem> {
    Ok(match stamp.contract {
        ContractVersion::V0_1 => Box::new(ComponentFactory::<v0_1::Plugin>::link(sandbox, component, stamp)?),
        ContractVersion::Draft0_2 => {
            Box::new(ComponentFactory::<v0_2_draft::Plugin>::link(sandbox, component, stamp)?)
        }
    })
}

/// Compiled and linked component of a parser. `E` is the interface that it exports.
struct ComponentFactory<E: Exports> {
    /// Kept so that later loads of the same content find it (`compiled`).
    _component: Arc<Component>,
    linked: InstancePre<InstanceLimits>,
    pre: E::Pre,
    sandbox: Arc<Sandbox>,
    stamp: Stamp,
}

impl<E: Exports> ComponentFactory<E> {
    fn link(sandbox: &Arc<Sandbox>, component: Arc<Component>, stamp: &Stamp) -> Result<Self, LoadProblem> {
        let mismatch = |error: wasmtime::Error| misfit(stamp, one_line(&error.to_string()));
        let linked = Linker::new(&sandbox.engine).instantiate_pre(&component).map_err(mismatch)?;
        let pre = E::find(linked.clone()).map_err(mismatch)?;
        Ok(Self { _component: component, linked, pre, sandbox: Arc::clone(sandbox), stamp: stamp.clone() })
    }
}

impl<E: Exports> ParserFactory for ComponentFactory<E> {
    /// Asks a fresh instance, which is then dropped.
    fn describe(&self, options: &[(String, String)]) -> Result<Descriptor, LoadProblem> {
        let store = self.sandbox.store();
        let mut store = store.map_err(|error| LoadProblem::Instantiate(error.to_string()))?;
        let instance = self.linked.instantiate(&mut store);
        let instance = instance.map_err(|error| LoadProblem::Instantiate(reason(&error)))?;
        let exports = E::of(&mut store, &instance);
        let exports = exports.map_err(|error| misfit(&self.stamp, reason(&error)))?;
        let mut live = LiveGuest { store, exports };
        match live.enter(|exports, store| exports.describe(store, options)) {
            Ok(Ok(descriptor)) => Ok(descriptor),
            Ok(Err(words)) => Err(LoadProblem::Options(one_line(&words))),
            Err(error) => Err(LoadProblem::Describe(reason(&error))),
        }
    }

    fn start(&self, descriptor: &Descriptor, request: &Request) -> Result<SendParser, Fault> {
        let parser: Arc<str> = descriptor.name.as_str().into();
        let fault = |reason: String| Fault::new(&parser, reason);
        let mut store = self.sandbox.store().map_err(|error| fault(error.to_string()))?;
        let exports = E::instantiate(&self.pre, &mut store).map_err(|error| fault(reason(&error)))?;
        let mut live = LiveGuest { store, exports };
        let needs_schemas = descriptor.needs.iter().any(|need| need == SCHEMAS);
        match live.enter(|exports, store| exports.start(store, request, needs_schemas)) {
            Ok(Ok(())) => Ok(Box::new(GuestParser::new(live, parser, self.sandbox.limits.ops))),
            Ok(Err(words)) => {
                let refusal = format!("it refuses the request with a message of {} bytes", words.len());
                Err(Fault { words: one_line(&words).into(), ..fault(refusal) })
            }
            Err(error) => Err(fault(reason(&error))),
        }
    }
}

fn misfit(stamp: &Stamp, words: String) -> LoadProblem {
    LoadProblem::Mismatch(Mismatch { interface: stamp.interface.clone(), contract: stamp.contract, words })
}
