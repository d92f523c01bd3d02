//! Parts that the models of a process share: the runtime of their parsers, and the devices of their
//! engines.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::devices::LocalDevices;
use super::parsers::bad_files::BadFiles;
use crate::limits::PROMPT_THREADS;
use accounts::TurnSlots;
use mask::GrammarShare;
use parsers::ParserLimits;
use parsers::{CompileCache, Runtime, RuntimeError};

/// Options that hold for all models of a process.
#[derive(Debug, Clone, Default)]
pub struct SharedOptions {
    /// Folder for compiled parsers; `None`: each start compiles them.
    pub parser_cache: Option<PathBuf>,
    /// Whether parsers that were built for a draft of the contract are loaded.
    pub draft_contracts: bool,
    /// Number of threads of the CPU engines; `None`: one per core.
    pub threads: Option<usize>,
    /// Folder for the compiled kernels of GPUs; `None`: each start compiles them.
    pub kernel_cache: Option<PathBuf>,
    /// Whether GPUs use only kernels whose sums don't depend on the rest of the batch.
    pub deterministic: bool,
    /// Number of principals (owners of API keys) that may send requests; 0 where no key is
    /// required, so that all are one principal's.
    pub principals: usize,
}

/// Parts that the models of a process share. Used while models are loaded; the models keep alive
/// what they need.
pub(super) struct SharedParts {
    pub(super) runtime: Arc<Runtime>,
    /// Bad files of the plugins folder.
    pub(super) bad_files: Arc<BadFiles>,
    pub(super) devices: LocalDevices,
    pub(super) grammars: Arc<GrammarShare>,
    /// Threads for jobs that may need a grammar.
    pub(super) constrained: TurnSlots,
    /// Number of principals that may send requests.
    pub(super) principals: usize,
}

impl SharedParts {
    /// # Errors
    /// Parsers can't run on this machine.
    pub(super) fn new(options: &SharedOptions, limits: &ParserLimits) -> Result<Self, RuntimeError> {
        let cache = options.parser_cache.as_deref().and_then(open_cache);
        let grammars = Arc::new(GrammarShare::new(cache.clone()));
        let runtime = Arc::new(Runtime::new(limits)?.with_cache(cache).with_drafts(options.draft_contracts));
        let devices = LocalDevices::new(options.threads, options.kernel_cache.clone())
            .deterministic(options.deterministic);
        let constrained = TurnSlots::new(PROMPT_THREADS / 2);
        Ok(Self {
            runtime,
            bad_files: Arc::default(),
            devices,
            grammars,
            constrained,
            principals: options.principals,
        })
    }
}

/// Opens the compile cache. If that fails there is one warning, and starts are slower.
fn open_cache(folder: &Path) -> Option<CompileCache> {
    CompileCache::open(folder).inspect_err(|error| tracing::warn!("{error}")).ok()
}
