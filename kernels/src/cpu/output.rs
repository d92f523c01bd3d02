//! Output slice that several threads fill, each its own elements.
#![expect(unsafe_code, reason = "disjoint parts of one slice that no safe split expresses: columns of rows")]

use std::marker::PhantomData;

/// Mutable slice whose parts are handed out by index.
#[derive(Debug)]
pub(super) struct Output<'a, T> {
    start: *mut T,
    len: usize,
    owner: PhantomData<&'a mut [T]>,
}

// SAFETY: the type stands for a `&mut [T]`, and by `part`'s contract threads touch disjoint
// elements.
unsafe impl<T: Send> Sync for Output<'_, T> {}

impl<'a, T> Output<'a, T> {
    pub(super) fn new(all: &'a mut [T]) -> Self {
        Self { start: all.as_mut_ptr(), len: all.len(), owner: PhantomData }
    }

    /// Returns the elements `at .. at + len`.
    ///
    /// # Safety
    /// No two overlapping parts are alive at the same time.
    ///
    /// # Panics
    /// If the part does not lie within the output.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "the caller keeps parts apart")]
    pub(super) unsafe fn part(&self, at: usize, len: usize) -> &mut [T] {
        assert!(at <= self.len && len <= self.len - at, "part {at} + {len} of an output of {}", self.len);
        // SAFETY: within the slice that `new` borrowed mutably for 'a; apart from other parts by
        // this function's contract.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(at), len) }
    }
}
