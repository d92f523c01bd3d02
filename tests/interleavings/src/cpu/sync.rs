//! Loom's counterparts of the names in `kernels/src/cpu/sync.rs`.

pub(super) use loom::hint::spin_loop;
pub(super) use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
pub(super) use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
pub(super) use loom::thread::{Builder, JoinHandle};

/// Number of spins before a thread sleeps. One is enough, since loom tries all orders.
pub(super) const SPINS: usize = 1;
