//! Loads a plugin: cheap checks first, then the compiler, then the component's own `describe`.

use std::sync::Arc;
use std::time::Instant;

use wasmtime::component::Component;

use super::cache::CompileCache;
use super::compiled::CompiledComponents;
use super::component::ComponentFactory;
use super::descriptor;
use super::digest::digest;
use super::error::{LoadProblem, one_line};
use super::plugin::Plugin;
use super::sandbox::Sandbox;
use super::section::Section;
use super::source::PluginSource;
use super::stamp;
use contract::Descriptor;

/// Loads a plugin; see [`super::Runtime::load`].
pub(super) fn load(
    sandbox: &Arc<Sandbox>,
    cache: Option<&CompileCache>,
    components: &CompiledComponents,
    source: &PluginSource,
    options: &[(String, String)],
) -> Result<Arc<Plugin>, LoadProblem> {
    if *source == PluginSource::None {
        return Ok(Plugin::none());
    }
    let bytes = source.read(sandbox.limits.file_bytes)?;
    stamp::check(&bytes)?;
    let digest = digest(&bytes);
    let component = components.get_or(&digest, || compiled(sandbox, cache, source, &bytes, &digest))?;
    let factory = ComponentFactory::link(sandbox, component)?;
    let described = match source {
        PluginSource::Table(table) => {
            let described = described(&factory, &bytes, &table.options(options)?)?;
            Descriptor { name: table.format().into_owned(), ..described }
        }
        _ => described(&factory, &bytes, options)?,
    };
    descriptor::check(&described)?;
    let factory = Box::new(factory.described(&described));
    let digest = source.digest().unwrap_or(digest);
    let plugin = Plugin::new(described, digest, bytes.len(), factory, source.table());
    plugin.map(Arc::new).map_err(LoadProblem::Grammar)
}

/// Returns a plugin's descriptor without options, if it can be read without compiling the plugin; see [`super::Runtime::describe`].
pub(super) fn describe(sandbox: &Sandbox, source: &PluginSource) -> Result<Option<Descriptor>, LoadProblem> {
    let bytes = source.read(sandbox.limits.file_bytes)?;
    stamp::check(&bytes)?;
    if source.table().is_some() {
        return Ok(None);
    }
    Section::read(&bytes)?.map(Section::descriptor).transpose()
}

/// Calls the component's `describe`, with which its section must agree.
fn described(
    factory: &ComponentFactory,
    bytes: &[u8],
    options: &[(String, String)],
) -> Result<Descriptor, LoadProblem> {
    let described = factory.describe(options);
    if let Some(section) = Section::read(bytes)? {
        if options.is_empty() {
            section.verify(&described)?;
        } else {
            section.verify(&factory.describe(&[]))?;
        }
    }
    described
}

/// Returns the component as machine code: from the cache, else from the compiler, and then writes it to the cache.
fn compiled(
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
