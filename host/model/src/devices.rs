//! Devices that the runners of a process share: the threads of the CPU, and the compiled kernels of
//! GPUs.

use std::cell::OnceCell;
use std::path::PathBuf;

use engine::cpu::Threads;
use engine::cuda::KernelCache;
use engine::models::LoadError;

/// Devices that the runners of a process share. Used while models are loaded; the models keep alive
/// what they need.
#[derive(Debug, Default)]
pub struct LocalDevices {
    asked_threads: Option<usize>,
    threads: OnceCell<Threads>,
    kernel_cache: Option<PathBuf>,
    deterministic: bool,
}

impl LocalDevices {
    /// `threads` is the number of CPU threads (`None`: one per core), `kernel_cache` the folder for
    /// compiled kernels (`None`: each start compiles them).
    pub fn new(threads: Option<usize>, kernel_cache: Option<PathBuf>) -> Self {
        Self { asked_threads: threads, threads: OnceCell::new(), kernel_cache, deterministic: false }
    }

    /// Sets whether GPUs use only kernels with which a sequence's tokens don't depend on the rest
    /// of the batch. On the CPU they never do.
    #[must_use]
    pub fn deterministic(self, deterministic: bool) -> Self {
        Self { deterministic, ..self }
    }

    /// Returns the threads, which are started for the first model that uses them.
    ///
    /// # Errors
    /// The threads can't be started.
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
