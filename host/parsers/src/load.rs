//! Loads a plugin: cheap checks first, then the compiler, then the component's own `describe`.

use std::sync::Arc;
use std::time::Instant;

use wasmtime::component::Component;

use super::cache::CompileCache;
use super::component;
use super::descriptor;
use super::digest::digest;
use super::error::{LoadProblem, PluginLoadError, one_line};
use super::factory::ParserFactory;
use super::plugin::Plugin;
use super::runtime::Runtime;
use super::sandbox::Sandbox;
use super::section::Section;
use super::source::PluginSource;
use super::stamp;
use super::version::ContractVersion;
use contract::Descriptor;

/// What a plugin's file says before it is compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFacts {
    /// Version of the contract by which it will be loaded.
    pub contract: ContractVersion,
    /// Its descriptor without options; `None` if the file has no section for it.
    pub descriptor: Option<Descriptor>,
}

impl Runtime {
    /// Returns what a plugin's file says of it, without compiling the plugin. [`Self::load`] checks
    /// that its section is right.
    ///
    /// # Errors
    /// The plugin and the problem: [`super::LoadProblem::Options`] if it describes itself with
    /// options only.
    pub fn describe(&self, source: &PluginSource) -> Result<FileFacts, PluginLoadError> {
        describe(self, source)
            .map_err(|problem| PluginLoadError { plugin: source.name().into_owned(), problem })
    }

    /// Reads, checks and compiles a plugin (once for all that are loaded at the same time), and
    /// calls its `describe`. `options` are the operator's settings for it. Takes about 100 ms of
    /// CPU time where it must be compiled: not for the serving path.
    ///
    /// # Errors
    /// The plugin and the problem.
    pub fn load(
        &self,
        source: &PluginSource,
        options: &[(String, String)],
    ) -> Result<Arc<Plugin>, PluginLoadError> {
        load(self, self.cache.as_ref(), source, options)
            .map_err(|problem| PluginLoadError { plugin: source.name().into_owned(), problem })
    }

    /// As [`Self::load`], for a plugin that is used once: its machine code isn't written to disk.
    ///
    /// # Errors
    /// The plugin and the problem.
    pub fn load_once(
        &self,
        source: &PluginSource,
        options: &[(String, String)],
    ) -> Result<Arc<Plugin>, PluginLoadError> {
        load(self, None, source, options)
            .map_err(|problem| PluginLoadError { plugin: source.name().into_owned(), problem })
    }
}

/// Loads a plugin, with its machine code in `cache`; see [`Runtime::load`].
fn load(
    runtime: &Runtime,
    cache: Option<&CompileCache>,
    source: &PluginSource,
    options: &[(String, String)],
) -> Result<Arc<Plugin>, LoadProblem> {
    if *source == PluginSource::None {
        return Ok(Plugin::none());
    }
    let Runtime { sandbox, compiled, drafts, .. } = runtime;
    let bytes = source.read(sandbox.limits.file_bytes)?;
    let stamp = stamp::check(&bytes, *drafts)?;
    let digest = digest(&bytes);
    let compile = || compile(sandbox, cache, source, &bytes, &digest);
    let factory = component::link(sandbox, compiled.get_or(&digest, compile)?, &stamp)?;
    let section = || Section::read(&bytes, stamp.contract);
    let described = match source {
        PluginSource::Table(table) => {
            let described = describe_loaded(&*factory, section()?, &table.options(options)?)?;
            Descriptor { name: table.format().into_owned(), ..described }
        }
        _ => describe_loaded(&*factory, section()?, options)?,
    };
    descriptor::check(&described)?;
    let digest = source.digest().unwrap_or(digest);
    let plugin = Plugin::new(described, stamp.contract, digest, bytes.len(), factory, source.table());
    plugin.map(Arc::new).map_err(LoadProblem::Grammar)
}

/// Returns what a plugin's file says of it; see [`Runtime::describe`].
fn describe(runtime: &Runtime, source: &PluginSource) -> Result<FileFacts, LoadProblem> {
    let bytes = source.read(runtime.sandbox.limits.file_bytes)?;
    let contract = stamp::check(&bytes, runtime.drafts)?.contract;
    let section = if source.table().is_some() { None } else { Section::read(&bytes, contract)? };
    Ok(FileFacts { contract, descriptor: section.map(Section::descriptor).transpose()? })
}

/// Calls the component's `describe`, with which its section must agree.
fn describe_loaded(
    factory: &dyn ParserFactory,
    section: Option<Section>,
    options: &[(String, String)],
) -> Result<Descriptor, LoadProblem> {
    let described = factory.describe(options);
    if let Some(section) = section {
        if options.is_empty() {
            section.verify(&described)?;
        } else {
            section.verify(&factory.describe(&[]))?;
        }
    }
    described
}

/// Returns the component as machine code: from the cache, else from the compiler, and then writes
/// it to the cache.
fn compile(
    sandbox: &Sandbox,
    cache: Option<&CompileCache>,
    source: &PluginSource,
    bytes: &[u8],
    digest: &str,
) -> Result<Component, LoadProblem> {
    let (engine, began) = (&sandbox.engine, Instant::now());
    let log = |how: &str| {
        let ms = began.elapsed().as_secs_f64() * 1e3;
        tracing::info!(parser = %source.name(), digest, "{how} in {ms:.1} ms");
    };
    if let Some(component) = cache.and_then(|cache| cache.get(engine, digest)) {
        log("from cache");
        return Ok(component);
    }
    let component = Component::new(engine, bytes)
        .map_err(|error| LoadProblem::Invalid(one_line(&error.root_cause().to_string())))?;
    log("compiled");
    if let Some(cache) = cache {
        cache.put(engine, digest, &component);
    }
    Ok(component)
}
