//! Why a model can't be loaded: one line that says which file, what is wrong in it, and what was expected.

use crate::files::FileError;

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
    /// A model that there is no code for.
    #[error("{file}: architecture {found} is not supported; supported: {supported}")]
    Architecture {
        /// The file.
        file: String,
        /// Its name in the file.
        found: String,
        /// Those supported.
        supported: String,
    },
    /// A tensor that the model needs isn't there.
    #[error("{files}: no tensor {tensor}; the configuration calls for it")]
    NoTensor {
        /// Where it was looked for.
        files: String,
        /// Its name.
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
        /// What it was for.
        what: &'static str,
        /// How much.
        bytes: u64,
    },
    /// A weight has values too large for the scales of quantised ones.
    #[error("row {row} of a weight [{rows}, {cols}] is too large to be quantised")]
    Quantize {
        /// The row.
        row: usize,
        /// Rows of the weight.
        rows: usize,
        /// Its columns.
        cols: usize,
    },
    /// The machine doesn't have the memory for the cache.
    #[error("not enough memory for a KV cache of {bytes} bytes")]
    CacheTooLarge {
        /// What was allowed.
        bytes: u64,
    },
    /// That many threads can't compute.
    #[error("{asked} threads: expected 1 to {most}, the most that start here")]
    Threads {
        /// What was asked for.
        asked: usize,
        /// What can be had.
        most: usize,
    },
    /// Sequences can't have that length.
    #[error("a context of {asked} tokens: expected 1 to {most}, the most that the model has")]
    Context {
        /// What was asked for.
        asked: usize,
        /// What the model has.
        most: usize,
    },
    /// Layers whose cache the device doesn't have.
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
    /// The GPU can't be used for it.
    #[error(transparent)]
    Cuda(#[from] crate::cuda::CudaError),
    /// The cache can't hold anything.
    #[error("a KV cache of {bytes} bytes holds no block; one block of 16 tokens takes {block} bytes")]
    CacheTooSmall {
        /// What was allowed.
        bytes: usize,
        /// What a block takes.
        block: usize,
    },
}

impl LoadError {
    pub(crate) fn invalid(file: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Invalid { file: file.into(), reason: reason.into() }
    }
}
