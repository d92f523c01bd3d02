//! Threads on which masks are computed: some for usual ones, and one for those that take long, behind which no usual one waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::available_parallelism;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::watch::MaskWatch;

/// The threads of one model.
pub(super) struct MaskPool {
    usual: ThreadPool,
    slow: Arc<ThreadPool>,
    /// What ends those that take too long even for that.
    pub(super) watch: Arc<MaskWatch>,
}

/// The right to use a grammar's lexer, which its masks share: they are computed one at a time.
#[derive(Clone, Default)]
pub(super) struct LexerLock(Arc<Mutex<()>>);

/// Held until this is dropped.
pub(super) type LexerGuard<'a> = MutexGuard<'a, ()>;

impl LexerLock {
    /// Waits for it.
    pub(super) fn lock(&self) -> LexerGuard<'_> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes it if nobody has it.
    pub(super) fn try_lock(&self) -> Option<LexerGuard<'_>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl MaskPool {
    pub(super) fn new() -> std::io::Result<Self> {
        let threads = (available_parallelism().map_or(1, usize::from) / 2).clamp(1, 4);
        let usual =
            ThreadPoolBuilder::new().num_threads(threads).thread_name(|index| format!("mask-{index}"));
        let slow = ThreadPoolBuilder::new().num_threads(1).thread_name(|_| "slow-mask".to_owned());
        let (usual, slow) = usual
            .build()
            .and_then(|usual| Ok((usual, Arc::new(slow.build()?))))
            .map_err(std::io::Error::other)?;
        Ok(Self { usual, slow, watch: Arc::new(MaskWatch::new()?) })
    }

    /// Runs `work` with the lexer, which it gives back. Work that is likely to take long, or whose grammar is busy, goes where
    /// it delays no other.
    pub(super) fn spawn(
        &self,
        lexer: LexerLock,
        is_slow: bool,
        work: impl FnOnce(LexerGuard<'_>) + Send + 'static,
    ) {
        if is_slow {
            return self.slow.spawn_fifo(move || work(lexer.lock()));
        }
        let slow = Arc::clone(&self.slow);
        self.usual.spawn_fifo(move || {
            if let Some(guard) = lexer.try_lock() {
                return work(guard);
            }
            let lexer = lexer.clone();
            slow.spawn_fifo(move || work(lexer.lock()));
        });
    }
}
