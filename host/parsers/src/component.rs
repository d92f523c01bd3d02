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
use contract::{self, Fault, FinishReason, Request, SCHEMAS, SendParser, Step};

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
        path: "../../wit/parser-0.1",
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
    /// Whether the parser is given its tools' schemas.
    needs_schemas: bool,
}

impl ComponentFactory {
    /// Links the component with no imports at all.
    pub(super) fn link(sandbox: &Arc<Sandbox>, component: Arc<Component>) -> Result<Self, LoadProblem> {
        let mismatch = |error: wasmtime::Error| LoadProblem::Mismatch(one_line(&error.to_string()));
        let pre = Linker::new(&sandbox.engine).instantiate_pre(&component).map_err(mismatch)?;
        let pre = PluginPre::new(pre).map_err(mismatch)?;
        let (sandbox, parser) = (Arc::clone(sandbox), Arc::from(""));
        Ok(Self { _component: component, pre, sandbox, parser, needs_schemas: false })
    }

    /// Sets what the descriptor says of a stream's start: the parser's name, which faults carry, and what it needs.
    pub(super) fn described(self, descriptor: &contract::Descriptor) -> Self {
        let needs_schemas = descriptor.needs.iter().any(|need| need == SCHEMAS);
        Self { parser: Arc::from(descriptor.name.as_str()), needs_schemas, ..self }
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
        let parameters = translate::parameters(&request.tools);
        let tools = translate::tools(&request.tools, &parameters, self.needs_schemas);
        let options = translate::pairs(&request.options);
        let token_markers = &request.token_markers;
        let request = translate::Request { tools: &tools, token_markers, options: &options };
        match live.enter(|exports, store| exports.sluice_parser_parser().call_start(store, request)) {
            Ok(Ok(())) => Ok(live),
            Ok(Err(words)) => {
                let refusal = format!("it refuses the request, in {} bytes of its own words", words.len());
                Err(Fault { words: one_line(&words).into(), ..fault(refusal) })
            }
            Err(error) => Err(fault(reason(&error))),
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
