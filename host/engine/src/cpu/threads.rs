//! The threads that compute: one set for a process, which one engine has at a time.

use std::sync::Arc;

use kernels::cpu::{Cpu, MAX_THREADS};

use crate::device_lock::DeviceLock;
use crate::models::LoadError;

/// Threads of the CPU. Clones are the same threads.
#[derive(Debug, Clone)]
pub struct Threads {
    pub(super) cpu: Arc<Cpu>,
    /// A step has all threads to itself.
    pub(super) device_lock: Arc<DeviceLock>,
}

impl Threads {
    /// As many threads as were asked for, the engine's own among them; none: one per core.
    ///
    /// # Errors
    /// None or more than [`MAX_THREADS`] were asked for, or the system starts fewer.
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

    /// How many there are.
    pub fn count(&self) -> usize {
        self.cpu.threads()
    }
}
