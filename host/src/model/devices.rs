//! What the runners of a process share: the threads of the CPU, and the compiled kernels of GPUs.

use std::cell::OnceCell;
use std::path::PathBuf;

use engine::cpu::Threads;
use engine::cuda::KernelCache;
use engine::models::LoadError;

/// See the module. Used while models are loaded; they keep what they need alive.
#[derive(Debug, Default)]
pub struct LocalDevices {
    asked_threads: Option<usize>,
    threads: OnceCell<Threads>,
    kernel_cache: Option<PathBuf>,
    deterministic: bool,
}

impl LocalDevices {
    /// So many threads (none: one per core), and a folder for compiled kernels (none: each start compiles).
    pub fn new(threads: Option<usize>, kernel_cache: Option<PathBuf>) -> Self {
        Self { asked_threads: threads, threads: OnceCell::new(), kernel_cache, deterministic: false }
    }

    /// With only such kernels on GPUs that a sequence's tokens don't depend on what else is computed; on the CPU they never do.
    #[must_use]
    pub fn deterministic(self, deterministic: bool) -> Self {
        Self { deterministic, ..self }
    }

    /// The threads, which start with the first model that computes on them.
    ///
    /// # Errors
    /// They don't start.
    pub fn threads(&self) -> Result<&Threads, LoadError> {
        if let Some(threads) = self.threads.get() {
            return Ok(threads);
        }
        let started = Threads::start(self.asked_threads)?;
        Ok(self.threads.get_or_init(|| started))
    }

    pub(super) fn is_deterministic(&self) -> bool {
        self.deterministic
    }

    pub(super) fn kernels(&self) -> KernelCache {
        self.kernel_cache.as_deref().map(KernelCache::open).unwrap_or_default()
    }
}
