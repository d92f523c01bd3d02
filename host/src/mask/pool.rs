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

/// Who computes masks of a grammar: one at a time, since its masks share a lexer.
#[derive(Clone, Default)]
pub(super) struct Turn(Arc<Mutex<()>>);

/// Its turn, until this is dropped.
pub(super) type TurnGuard<'a> = MutexGuard<'a, ()>;

impl Turn {
    /// Waits for it.
    pub(super) fn take(&self) -> TurnGuard<'_> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes it if nobody has it.
    pub(super) fn try_take(&self) -> Option<TurnGuard<'_>> {
        match self.0.try_lock() {
            Ok(turn) => Some(turn),
            Err(TryLockError::Poisoned(turn)) => Some(turn.into_inner()),
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

    /// Runs `work` when it is the grammar's turn, which it gives back. Work that is likely to take long, or whose grammar is busy, goes where
    /// it delays no other.
    pub(super) fn spawn(&self, turn: Turn, is_slow: bool, work: impl FnOnce(TurnGuard<'_>) + Send + 'static) {
        if is_slow {
            return self.slow.spawn_fifo(move || work(turn.take()));
        }
        let slow = Arc::clone(&self.slow);
        self.usual.spawn_fifo(move || {
            if let Some(taken) = turn.try_take() {
                return work(taken);
            }
            let turn = turn.clone();
            slow.spawn_fifo(move || work(turn.take()));
        });
    }
}
