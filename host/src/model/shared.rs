//! What the models of a process share: the runtime of their parsers, and the devices of their engines.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::devices::LocalDevices;
use crate::limits::ParserLimits;
use crate::parser::{CompileCache, Runtime, RuntimeError};

/// How much of the machine all models together may use.
#[derive(Debug, Clone, Default)]
pub struct SharedOptions {
    /// Folder for compiled parsers; none: each start compiles.
    pub parser_cache: Option<PathBuf>,
    /// Threads of the CPU engines; none: one per core.
    pub threads: Option<usize>,
    /// Folder for the compiled kernels of GPUs; none: each start compiles.
    pub kernel_cache: Option<PathBuf>,
    /// Whether GPUs have only kernels whose sums don't depend on what else is computed.
    pub deterministic: bool,
}

/// See the module. Used while models are loaded; they keep what they need alive.
pub(super) struct SharedParts {
    pub(super) runtime: Arc<Runtime>,
    pub(super) devices: LocalDevices,
}

impl SharedParts {
    /// # Errors
    /// Parsers can't run on this machine.
    pub(super) fn new(options: &SharedOptions, limits: &ParserLimits) -> Result<Self, RuntimeError> {
        let cache = options.parser_cache.as_deref().and_then(open_cache);
        let runtime = Arc::new(Runtime::new(limits)?.with_cache(cache));
        let devices = LocalDevices::new(options.threads, options.kernel_cache.clone())
            .deterministic(options.deterministic);
        Ok(Self { runtime, devices })
    }
}

/// A cache that can't be used is one warning and slower starts.
fn open_cache(folder: &Path) -> Option<CompileCache> {
    CompileCache::open(folder).inspect_err(|error| tracing::warn!("{error}")).ok()
}
