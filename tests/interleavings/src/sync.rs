//! Loom's counterparts of the names in `host/engine/src/sync.rs`.

pub(crate) use loom::sync::atomic::{AtomicBool, Ordering, fence};
pub(crate) use loom::sync::{Arc, Condvar, Mutex, MutexGuard};

pub(crate) use crate::queue as mpsc;
