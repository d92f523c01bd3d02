//! An output that several threads fill, each its own elements.
#![expect(unsafe_code, reason = "disjoint parts of one slice that no safe split expresses: columns of rows")]

use std::marker::PhantomData;

/// A mutable slice to be shared out by index.
#[derive(Debug)]
pub(super) struct Output<'a, T> {
    start: *mut T,
    len: usize,
    owner: PhantomData<&'a mut [T]>,
}

// SAFETY: it stands for a `&mut [T]`; `part`'s contract makes threads touch disjoint elements.
unsafe impl<T: Send> Sync for Output<'_, T> {}

impl<'a, T> Output<'a, T> {
    pub(super) fn new(all: &'a mut [T]) -> Self {
        Self { start: all.as_mut_ptr(), len: all.len(), owner: PhantomData }
    }

    /// The elements `at .. at + len`.
    ///
    /// # Safety
    /// No two parts that overlap are alive at a time.
    ///
    /// # Panics
    /// Where the part does not lie within the output.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "the caller keeps parts apart")]
    pub(super) unsafe fn part(&self, at: usize, len: usize) -> &mut [T] {
        assert!(at <= self.len && len <= self.len - at, "part {at} + {len} of an output of {}", self.len);
        // SAFETY: within the slice that `new` borrowed mutably for 'a; apart from other parts by this function's contract.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(at), len) }
    }
}
