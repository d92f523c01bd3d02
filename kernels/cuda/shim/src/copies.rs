//! Copies in the background (`cp.async`): what they bring is there when the thread waits for their group, and not before; until
//! then the place holds neither the old nor the new.

use std::collections::VecDeque;

use crate::memory::POISON;

#[derive(Debug)]
struct Copy {
    to: *mut u8,
    from: *const u8,
    size: usize,
    bytes: usize,
}

/// A thread's copies.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    open: Vec<Copy>,
    groups: VecDeque<Vec<Copy>>,
}

#[expect(unsafe_code, reason = "addresses of kernels; a wrong one faults within the fiber")]
impl Copies {
    /// Begins a copy of `bytes` bytes and zeros up to `size`.
    pub(crate) fn begin(&mut self, to: *mut u8, from: *const u8, size: usize, bytes: usize) {
        // SAFETY: the kernel says that it may write there.
        unsafe { std::ptr::write_bytes(to, POISON, size) };
        self.open.push(Copy { to, from, size, bytes });
    }

    pub(crate) fn commit(&mut self) {
        self.groups.push_back(std::mem::take(&mut self.open));
    }

    /// Ends all groups but the last `pending`.
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
