//! Blocks of powers of two, and one list of free blocks for each size: what [`super::memory`] gives out of the instance's memory. It knows
//! nothing of WebAssembly, so that it can be tested on any machine (`tests/blocks.rs`).
//!
//! Invariant: a block is in one list or lent to one owner; blocks don't overlap; each begins at a multiple of [`LEAST`]. An owner who needs
//! more than that gets an aligned place inside a larger block, whose address stands before it.

use std::alloc::Layout;
use std::ptr;

/// The smallest block, and the alignment of all.
pub(super) const LEAST: usize = 16;
/// The power of two of the largest block.
const LARGEST: usize = 31;

/// Memory that grows at its end.
pub(super) trait Memory {
    /// Where it begins, aligned to [`LEAST`], and its bytes.
    fn begin(&mut self) -> (*mut u8, usize);

    /// At least so many bytes more, behind the last: how many. None are left where that is zero.
    fn grow(&mut self, bytes: usize) -> usize;
}

/// The blocks of one memory.
pub(super) struct Blocks<M> {
    memory: M,
    /// By the power of two: the first free block, which begins with the address of the next.
    free: [*mut u8; LARGEST + 1],
    /// Memory that was never given out: from where, and how much.
    fresh: *mut u8,
    left: usize,
}

impl<M: Memory> Blocks<M> {
    /// None of a memory that nobody else uses.
    pub(super) const fn new(memory: M) -> Self {
        Self { memory, free: [ptr::null_mut(); LARGEST + 1], fresh: ptr::null_mut(), left: 0 }
    }

    /// A place for `layout`; null if there is no more memory.
    #[inline]
    pub(super) fn allocate(&mut self, layout: Layout) -> *mut u8 {
        if layout.align() > LEAST {
            return self.allocate_aligned(layout);
        }
        class(layout).map_or(ptr::null_mut(), |class| self.take(class))
    }

    /// Gives a place back.
    ///
    /// # Safety
    /// It was had from here for `layout`, and nobody uses it any more.
    #[inline]
    pub(super) unsafe fn free(&mut self, place: *mut u8, layout: Layout) {
        let Some(class) = class(layout) else { return };
        // SAFETY: as above; the block's own address stands before a place inside it, and the first bytes of a free block are the list's.
        unsafe {
            let block = if layout.align() > LEAST { place.cast::<*mut u8>().sub(1).read() } else { place };
            block.cast::<*mut u8>().write(self.free[class]);
            self.free[class] = block;
        }
    }

    /// Makes a place larger or smaller; null, and the old place stands, if there is no more memory.
    ///
    /// # Safety
    /// It was had from here for `layout`, and `size` with its alignment is one, too.
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

    /// A place inside a block that has room before it for the block's address.
    fn allocate_aligned(&mut self, layout: Layout) -> *mut u8 {
        let block = class(layout).map_or(ptr::null_mut(), |class| self.take(class));
        if block.is_null() {
            return block;
        }
        let place = block.wrapping_add(layout.align() - block.addr() % layout.align());
        // SAFETY: the place is at least `LEAST` bytes into the block, which is as much larger as it is aligned.
        unsafe { place.cast::<*mut u8>().sub(1).write(block) };
        place
    }

    /// A block of this power of two: one that is free, or else memory that was never used.
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

    /// A block that was never used.
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

/// The power of two of the block that `layout` is given, if there are such.
#[inline]
fn class(layout: Layout) -> Option<usize> {
    let align = if layout.align() > LEAST { layout.align() } else { 0 };
    let bytes = layout.size().checked_add(align)?.max(LEAST);
    let class = bytes.checked_next_power_of_two()?.trailing_zeros() as usize;
    (class <= LARGEST).then_some(class)
}
