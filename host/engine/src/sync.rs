//! What the engine's thread and its clients synchronise with. `tests/interleavings` compiles `inbox`, `outlet` and `notify` with a model
//! of the same names that tries every order.

pub(crate) use std::sync::atomic::{AtomicBool, Ordering, fence};
pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard};

pub(crate) use tokio::sync::mpsc;
