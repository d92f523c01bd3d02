//! Folders for compiled parsers and kernels: one switch and one default for all commands that load
//! them.

use std::path::{Path, PathBuf};

use anyhow::Context;
use parsers::CompileCache;

/// The switch of the commands that work on parsers.
#[derive(clap::Args)]
pub(super) struct CacheArgument {
    /// Cache folder for compiled parsers, or `none` [default: sluice/parsers in the user's cache
    /// folder].
    #[arg(long, value_name = "DIR|none")]
    parser_cache: Option<PathBuf>,
}

impl CacheArgument {
    /// The folder; none if caching is switched off.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        folder(self.parser_cache.as_deref(), "parsers")
    }

    /// Opens the cache. If the default folder can't be used, there is no cache.
    ///
    /// # Errors
    /// The folder given on the command line can't be used.
    pub(super) fn open(&self) -> anyhow::Result<Option<CompileCache>> {
        let given = self.parser_cache.as_deref();
        match folder(given, "parsers").map(|folder| CompileCache::open(&folder)) {
            None => Ok(None),
            Some(Err(error)) if given.is_some() => Err(error).context("--parser-cache"),
            Some(cache) => Ok(cache.ok()),
        }
    }
}

/// The folder `given`, or the default folder for this `kind`; none if caching is switched off.
pub(super) fn folder(given: Option<&Path>, kind: &str) -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    match given {
        Some(folder) if folder.as_os_str() == "none" => None,
        Some(folder) => Some(folder.to_owned()),
        None => variable("XDG_CACHE_HOME")
            .or_else(|| variable("HOME").map(|home| home.join(".cache")))
            .map(|cache| cache.join("sluice").join(kind)),
    }
}
