//! Threads that compute masks: several for usual masks, and one for slow masks, so that no usual
//! mask waits behind a slow one.
//!
//! Invariant: work that panics ends itself alone. Whoever waits for its result finds the sender
//! gone.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::available_parallelism;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::watch::MaskWatch;

/// The threads for masks of one model.
pub(super) struct MaskPool {
    usual: ThreadPool,
    slow: Arc<ThreadPool>,
    /// Watchdog that cancels masks that take far too long, on any of the threads.
    pub(super) watch: Arc<MaskWatch>,
}

/// Lock on a grammar's lexer. All masks of the grammar share the lexer, so they are computed one at
/// a time.
#[derive(Clone, Default)]
pub(super) struct LexerLock(Arc<Mutex<()>>);

/// Guard of a [`LexerLock`].
pub(super) type LexerGuard<'a> = MutexGuard<'a, ()>;

impl LexerLock {
    /// Waits for the lock.
    pub(super) fn lock(&self) -> LexerGuard<'_> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock if it is free.
    pub(super) fn try_lock(&self) -> Option<LexerGuard<'_>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// A pool of `threads` threads. Without a handler rayon ends the process at a panic; its message is
/// the panic hook's to log.
fn pool(threads: usize) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .panic_handler(|_| tracing::error!("computing a mask panicked: its answer fails"))
}

impl MaskPool {
    pub(super) fn new() -> std::io::Result<Self> {
        let threads = (available_parallelism().map_or(1, usize::from) / 2).clamp(1, 4);
        let usual = pool(threads).thread_name(|index| format!("mask-{index}"));
        let slow = pool(1).thread_name(|_| "slow-mask".to_owned());
        let (usual, slow) = usual
            .build()
            .and_then(|usual| Ok((usual, Arc::new(slow.build()?))))
            .map_err(std::io::Error::other)?;
        Ok(Self { usual, slow, watch: Arc::new(MaskWatch::new()?) })
    }

    /// Runs `work` on a thread of the pool, with the lexer's guard. Work that is likely to take
    /// long (`is_slow`), or whose lexer is locked, runs on the thread for slow masks, where it
    /// delays no usual one.
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
