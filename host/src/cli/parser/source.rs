//! The parser that a command works on, and the folder of its cases.

use std::path::{Path, PathBuf};

use anyhow::Context;
use api::case_stream;
use model::find_parser;
use parser_kit::case::case_files;
use parsers::ParserLimits;
use parsers::conformance::{Measures, Sandboxed};
use parsers::{PluginSource, Runtime};

use crate::cli::cache::CacheArgument;
use crate::cli::drafts::DraftArgument;
use crate::cli::limits::Switches;

/// Which parser: what every command about one has.
#[derive(clap::Args)]
pub(super) struct ParserArguments {
    /// Parser: a file, or a name in the plugins folder or among the shipped parsers.
    #[arg(value_name = "FILE|NAME")]
    file: String,
    #[command(flatten)]
    sandbox: SandboxArguments,
}

/// Where parsers are, and the limits that they run with.
#[derive(clap::Args)]
pub(super) struct SandboxArguments {
    /// Folder of parsers.
    #[arg(long, value_name = "DIR", default_value = "plugins")]
    pub(super) plugins: PathBuf,
    #[command(flatten)]
    cache: CacheArgument,
    #[command(flatten)]
    drafts: DraftArgument,
    #[command(flatten)]
    limits: Switches<ParserLimits>,
}

impl ParserArguments {
    /// The parser as it was given.
    pub(super) fn given(&self) -> &str {
        &self.file
    }

    /// The cache of compiled code.
    pub(super) fn cache(&self) -> &CacheArgument {
        &self.sandbox.cache
    }

    /// Finds the parser in the same way as `host serve --parser`.
    pub(super) fn source(&self) -> anyhow::Result<PluginSource> {
        Ok(find_parser(&self.file, &self.sandbox.plugins)?)
    }

    /// Makes a runtime for loading the parser.
    pub(super) fn runtime(&self) -> anyhow::Result<Runtime> {
        self.sandbox.runtime()
    }

    /// Case files of `given`, or of the folder beside the parser's sources.
    pub(super) fn case_files(&self, given: Option<&Path>) -> anyhow::Result<Vec<PathBuf>> {
        let Some(folder) = given else { return case_files(&self.cases()?).map_err(anyhow::Error::msg) };
        let files = case_files(folder).map_err(anyhow::Error::msg).context("--cases")?;
        anyhow::ensure!(!files.is_empty(), "--cases: {}: no case files (NAME.json)", folder.display());
        Ok(files)
    }

    /// Loads the parser, ready to play cases.
    pub(super) fn load(&self, measures: Measures) -> anyhow::Result<Sandboxed> {
        self.sandbox.load(self.source()?, measures)
    }

    /// Folder `cases` beside the parser's sources: `plugins/NAME/cases` for `plugins/NAME.wasm`,
    /// `plugins/tables/NAME/cases` for a table.
    pub(super) fn cases(&self) -> anyhow::Result<PathBuf> {
        let sources = match self.source()? {
            PluginSource::File(file) => file.with_extension(""),
            PluginSource::Table(table) => self.sandbox.plugins.join("tables").join(&*table.format()),
            other => self.sandbox.plugins.join(&*other.name()),
        };
        let cases = sources.join("cases");
        let found = cases.is_dir().then_some(cases.clone());
        found.with_context(|| format!("no folder {} with cases: name one with --cases", cases.display()))
    }
}

impl SandboxArguments {
    /// Makes a runtime for loading parsers.
    pub(super) fn runtime(&self) -> anyhow::Result<Runtime> {
        let runtime = Runtime::new(&self.limits.0)?.with_cache(self.cache.open()?);
        Ok(runtime.with_drafts(self.drafts.allowed()))
    }

    /// Loads a parser, ready to play cases.
    pub(super) fn load(&self, source: PluginSource, measures: Measures) -> anyhow::Result<Sandboxed> {
        let cache = self.cache.open()?;
        let sandboxed = Sandboxed::new(source, &self.limits.0, cache, measures, case_stream::check)
            .map_err(anyhow::Error::msg)?;
        Ok(sandboxed.with_drafts(self.drafts.allowed()))
    }
}
