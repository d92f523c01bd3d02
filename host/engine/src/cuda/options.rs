//! Limits and choices of a model on a GPU, given at its start.

use super::KernelCache;

/// Limits of a model on a GPU.
#[derive(Debug, Clone)]
pub struct CudaOptions {
    /// Bytes for keys and values; `None`: the memory that the GPU has left.
    pub kv_cache_bytes: Option<u64>,
    /// Greatest length of a sequence in tokens, from 1 to the model's own limit; `None`: the
    /// model's own limit.
    pub context: Option<usize>,
    /// Greatest number of tokens in a step, at least one. Activations are allocated for this size.
    pub batch_tokens: usize,
    /// Lanes: the number of sequences that may hold KV blocks at a time.
    pub lanes: usize,
    /// Whether only kernels are used that add in the same order whatever else is in the step, for
    /// any number of rows. Then a sequence's tokens don't depend on the rest of its steps. The
    /// other kernels, for few rows and for rows that decode, are faster.
    pub deterministic: bool,
    /// Cache of compiled kernels.
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
