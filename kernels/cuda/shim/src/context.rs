//! A thread's view of its block, as kernels have it.

use std::ffi::c_void;

/// A block as kernels see it, with the thread that runs now; `hooks` and `runtime` are a `Hooks`
/// and a `Block`. `Context` in runtime.hpp has the same fields.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context {
    pub(crate) thread: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) block_dim: [u32; 3],
    pub(crate) grid_dim: [u32; 3],
    pub(crate) shared: *mut u8,
    pub(crate) hooks: *const c_void,
    pub(crate) runtime: *const c_void,
}
