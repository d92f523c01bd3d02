//! Threads that compute on the CPU: one set per process, used by one engine at a time.

use std::sync::Arc;

use kernels::cpu::{Cpu, MAX_THREADS};

use crate::device_lock::DeviceLock;
use crate::models::LoadError;

/// Threads of the CPU. Clones are the same threads.
#[derive(Debug, Clone)]
pub struct Threads {
    pub(super) cpu: Arc<Cpu>,
    /// Lock that gives all threads to one step at a time.
    pub(super) device_lock: Arc<DeviceLock>,
}

impl Threads {
    /// Starts `asked` threads, the engine's own included; `None`: one per core.
    ///
    /// # Errors
    /// `asked` is 0 or above [`MAX_THREADS`], or the system starts fewer threads.
    pub fn start(asked: Option<usize>) -> Result<Self, LoadError> {
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let asked = asked.unwrap_or_else(|| cores().min(MAX_THREADS));
        if !(1..=MAX_THREADS).contains(&asked) {
            return Err(LoadError::Threads { asked, most: MAX_THREADS });
        }
        let cpu = Cpu::new(asked);
        match cpu.threads() {
            started if started < asked => Err(LoadError::Threads { asked, most: started }),
            _ => Ok(Self { cpu: Arc::new(cpu), device_lock: Arc::default() }),
        }
    }

    /// Number of threads.
    pub fn count(&self) -> usize {
        self.cpu.threads()
    }
}
