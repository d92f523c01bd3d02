//! Synchronisation primitives of the pool. `tests/interleavings` compiles the pool with loom's of
//! the same names, which try every order.

pub(super) use std::hint::spin_loop;
pub(super) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
pub(super) use std::sync::{Arc, Condvar, Mutex, MutexGuard};
pub(super) use std::thread::{Builder, JoinHandle};

/// Number of times that a thread polls (about ten nanoseconds each) before it sleeps. Few in Miri,
/// where polling takes far longer.
pub(super) const SPINS: usize = if cfg!(miri) { 10 } else { 3_000 };
