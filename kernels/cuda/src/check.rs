//! Checks of launch parameters that several operations share. A wrong parameter is an error in the engine's code: it panics.

use crate::DevicePtr;

/// Threads of a block where nothing asks for another number.
pub(crate) const THREADS: u32 = 256;

/// Elements that a thread takes at once: eight (16 bytes of bf16) where rows begin at multiples of 16 bytes, else one.
pub(crate) fn width(cols: u32, pointers: &[DevicePtr]) -> u32 {
    if cols.is_multiple_of(8) && pointers.iter().all(|p| p.is_wide()) { 8 } else { 1 }
}

/// Rows and columns that are there, and pointers that aren't null.
pub(crate) fn shape(operation: &str, rows: u32, cols: u32, pointers: &[DevicePtr]) {
    assert!(rows > 0 && cols > 0, "{operation}: {rows} rows of {cols}");
    assert!(pointers.iter().all(|p| *p != DevicePtr::NULL), "{operation}: a pointer is null");
}
