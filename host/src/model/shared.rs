//! What the models of a process share: the runtime of their parsers, and the threads of their engines.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::cpu::Threads;
use engine::models::LoadError;

use crate::limits::ParserLimits;
use crate::parser::{CompileCache, Runtime, RuntimeError};

/// How much of the machine all models together may use.
#[derive(Debug, Clone, Default)]
pub struct SharedOptions {
    /// Folder for compiled parsers; none: each start compiles.
    pub parser_cache: Option<PathBuf>,
    /// Threads of the CPU engines; none: one per core.
    pub threads: Option<usize>,
}

/// See the module. Used while models are loaded; they keep what they need alive.
pub(super) struct Shared {
    pub(super) runtime: Arc<Runtime>,
    asked_threads: Option<usize>,
    threads: OnceCell<Threads>,
}

impl Shared {
    /// # Errors
    /// Parsers can't run on this machine.
    pub(super) fn new(options: &SharedOptions, limits: &ParserLimits) -> Result<Self, RuntimeError> {
        let cache = options.parser_cache.as_deref().and_then(open_cache);
        let runtime = Arc::new(Runtime::new(limits)?.with_cache(cache));
        Ok(Self { runtime, asked_threads: options.threads, threads: OnceCell::new() })
    }

    /// The threads, which start with the first model that computes on them.
    ///
    /// # Errors
    /// They don't start.
    pub(super) fn threads(&self) -> Result<&Threads, LoadError> {
        if let Some(threads) = self.threads.get() {
            return Ok(threads);
        }
        let started = Threads::start(self.asked_threads)?;
        Ok(self.threads.get_or_init(|| started))
    }
}

/// A cache that can't be used is one warning and slower starts.
fn open_cache(folder: &Path) -> Option<CompileCache> {
    CompileCache::open(folder).inspect_err(|error| tracing::warn!("{error}")).ok()
}
