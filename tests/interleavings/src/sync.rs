//! Loom's part of what `host/engine/src/sync.rs` names.

pub(crate) use loom::sync::atomic::{AtomicBool, Ordering, fence};
pub(crate) use loom::sync::{Arc, Condvar, Mutex, MutexGuard};

pub(crate) use crate::queue as mpsc;
