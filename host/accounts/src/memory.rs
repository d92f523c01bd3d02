//! Bound on the bytes that several accounts hold together.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum size of a small account, in bytes.
const SMALL: usize = 256 << 10;
/// Divisor of the part of the memory that only small accounts may use, so that large bodies never
/// keep ordinary requests out.
const RESERVED: usize = 8;

/// Bytes of `total` that all accounts may fill before only small ones get more.
pub(super) fn most_of_one(total: usize) -> usize {
    total - total / RESERVED
}

/// Memory that several accounts share.
#[derive(Debug)]
pub(super) struct Memory {
    total: usize,
    held: AtomicUsize,
}

impl Memory {
    pub(super) fn new(total: usize) -> Self {
        Self { total, held: AtomicUsize::new(0) }
    }

    /// Bytes that one account gets if no other holds any.
    pub(super) fn most_of_one(&self) -> usize {
        most_of_one(self.total)
    }

    /// Takes `bytes` for an account that holds `has` bytes already; false if there is no room.
    pub(super) fn take(&self, has: usize, bytes: usize) -> bool {
        let small = has.saturating_add(bytes) <= SMALL;
        let most = if small { self.total } else { most_of_one(self.total) };
        let taken = |held: usize| held.checked_add(bytes).filter(|held| *held <= most);
        self.held.fetch_update(Ordering::AcqRel, Ordering::Acquire, taken).is_ok()
    }

    /// Gives back bytes that were taken.
    pub(super) fn give_back(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::AcqRel);
    }

    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Acquire)
    }
}
