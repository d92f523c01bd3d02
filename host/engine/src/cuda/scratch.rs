//! Buffers of activations that layers of one kind share. They are allocated when the first such
//! layer is loaded.

use cuda_kernels::DevicePtr;

/// Buffers of the experts' activations, shared by layers of the same sizes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpertScratch {
    /// `[routes, 2 * intermediate]` bf16.
    pub(super) gate_up: DevicePtr,
    /// `[routes, intermediate]` bf16.
    pub(super) activated: DevicePtr,
    /// `[routes, hidden]` f32.
    pub(super) results: DevicePtr,
    /// Numbers of routes, intermediate columns and hidden columns that the buffers were allocated
    /// for.
    pub(super) sizes: (usize, usize, usize),
}

/// Buffers of activations in the latent space.
#[derive(Debug, Clone, Copy)]
pub(super) struct LatentScratch {
    /// `[rows, heads, rank + rope]` bf16.
    pub(super) queries: DevicePtr,
    /// `[rows, heads, rank]` bf16.
    pub(super) results: DevicePtr,
}
