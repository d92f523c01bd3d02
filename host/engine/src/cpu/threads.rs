//! The threads that compute: one set for a process, whose engines take turns at it.

use std::sync::Arc;

use kernels::cpu::{Cpu, MAX_THREADS};

use crate::models::LoadError;
use crate::turns::Turns;

/// Threads of the CPU. Clones are the same threads.
#[derive(Debug, Clone)]
pub struct Threads {
    pub(super) cpu: Arc<Cpu>,
    /// A step has all threads to itself.
    pub(super) turns: Arc<Turns>,
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
            _ => Ok(Self { cpu: Arc::new(cpu), turns: Arc::default() }),
        }
    }
}
