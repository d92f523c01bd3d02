//! Synchronisation types between the engine's thread and its clients. `tests/interleavings`
//! compiles `inbox`, `outlet` and `notify` with types of the same names that try every order of the
//! threads.

pub(crate) use std::sync::atomic::{AtomicBool, Ordering, fence};
pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard};

pub(crate) use tokio::sync::mpsc;
