//! Bytes of a model's file, wherever they lie, and the error of one that couldn't be read.

use std::fs::File;
use std::sync::Arc;

use crate::models::RandomBytes;

/// A file that couldn't be read.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {reason}")]
pub struct FileError {
    /// The file, with its directory where it has one.
    pub file: String,
    /// What went wrong.
    pub reason: String,
}

/// Bytes of a model file: mapped from disk, part of the binary, computed from others, or random
/// without a file. Cheap to clone.
#[derive(Debug, Clone)]
pub enum FileBytes {
    /// Mapped read-only.
    Mapped(Arc<memmap2::Mmap>),
    /// In the binary.
    Embedded(&'static [u8]),
    /// In memory.
    Computed(Arc<[u8]>),
    /// Random bytes without a file, generated when they are first read.
    Random(Arc<RandomBytes>),
}

impl FileBytes {
    /// Releases the file's pages from this process's memory. Pages that are used again are read
    /// from the file.
    #[expect(unsafe_code, reason = "the call is unsafe for mappings that are written to")]
    pub(crate) fn release_pages(&self) {
        if let Self::Mapped(map) = self {
            // SAFETY: the mapping is only read, so its pages are the file's. An error is ignored:
            // the pages then stay in memory.
            let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }
}

impl std::ops::Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Embedded(bytes) => bytes,
            Self::Computed(bytes) => bytes,
            Self::Random(bytes) => bytes,
        }
    }
}

/// Maps a file of weights.
#[expect(unsafe_code, reason = "a memory map can be had no other way")]
pub(crate) fn map_file(file: &File) -> std::io::Result<FileBytes> {
    // SAFETY: the file is only read. An operator who truncates a model file under a running server
    // gets SIGBUS, as with every mapped model; contents are validated before use and never trusted
    // to stay valid UTF-8 or in range.
    let map = unsafe { memmap2::Mmap::map(file) }?;
    Ok(FileBytes::Mapped(Arc::new(map)))
}
