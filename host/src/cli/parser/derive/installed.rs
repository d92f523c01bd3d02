//! The installed parsers, of which one may fit a chat template already.

use fit::Material;
use model::{TemplateFiles, shipped_parsers, tables};
use parsers::conformance::Measures;
use parsers::{FileFacts, PluginSource, plugins_in};

use crate::cli::parser::source::SandboxArguments;

/// The name of an installed parser that fits the template.
pub(super) fn fitting(files: &TemplateFiles, sandbox: &SandboxArguments) -> anyhow::Result<Option<String>> {
    for (name, source) in likely(files, sandbox)? {
        // One that can't be loaded isn't the answer.
        let Ok(loaded) = sandbox.load(source, Measures::Nothing) else { continue };
        if fit::check(files, &loaded, &[], &Material::default())
            .is_ok_and(|fit| !fit.differs() && fit.proves())
        {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// The parsers that have a marker of the template, then the tables that have all of theirs in it.
fn likely(files: &TemplateFiles, sandbox: &SandboxArguments) -> anyhow::Result<Vec<(String, PluginSource)>> {
    let runtime = sandbox.runtime()?;
    let template = files.chat.tool_template.as_ref().unwrap_or(&files.chat.template);
    let shows = |literal: &str| template.contains(literal);
    let in_folder = plugins_in(&sandbox.plugins).unwrap_or_default().into_iter().map(PluginSource::File);
    let mut likely: Vec<(String, PluginSource)> = Vec::new();
    for source in in_folder.chain(shipped_parsers()) {
        let facts = runtime.read(&source).and_then(|source| runtime.describe(&source));
        let Ok(FileFacts { descriptor: Some(descriptor), .. }) = facts else { continue };
        let is_known = likely.iter().any(|(name, _)| *name == descriptor.name);
        if !is_known && descriptor.markers.iter().any(|marker| shows(marker)) {
            likely.push((descriptor.name, source));
        }
    }
    let tables = tables(&sandbox.plugins).into_iter().filter_map(|(name, source)| {
        let source = source.ok()?;
        source.table()?.fits(shows).then_some((name, source))
    });
    likely.extend(tables);
    Ok(likely)
}
