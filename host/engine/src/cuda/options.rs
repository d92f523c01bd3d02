//! What a model on a GPU may use.

use super::KernelCache;

/// Bounds of a model on a GPU.
#[derive(Debug, Clone)]
pub struct CudaOptions {
    /// Memory for keys and values; none: what the GPU has left.
    pub kv_cache_bytes: Option<u64>,
    /// A bound on a sequence's length; at least one, at most the model's own.
    pub context: Option<usize>,
    /// Tokens of a step, at least one: what the activations are sized for.
    pub batch_tokens: usize,
    /// Sequences that may hold blocks at a time.
    pub lanes: usize,
    /// Of kernels that add in other orders for more rows, or for rows that decode, only those are used that don't: then a sequence's tokens don't
    /// depend on what else is in its steps. The others are faster.
    pub deterministic: bool,
    /// Where compiled kernels are kept.
    pub kernels: KernelCache,
}

impl Default for CudaOptions {
    fn default() -> Self {
        let kernels = KernelCache::default();
        Self {
            kv_cache_bytes: None,
            context: None,
            batch_tokens: 2048,
            lanes: 256,
            deterministic: false,
            kernels,
        }
    }
}
