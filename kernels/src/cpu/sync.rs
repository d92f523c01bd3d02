//! What the pool synchronises with. `tests/interleavings` compiles the pool with a model of the same names that tries every order.

pub(super) use std::hint::spin_loop;
pub(super) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
pub(super) use std::sync::{Arc, Condvar, Mutex, MutexGuard};
pub(super) use std::thread::{Builder, JoinHandle};

/// Looks for work (of about ten nanoseconds each) before a thread sleeps.
pub(super) const LOOKS: usize = 3_000;
