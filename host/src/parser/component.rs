//! Contract 0.1 as a component: bindings generated from the WIT file, and their translation to [`contract`]'s types.
//!
//! Copies are avoided: a chunk is written straight into the guest's memory, and returned strings are moved.

use std::sync::Arc;

use wasmtime::Store;
use wasmtime::component::{Component, Linker};

use super::error::{LoadProblem, one_line, reason};
use super::factory::ParserFactory;
use super::instance::{Exports, GuestParser, LiveGuest};
use super::instance_limits::InstanceLimits;
use super::sandbox::Sandbox;
use contract::{self, Fault, FinishReason, Request, SendParser, Step};

mod translate;

#[allow(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    clippy::pedantic,
    reason = "written by wasmtime's macro from the WIT file"
)]
mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit/parser-0.1",
        world: "plugin",
        ownership: Borrowing { duplicate_if_necessary: false },
    });
}

use bindings::{Plugin, PluginPre};

/// Compiled and linked component of a parser.
pub(super) struct ComponentFactory {
    /// Kept so that later loads of the same content find it (`compiled`).
    _component: Arc<Component>,
    pre: PluginPre<InstanceLimits>,
    sandbox: Arc<Sandbox>,
    parser: Arc<str>,
}

impl ComponentFactory {
    /// Links the component with no imports at all.
    pub(super) fn link(sandbox: &Arc<Sandbox>, component: Arc<Component>) -> Result<Self, LoadProblem> {
        let mismatch = |error: wasmtime::Error| LoadProblem::Mismatch(one_line(&error.to_string()));
        let pre = Linker::new(&sandbox.engine).instantiate_pre(&component).map_err(mismatch)?;
        let pre = PluginPre::new(pre).map_err(mismatch)?;
        Ok(Self { _component: component, pre, sandbox: Arc::clone(sandbox), parser: Arc::from("") })
    }

    /// Sets the parser's name, which faults carry.
    pub(super) fn named(self, name: &str) -> Self {
        Self { parser: Arc::from(name), ..self }
    }

    /// Calls `describe` of a fresh instance, which is then dropped.
    pub(super) fn describe(&self, options: &[(String, String)]) -> Result<contract::Descriptor, LoadProblem> {
        let mut store = self.sandbox.store();
        let instance = self.pre.instance_pre().instantiate(&mut store);
        let instance = instance.map_err(|error| LoadProblem::Instantiate(reason(&error)))?;
        let exports = Plugin::new(&mut store, &instance);
        let exports = exports.map_err(|error| LoadProblem::Mismatch(reason(&error)))?;
        let options = translate::pairs(options);
        let mut live = LiveGuest { store, exports };
        match live.enter(|exports, store| exports.sluice_parser_parser().call_describe(store, &options)) {
            Ok(Ok(descriptor)) => Ok(descriptor.into()),
            Ok(Err(words)) => Err(LoadProblem::Options(one_line(&words))),
            Err(error) => Err(LoadProblem::Describe(reason(&error))),
        }
    }

    /// Creates an instance and calls its `start`.
    ///
    /// # Errors
    /// Why the guest failed, or that it refuses the request.
    fn start(&self, request: &Request) -> Result<LiveGuest<Plugin>, Fault> {
        let fault = |reason: String| Fault::new(&self.parser, reason);
        let mut live = self.instance(self.sandbox.store()).map_err(fault)?;
        let tools: Vec<_> = request.tools.iter().map(Into::into).collect();
        let options = translate::pairs(&request.options);
        let request = translate::request(request, &tools, &options);
        match live.enter(|exports, store| exports.sluice_parser_parser().call_start(store, request)) {
            Ok(Ok(())) => Ok(live),
            Ok(Err(words)) => {
                let refusal = format!("it refuses the request, in {} bytes of its own words", words.len());
                Err(Fault { words: one_line(&words).into(), ..fault(refusal) })
            }
            Err(error) => Err(fault(reason(&error))),
        }
    }

    /// Calls `constrain` of a fresh instance, which is then dropped.
    ///
    /// # Errors
    /// One line: why the guest has no grammar for the request, or why it failed.
    fn constrain(&self, request: &Request) -> Result<Option<String>, String> {
        let mut live = self.instance(self.sandbox.grammar_store())?;
        let tools: Vec<_> = request.tools.iter().map(Into::into).collect();
        let options = translate::pairs(&request.options);
        let request = translate::request(request, &tools, &options);
        match live.enter(|exports, store| exports.sluice_parser_parser().call_constrain(store, request)) {
            Ok(result) => result.map_err(|words| one_line(&words)),
            Err(error) => Err(reason(&error)),
        }
    }

    fn instance(&self, mut store: Store<InstanceLimits>) -> Result<LiveGuest<Plugin>, String> {
        let exports = self.pre.instantiate(&mut store).map_err(|error| reason(&error))?;
        Ok(LiveGuest { store, exports })
    }
}

impl ParserFactory for ComponentFactory {
    fn start(&self, request: &Request) -> Result<SendParser, Fault> {
        let live = self.start(request)?;
        Ok(Box::new(GuestParser::new(live, Arc::clone(&self.parser), self.sandbox.limits.ops)))
    }

    fn constrain(&self, request: &Request) -> Result<Option<String>, Fault> {
        self.constrain(request).map_err(|words| Fault::new(&self.parser, words))
    }
}

impl Exports for Plugin {
    fn text(&self, store: &mut Store<InstanceLimits>, chunk: &str) -> wasmtime::Result<Step> {
        Ok(self.sluice_parser_parser().call_text(store, chunk)?.into())
    }

    fn marker(&self, store: &mut Store<InstanceLimits>, index: u32) -> wasmtime::Result<Step> {
        Ok(self.sluice_parser_parser().call_marker(store, index)?.into())
    }

    fn finish(&self, store: &mut Store<InstanceLimits>, reason: FinishReason) -> wasmtime::Result<Step> {
        Ok(self.sluice_parser_parser().call_finish(store, reason.into())?.into())
    }
}
