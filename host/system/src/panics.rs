//! Panics of libraries, caught where the library is called with what strangers wrote.
//!
//! Invariant: whoever catches a panic throws away what panicked: it may be half written, and its
//! locks are poisoned.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Error of a library that panicked. Its message may quote a request, so it isn't kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Panicked;

thread_local! {
    /// Calls of [`caught`] that this thread is in.
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

/// Runs `work`, whose panic is an error here.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    CALLS.set(CALLS.get() + 1);
    let done = catch_unwind(AssertUnwindSafe(work));
    CALLS.set(CALLS.get() - 1);
    done.map_err(|_| Panicked)
}

/// Whether a panic of this thread is caught and reported by who called the library: the hook for
/// panics needn't log it as an error.
pub fn is_caught() -> bool {
    CALLS.get() > 0
}
