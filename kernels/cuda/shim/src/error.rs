//! What can be wrong with a launch.

use std::path::PathBuf;

/// A launch that failed, or that a device would have left undefined.
#[derive(Debug, thiserror::Error)]
pub enum ShimError {
    /// No C++ compiler.
    #[error("no C++ compiler: {command} could not be started ({error}); install one, or name it in CXX")]
    NoCompiler {
        /// What was tried.
        command: String,
        /// Why it didn't start.
        error: std::io::Error,
    },
    /// The text isn't C++ beside the shim's header.
    #[error("{variant} does not compile:\n{log}")]
    Compile {
        /// Source and constants.
        variant: String,
        /// What the compiler said.
        log: String,
    },
    /// A file of the cache.
    #[error("{path}: {error}")]
    Cache {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        error: String,
    },
    /// A launch that no device takes.
    #[error("{kernel}: {reason}")]
    Launch {
        /// Kernel, source and constants.
        kernel: String,
        /// Why not.
        reason: String,
    },
    /// A thread did what it must not.
    #[error("{kernel}, block {block:?}, thread {thread:?}: {reason}")]
    Thread {
        /// Kernel, source and constants.
        kernel: String,
        /// The thread's block.
        block: [u32; 3],
        /// The thread in its block.
        thread: [u32; 3],
        /// What it did.
        reason: String,
    },
    /// An address or a range outside of every buffer, or one that was written to outside of its bounds.
    #[error("memory at {address:#x}: {reason}")]
    Memory {
        /// Where.
        address: u64,
        /// What is wrong there.
        reason: String,
    },
}
