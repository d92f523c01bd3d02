//! The component's allocator: [`Blocks`] of the instance's linear memory.
//!
//! Every chunk of text occupies one block while its call runs, so every token passes through here;
//! the standard allocator costs ten times as much. A stream's parser is short-lived and small, so
//! the memory lost to rounding up doesn't matter.

use core::arch::wasm32::{self, memory_grow, memory_size};
use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::ptr;

use super::blocks::{Blocks, LEAST, Memory};

const PAGE: usize = 64 << 10;

/// The memory of an instance, from the end of what the linker placed there.
struct Linear;

impl Memory for Linear {
    fn begin(&mut self) -> (*mut u8, usize) {
        unsafe extern "C" {
            static mut __heap_base: u8;
        }
        let base = &raw mut __heap_base;
        let base = base.wrapping_add(base.align_offset(LEAST));
        (base, memory_size::<0>() * PAGE - base.addr())
    }

    fn grow(&mut self, bytes: usize) -> usize {
        let pages = bytes.div_ceil(PAGE);
        if memory_grow::<0>(pages) == usize::MAX { 0 } else { pages * PAGE }
    }
}

/// The allocator of an instance.
struct Allocator(UnsafeCell<Blocks<Linear>>);

#[global_allocator]
static ALLOCATOR: Allocator = Allocator(UnsafeCell::new(Blocks::new(Linear)));

// SAFETY: an instance has one thread.
unsafe impl Sync for Allocator {}

// SAFETY: places are those of `Blocks`: large and aligned enough, and of one owner.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let blocks = unsafe { &mut *self.0.get() };
        blocks.allocate(layout)
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        unsafe {
            let blocks = &mut *self.0.get();
            blocks.free(place, layout);
        }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        unsafe {
            let blocks = &mut *self.0.get();
            blocks.resize(place, layout, size)
        }
    }
}

/// Allocates the strings and lists that the host hands over, as the canonical ABI asks. Defined
/// here, it is linked instead of wit-bindgen's, which does it with the standard library's
/// allocator, four calls deep.
#[unsafe(no_mangle)]
unsafe extern "C" fn cabi_realloc(old: *mut u8, old_size: usize, align: usize, size: usize) -> *mut u8 {
    if size == 0 {
        return ptr::without_provenance_mut(align);
    }
    // SAFETY: the host names the layouts of blocks that it had from here.
    let block = unsafe {
        let layout = Layout::from_size_align_unchecked(if old_size == 0 { size } else { old_size }, align);
        if old_size == 0 { ALLOCATOR.alloc(layout) } else { ALLOCATOR.realloc(old, layout, size) }
    };
    if block.is_null() {
        wasm32::unreachable();
    }
    block
}

/// Frees `size` bytes (0 is allowed) that the host allocated with [`cabi_realloc`].
pub(super) unsafe fn free(block: *mut u8, size: usize) {
    if size > 0 {
        unsafe { ALLOCATOR.dealloc(block, Layout::from_size_align_unchecked(size, 1)) };
    }
}
