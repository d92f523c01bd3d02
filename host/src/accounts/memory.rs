//! A bound on bytes that several accounts hold together.

use std::sync::atomic::{AtomicUsize, Ordering};

/// An account that holds no more than this is small.
const SMALL: usize = 256 << 10;
/// The last part of the memory, one in so many, is for small accounts: large bodies never keep ordinary requests out.
const RESERVED: usize = 8;

/// What an account may hold of `total` bytes, unless it is small.
pub(super) fn most_of_one(total: usize) -> usize {
    total - total / RESERVED
}

/// See the module.
#[derive(Debug)]
pub(super) struct Memory {
    total: usize,
    held: AtomicUsize,
}

impl Memory {
    pub(super) fn new(total: usize) -> Self {
        Self { total, held: AtomicUsize::new(0) }
    }

    /// Takes `bytes` for an account that holds `has` already; false if there is no room.
    pub(super) fn take(&self, has: usize, bytes: usize) -> bool {
        let small = has.saturating_add(bytes) <= SMALL;
        let most = if small { self.total } else { most_of_one(self.total) };
        let taken = |held: usize| held.checked_add(bytes).filter(|held| *held <= most);
        self.held.fetch_update(Ordering::AcqRel, Ordering::Acquire, taken).is_ok()
    }

    /// Gives back what was taken.
    pub(super) fn give_back(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::AcqRel);
    }

    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Acquire)
    }
}
