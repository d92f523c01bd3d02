//! Loom's part of what `kernels/src/cpu/sync.rs` names.

pub(super) use loom::hint::spin_loop;
pub(super) use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
pub(super) use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
pub(super) use loom::thread::{Builder, JoinHandle};

/// One look is all orders of looking.
pub(super) const LOOKS: usize = 1;
