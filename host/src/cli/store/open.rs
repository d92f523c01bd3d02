//! The store of `host serve`: `--store`, its default, and the fallback if there can be no file.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use anyhow::Context;
use store::{Bounds, OpenCause, OpenError, Options, Sqlite, Store, Synchronous};

use crate::cli::data;
use crate::cli::limits::Switches;
use crate::cli::values::{parsed, synchronous};

/// Name of the default store in the user's data folder.
pub(super) const DEFAULT: &str = "state.db";

/// Value of `--store`. One that needs credentials will name the variable or the file that has them,
/// and never hold them.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Sqlite(PathBuf),
    Memory,
    Nowhere,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("sqlite", file)) if !file.is_empty() => Ok(Self::Sqlite(file.into())),
            None if text == "memory" => Ok(Self::Memory),
            None if text == "none" => Ok(Self::Nowhere),
            _ => Err(format!("{text} is none of sqlite:FILE, memory and none")),
        }
    }
}

#[derive(clap::Args)]
pub(in crate::cli) struct StoreArguments {
    /// Where responses and conversations are kept: in a file, which is created if it is missing; in
    /// memory, until the server ends; or nowhere [default: sqlite:, with sluice/state.db in the
    /// user's data folder; if that isn't possible, `memory`, with a warning].
    #[arg(long, value_name = "sqlite:FILE|memory|none", value_parser = parsed::<Place>)]
    store: Option<Place>,
    /// What stored data outlives at once: `normal`: the end of the process, at any moment; `full`:
    /// the loss of power, too, for which each commit waits for the disk.
    #[arg(long, value_parser = synchronous(), default_value = "normal")]
    store_sync: Synchronous,
    #[command(flatten)]
    limits: Switches<Bounds>,
}

/// A store and its place for the summary.
type Opened = (Option<Arc<dyn Store>>, String);

impl StoreArguments {
    /// Whether the operator named the place, so that there is no other if it can't be used.
    pub(in crate::cli) fn is_named(&self) -> bool {
        self.store.is_some()
    }

    /// The store's file; `None` if it is in memory or nowhere, or there is no data folder.
    pub(in crate::cli) fn file(&self) -> Option<PathBuf> {
        match &self.store {
            Some(Place::Sqlite(file)) => Some(file.clone()),
            Some(Place::Memory | Place::Nowhere) => None,
            None => data::file(DEFAULT),
        }
    }

    /// Opens the store. The default is the file in the user's data folder; where there can't be
    /// one, or another server has it open, the store is in memory, with a warning.
    ///
    /// # Errors
    /// The named file can't be opened, or the default one has content that this version can't read:
    /// it may be what its owner looks for.
    pub(in crate::cli) fn open(&self) -> anyhow::Result<Opened> {
        match &self.store {
            Some(Place::Nowhere) => return Ok((None, "none: nothing is kept".to_owned())),
            Some(Place::Memory) => return self.memory(),
            Some(Place::Sqlite(file)) => return self.sqlite(file).context("--store"),
            None => {}
        }
        let Some(file) = data::file(DEFAULT) else {
            tracing::info!(
                "no data folder: stored responses are lost at a restart; --store sqlite:FILE keeps them"
            );
            return self.memory();
        };
        match self.sqlite(&file) {
            Err(error) if error.cause() == OpenCause::Content => {
                Err(error).context("the default store (--store names another, or `memory`)")
            }
            Err(error) => {
                tracing::warn!(%error, "responses are stored in memory, and lost when this server ends; --store sqlite:FILE names another file");
                self.memory()
            }
            Ok(opened) => Ok(opened),
        }
    }

    fn sqlite(&self, file: &Path) -> Result<Opened, OpenError> {
        let store = Sqlite::open(file, &self.options(self.limits.0.clone()))?;
        let days = self.limits.0.unused.as_secs().div_ceil(24 * 60 * 60);
        let place = format!(
            "sqlite:{} (prompts and answers, {days} days after their last use; --store none keeps nothing)",
            file.display()
        );
        Ok((Some(Arc::new(store)), place))
    }

    fn memory(&self) -> anyhow::Result<Opened> {
        let store = Sqlite::memory(&self.options(self.limits.0.in_memory()))?;
        Ok((Some(Arc::new(store)), "memory, until the server ends".to_owned()))
    }

    fn options(&self, bounds: Bounds) -> Options {
        let host = getrandom::u64().expect("the system gives randomness");
        let synchronous = self.store_sync;
        Options { host: format!("{host:016x}"), bounds, synchronous, ..Options::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_file_memory_or_none() {
        assert_eq!("sqlite:a:b.db".parse(), Ok(Place::Sqlite("a:b.db".into())));
        assert_eq!("memory".parse(), Ok(Place::Memory));
        assert_eq!("none".parse(), Ok(Place::Nowhere));
        for text in ["", "sqlite", "sqlite:", "memory:", "state.db", "postgres://host/state"] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
    }
}
