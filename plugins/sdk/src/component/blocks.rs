//! An allocator: blocks whose sizes are powers of two, and one free list for each size.
//! [`super::memory`] runs it on the instance's memory. It knows nothing of WebAssembly, so that it
//! can be tested on any machine (`tests/sdk/allocator.rs`).
//!
//! Invariant: a block is in one free list or allocated once; blocks don't overlap; each begins at a
//! multiple of [`LEAST`]. A larger alignment is served by an aligned place inside a larger block;
//! the block's address stands in front of that place.

use std::alloc::Layout;
use std::ptr;

/// Size of the smallest block, in bytes, and the alignment of all blocks.
pub(super) const LEAST: usize = 16;
/// Exponent of the largest block's size.
const LARGEST: usize = 31;

/// Memory that grows at its end.
pub(super) trait Memory {
    /// Address of its first byte, aligned to [`LEAST`], and its size in bytes.
    fn begin(&mut self) -> (*mut u8, usize);

    /// Grows the memory at its end by at least `bytes`. Returns by how many bytes; 0 if there are
    /// no more.
    fn grow(&mut self, bytes: usize) -> usize;
}

/// The blocks of one memory.
pub(super) struct Blocks<M> {
    memory: M,
    /// Free lists by exponent of the block size: each free block begins with the address of the
    /// next.
    free: [*mut u8; LARGEST + 1],
    /// Memory that was never allocated: its address, and its size in bytes (`left`).
    fresh: *mut u8,
    left: usize,
}

impl<M: Memory> Blocks<M> {
    /// An allocator with no block yet. Nothing else may use `memory`.
    pub(super) const fn new(memory: M) -> Self {
        Self { memory, free: [ptr::null_mut(); LARGEST + 1], fresh: ptr::null_mut(), left: 0 }
    }

    /// Allocates memory for `layout`; null if there is none left.
    #[inline]
    pub(super) fn allocate(&mut self, layout: Layout) -> *mut u8 {
        if layout.align() > LEAST {
            return self.allocate_aligned(layout);
        }
        class(layout).map_or(ptr::null_mut(), |class| self.take(class))
    }

    /// Frees the memory at `place`.
    ///
    /// # Safety
    /// `place` was allocated here for `layout` and is no longer used.
    #[inline]
    pub(super) unsafe fn free(&mut self, place: *mut u8, layout: Layout) {
        let Some(class) = class(layout) else { return };
        // SAFETY: as above; the block's own address stands before a place inside it, and the first
        // bytes of a free block are the list's.
        unsafe {
            let block = if layout.align() > LEAST { place.cast::<*mut u8>().sub(1).read() } else { place };
            block.cast::<*mut u8>().write(self.free[class]);
            self.free[class] = block;
        }
    }

    /// Makes the memory at `place` larger or smaller, and may move it. Null if there is no memory
    /// left: then `place` stays valid.
    ///
    /// # Safety
    /// `place` was allocated here for `layout`, and `size` with the alignment of `layout` is a
    /// valid layout, too.
    #[inline]
    pub(super) unsafe fn resize(&mut self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above; what is copied fits both places, which don't overlap.
        unsafe {
            let wanted = Layout::from_size_align_unchecked(size, layout.align());
            if class(wanted) == class(layout) {
                return place;
            }
            let new = self.allocate(wanted);
            if !new.is_null() {
                ptr::copy_nonoverlapping(place, new, size.min(layout.size()));
                self.free(place, layout);
            }
            new
        }
    }

    /// An aligned place inside a block, with room in front of it for the block's address.
    fn allocate_aligned(&mut self, layout: Layout) -> *mut u8 {
        let block = class(layout).map_or(ptr::null_mut(), |class| self.take(class));
        if block.is_null() {
            return block;
        }
        let place = block.wrapping_add(layout.align() - block.addr() % layout.align());
        // SAFETY: the place is at least `LEAST` bytes into the block, which is as much larger as it
        // is aligned.
        unsafe { place.cast::<*mut u8>().sub(1).write(block) };
        place
    }

    /// A block of `1 << class` bytes: a free one, or else one of memory that was never allocated.
    #[inline]
    fn take(&mut self, class: usize) -> *mut u8 {
        let block = self.free[class];
        if block.is_null() {
            return self.cut(1 << class);
        }
        // SAFETY: a free block begins with the address of the next.
        self.free[class] = unsafe { block.cast::<*mut u8>().read() };
        block
    }

    /// Cuts a block of `size` bytes off the memory that was never allocated; null if there is none
    /// left.
    fn cut(&mut self, size: usize) -> *mut u8 {
        if self.fresh.is_null() {
            (self.fresh, self.left) = self.memory.begin();
        }
        if size > self.left {
            self.left += self.memory.grow(size - self.left);
        }
        if size > self.left {
            return ptr::null_mut();
        }
        let block = self.fresh;
        self.fresh = block.wrapping_add(size);
        self.left -= size;
        block
    }
}

/// Exponent of the size of the block that serves `layout`; `None` if it exceeds [`LARGEST`].
#[inline]
fn class(layout: Layout) -> Option<usize> {
    let align = if layout.align() > LEAST { layout.align() } else { 0 };
    let bytes = layout.size().checked_add(align)?.max(LEAST);
    let class = bytes.checked_next_power_of_two()?.trailing_zeros() as usize;
    (class <= LARGEST).then_some(class)
}
