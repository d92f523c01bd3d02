//! Why a model can't be loaded: one line that says which file, what is wrong in it, and what was
//! expected.

use crate::file_bytes::FileError;

/// A model that can't be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file that a model must have isn't there.
    #[error("{file}: no such file; a model needs it")]
    Missing {
        /// The file.
        file: String,
    },
    /// A file couldn't be read.
    #[error(transparent)]
    Unreadable(#[from] FileError),
    /// What a file says is wrong or unsupported.
    #[error("{file}: {reason}")]
    Invalid {
        /// The file.
        file: String,
        /// What is wrong, and what was expected.
        reason: String,
    },
    /// The model's architecture isn't supported.
    #[error("{file}: architecture {found} is not supported; supported: {supported}")]
    Architecture {
        /// The file.
        file: String,
        /// Name of the architecture in the file.
        found: String,
        /// Names of the supported architectures.
        supported: String,
    },
    /// A tensor that the model needs isn't there.
    #[error("{files}: no tensor {tensor}; the configuration calls for it")]
    NoTensor {
        /// File, or index of files, that was searched.
        files: String,
        /// Name of the tensor.
        tensor: String,
    },
    /// A tensor doesn't fit the configuration.
    #[error("{file}: tensor {tensor}: expected shape {expected:?}, found {found:?}")]
    Shape {
        /// The file.
        file: String,
        /// The tensor's name.
        tensor: String,
        /// What the configuration calls for.
        expected: Vec<usize>,
        /// What the file has.
        found: Vec<usize>,
    },
    /// The machine doesn't have the memory.
    #[error("not enough memory for {what} ({bytes} bytes)")]
    Memory {
        /// Purpose of the memory.
        what: &'static str,
        /// Size of the memory in bytes.
        bytes: u64,
    },
    /// A weight has values that are too large for the scales of quantised weights.
    #[error("row {row} of a weight [{rows}, {cols}] is too large for scales of 16 bits")]
    Quantize {
        /// The row.
        row: usize,
        /// Rows of the weight.
        rows: usize,
        /// Columns of the weight.
        cols: usize,
    },
    /// The machine doesn't have the memory for the cache.
    #[error("not enough memory for a KV cache of {bytes} bytes")]
    CacheTooLarge {
        /// Configured size of the KV cache.
        bytes: u64,
    },
    /// The number of threads is out of range.
    #[error("{asked} threads: expected 1 to {most}, the most that start here")]
    Threads {
        /// Number of threads asked for.
        asked: usize,
        /// Maximum number of threads.
        most: usize,
    },
    /// The context length is out of range.
    #[error("a context of {asked} tokens: expected 1 to {most}, the most that the model has")]
    Context {
        /// Context length asked for, in tokens.
        asked: usize,
        /// Context length of the model, in tokens.
        most: usize,
    },
    /// The model's layers need caches that the device doesn't support.
    #[error(
        "the model's layers need caches that this device doesn't have: it keeps keys and values of one shape for all layers"
    )]
    Layers,
    /// The device lacks an operation, or a form of it.
    #[error("{device} can't run {what} yet; --device cpu can")]
    Unsupported {
        /// The device.
        device: &'static str,
        /// What the model asks for.
        what: String,
    },
    /// The GPU can't be used for the model.
    #[error(transparent)]
    Cuda(#[from] crate::cuda::CudaError),
    /// The KV cache is too small for the states that the model's layers keep.
    #[error(
        "a KV cache of {bytes} bytes is too small: half of it must hold two states of {state} bytes, for a sequence and for a snapshot"
    )]
    StatesTooLarge {
        /// Configured size of the KV cache.
        bytes: usize,
        /// Size of a state in bytes.
        state: usize,
    },
    /// The KV cache is too small for one block.
    #[error("a KV cache of {bytes} bytes holds no block; one block of 16 tokens takes {block} bytes")]
    CacheTooSmall {
        /// Configured size of the KV cache.
        bytes: usize,
        /// Size of a KV block in bytes.
        block: usize,
    },
}

impl LoadError {
    pub(crate) fn invalid(file: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Invalid { file: file.into(), reason: reason.into() }
    }
}
