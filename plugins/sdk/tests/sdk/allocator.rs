//! The component's allocator, tested natively: each allocation is aligned as its layout asks, large
//! enough, and has one owner.
#![expect(unsafe_code, reason = "an allocator deals in raw memory")]

use std::alloc::Layout;

#[path = "../../src/component/blocks.rs"]
#[allow(unreachable_pub, clippy::cast_ptr_alignment, reason = "as in the component")]
mod blocks;

use blocks::{Blocks, LEAST, Memory};
use proptest::prelude::*;

/// Memory of a fixed size that begins at an odd multiple of the least alignment, and grows by
/// little.
struct Arena {
    memory: Vec<u128>,
    grown: usize,
}

impl Arena {
    const BYTES: usize = 1 << 20;
    const STEP: usize = 1 << 10;

    fn new() -> Self {
        Self { memory: vec![0; Self::BYTES / LEAST + 2], grown: 0 }
    }
}

impl Memory for Arena {
    fn begin(&mut self) -> (*mut u8, usize) {
        let base = self.memory.as_mut_ptr().cast::<u8>();
        let odd = base.addr() / LEAST % 2;
        (base.wrapping_add(LEAST * (1 - odd)), 0)
    }

    fn grow(&mut self, bytes: usize) -> usize {
        let bytes = bytes.next_multiple_of(Self::STEP);
        let grown = self.grown + bytes;
        if grown > Self::BYTES {
            return 0;
        }
        self.grown = grown;
        bytes
    }
}

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).expect("a layout")
}

#[test]
fn reused_block_is_aligned_as_its_next_owner_needs() {
    let mut blocks = Blocks::new(Arena::new());
    let places: Vec<*mut u8> = (0..8).map(|_| blocks.allocate(layout(64, 1))).collect();
    for place in places {
        // SAFETY: the block was allocated for this layout.
        unsafe { blocks.free(place, layout(64, 1)) };
    }
    for align in [32, 64, 4096] {
        let place = blocks.allocate(layout(64, align));
        assert!(!place.is_null() && place.addr().is_multiple_of(align), "{place:?} for {align}");
    }
}

#[test]
fn memory_that_ends_is_null_and_stays_usable() {
    let mut blocks = Blocks::new(Arena::new());
    assert!(blocks.allocate(layout(2 << 20, 1)).is_null());
    assert!(blocks.allocate(layout(isize::MAX as usize, 1)).is_null());
    assert!(blocks.allocate(layout(64, 1 << 30)).is_null());
    assert!(!blocks.allocate(layout(64, 1)).is_null());
}

/// An allocation, all its bytes filled with one value.
struct Lent {
    place: *mut u8,
    layout: Layout,
    fill: u8,
}

impl Lent {
    fn of(place: *mut u8, layout: Layout, fill: u8) -> Self {
        assert_eq!(place.addr() % layout.align(), 0, "{layout:?}");
        // SAFETY: the place is as large as its layout.
        unsafe { place.write_bytes(fill, layout.size()) };
        Self { place, layout, fill }
    }

    fn check(&self, bytes: usize) {
        // SAFETY: the place is as large as its layout, and was filled.
        let bytes = unsafe { std::slice::from_raw_parts(self.place, bytes) };
        assert!(
            bytes.iter().all(|byte| *byte == self.fill),
            "{:?} was written by another owner",
            self.layout
        );
    }
}

/// Allocations are smaller than this, in bytes. Each of their bytes is checked, which takes Miri
/// long.
const MAX_SIZE: usize = if cfg!(miri) { 100 } else { 3_000 };

proptest! {
    #[test]
    fn places_are_aligned_and_nobody_elses(
        steps in prop::collection::vec((0..3_u8, 1..MAX_SIZE, 0..11_u32, any::<prop::sample::Index>()), 1..60),
    ) {
        let mut blocks = Blocks::new(Arena::new());
        let mut lent: Vec<Lent> = Vec::new();
        for ((act, size, power, which), fill) in steps.into_iter().zip(1..) {
            let at = if lent.is_empty() { 0 } else { which.index(lent.len()) };
            if act == 0 || lent.is_empty() {
                let layout = layout(size, 1 << power);
                lent.push(Lent::of(blocks.allocate(layout), layout, fill));
                continue;
            }
            let old = lent.swap_remove(at);
            old.check(old.layout.size());
            if act == 1 {
                // SAFETY: the block was allocated for this layout.
                unsafe { blocks.free(old.place, old.layout) };
                continue;
            }
            // SAFETY: the block was allocated for this layout, and `size` is valid with any of
            // these alignments.
            let place = unsafe { blocks.resize(old.place, old.layout, size) };
            let new = Lent { place, layout: layout(size, old.layout.align()), fill: old.fill };
            new.check(size.min(old.layout.size()));
            lent.push(Lent::of(place, new.layout, fill));
        }
        for block in &lent {
            block.check(block.layout.size());
        }
    }
}
