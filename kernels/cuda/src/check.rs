//! Checks of launch parameters that several operations share. A wrong parameter is an error in the
//! engine's code: it panics.

use crate::DevicePtr;

/// Threads of a block in kernels that need no special number.
pub(crate) const THREADS: u32 = 256;

/// Elements that a thread processes at once: eight (16 bytes of bf16) if all rows begin at
/// multiples of 16 bytes, else one.
pub(crate) fn width(cols: u32, pointers: &[DevicePtr]) -> u32 {
    if cols.is_multiple_of(8) && pointers.iter().all(|p| p.is_wide()) { 8 } else { 1 }
}

/// Converts a size to the type that kernels take.
///
/// # Panics
/// Where the size is 2³² or more.
pub fn size(size: usize) -> u32 {
    u32::try_from(size).expect("sizes of models are below 2³²")
}

/// Checks that there are rows and columns, and that no pointer is null.
pub(crate) fn shape(operation: &str, rows: u32, cols: u32, pointers: &[DevicePtr]) {
    assert!(rows > 0 && cols > 0, "{operation}: {rows} rows of {cols}");
    assert!(pointers.iter().all(|p| *p != DevicePtr::NULL), "{operation}: a pointer is null");
}
