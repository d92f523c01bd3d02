//! Chunks of rows, of a register's size, without the bounds check that a loop has made before.

/// Returns `all[at..at + N]`.
///
/// # Safety
/// `at + N` is not beyond the end of `all`.
#[inline(always)]
#[expect(unsafe_code, reason = "innermost loops: the check is made once for all their loads")]
pub(super) unsafe fn chunk<T, const N: usize>(all: &[T], at: usize) -> &[T; N] {
    debug_assert!(at + N <= all.len());
    // SAFETY: in bounds by this function's contract; an array has the alignment of its elements.
    unsafe { &*all.as_ptr().add(at).cast() }
}
