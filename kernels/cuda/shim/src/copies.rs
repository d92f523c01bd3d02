//! Background copies (`cp.async`): the copied bytes are there once the thread has waited for their
//! group. Until then the target holds neither the old bytes nor the new ones.

use std::collections::VecDeque;

use crate::memory::POISON;

#[derive(Debug)]
struct Copy {
    to: *mut u8,
    from: *const u8,
    size: usize,
    bytes: usize,
}

/// Background copies of one thread: those of the open group, and the committed groups.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    open: Vec<Copy>,
    groups: VecDeque<Vec<Copy>>,
}

#[expect(unsafe_code, reason = "addresses of kernels; a wrong one faults within the fiber")]
impl Copies {
    /// Begins a copy of `bytes` bytes, followed by zeros up to `size`.
    pub(crate) fn begin(&mut self, to: *mut u8, from: *const u8, size: usize, bytes: usize) {
        // SAFETY: the kernel says that it may write there.
        unsafe { std::ptr::write_bytes(to, POISON, size) };
        self.open.push(Copy { to, from, size, bytes });
    }

    pub(crate) fn commit(&mut self) {
        self.groups.push_back(std::mem::take(&mut self.open));
    }

    /// Completes all groups but the last `pending`.
    pub(crate) fn wait(&mut self, pending: usize) {
        while self.groups.len() > pending {
            for Copy { to, from, size, bytes } in self.groups.pop_front().into_iter().flatten() {
                // SAFETY: the kernel says that it may read and write there.
                unsafe {
                    std::ptr::copy_nonoverlapping(from, to, bytes);
                    std::ptr::write_bytes(to.add(bytes), 0, size - bytes);
                }
            }
        }
    }
}
