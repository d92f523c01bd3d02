//! Errors of launches.

use std::path::PathBuf;

/// A launch that failed, or that a device would have left undefined.
#[derive(Debug, thiserror::Error)]
pub enum ShimError {
    /// There is no C++ compiler.
    #[error("no C++ compiler: {command} could not be started ({error}); install one, or name it in CXX")]
    NoCompiler {
        /// Command that was tried.
        command: String,
        /// Why it didn't start.
        error: std::io::Error,
    },
    /// The kernel's text doesn't compile as C++ behind the shim's header.
    #[error("{program} does not compile:\n{log}")]
    Compile {
        /// File and constants.
        program: String,
        /// Output of the compiler.
        log: String,
    },
    /// A file of the cache can't be read or written.
    #[error("{path}: {error}")]
    Cache {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: String,
    },
    /// A launch that every device refuses, or whose kernel or arguments don't exist.
    #[error("{kernel}: {reason}")]
    Launch {
        /// Kernel, source and constants.
        kernel: String,
        /// Reason of the refusal.
        reason: String,
    },
    /// A thread did something that a device leaves undefined.
    #[error("{kernel}, block {block:?}, thread {thread:?}: {reason}")]
    Thread {
        /// Kernel, source and constants.
        kernel: String,
        /// The thread's block.
        block: [u32; 3],
        /// The thread in its block.
        thread: [u32; 3],
        /// What the thread did.
        reason: String,
    },
    /// An address or a range outside of every buffer, or a buffer outside of whose bounds something
    /// was written.
    #[error("memory at {address:#x}: {reason}")]
    Memory {
        /// The address.
        address: u64,
        /// What is wrong at the address.
        reason: String,
    },
}
