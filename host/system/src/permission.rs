//! What this process may do, tried or asked before it matters.

use std::io;
use std::path::Path;

use memmap2::MmapMut;
use rustix::fs::{Access, access};

/// Size of the memory that is tried, in bytes.
const TRIED: usize = 4096;

/// Makes memory executable that was written before, as the compiler of parsers does. Sandboxes of
/// services can forbid it (systemd's `MemoryDenyWriteExecute`).
///
/// # Errors
/// The system refuses.
pub fn try_executable_memory() -> io::Result<()> {
    MmapMut::map_anon(TRIED)?.make_exec().map(drop)
}

/// Whether this process may write to a file, or make files in a folder.
pub fn may_write(path: &Path) -> bool {
    access(path, Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_may_make_memory_executable_and_write_to_their_folder() {
        try_executable_memory().unwrap();
        let folder = tempfile::tempdir().unwrap();
        assert!(may_write(folder.path()));
        assert!(!may_write(&folder.path().join("missing")));
    }
}
