//! The database's file as it was opened. SQLite doesn't notice that its file was deleted, replaced
//! or cut: it would commit what nobody finds again.
//!
//! Transactions look before they begin. What was overwritten in place they can't see; SQLite finds
//! that when it reads the page.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::{Result, StoreError};

/// Bytes of the smallest database.
const SMALLEST: u64 = 512;

/// The file that all connections of a store have open.
pub(crate) struct OpenFile {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
    /// Its size after the last commit.
    size: AtomicU64,
    /// Whether it was found cut. Connections may have cached pages without content since, so it
    /// stays so.
    is_cut: AtomicBool,
}

impl OpenFile {
    /// The file at `path`, which is open.
    pub(crate) fn new(path: PathBuf) -> std::io::Result<Self> {
        let found = fs::metadata(&path)?;
        Ok(Self {
            path,
            identity: identity(&found),
            size: found.len().into(),
            is_cut: AtomicBool::new(false),
        })
    }

    /// Checks that it is still there, with all its pages; `pages` says how many bytes these have,
    /// if that can be read.
    pub(crate) fn check(&self, pages: impl FnOnce() -> Option<u64>) -> Result<()> {
        // The size comes first, and the file is looked at again behind its pages: the writer may
        // commit meanwhile, and a file that grows isn't cut.
        let size = self.size.load(Ordering::Acquire);
        let found = self.look()?;
        if self.is_cut.load(Ordering::Relaxed) || (found < size && self.is_short(pages())?) {
            self.is_cut.store(true, Ordering::Relaxed);
            return Err(self.lost("it was cut"));
        }
        Ok(())
    }

    /// Whether the file lacks some of these bytes. Pages that are only in the write-ahead log
    /// aren't in the file yet, and vacuuming makes it smaller. Without its first page it counts
    /// none, or can't count.
    fn is_short(&self, pages: Option<u64>) -> Result<bool> {
        let found = self.look()?;
        Ok(pages.is_none_or(|bytes| found < bytes.max(SMALLEST)))
    }

    /// The size of the file, which is the one that was opened.
    fn look(&self) -> Result<u64> {
        let found = fs::metadata(&self.path).map_err(|e| self.lost(&e.to_string()))?;
        if identity(&found) != self.identity {
            return Err(self.lost("it was replaced by another file"));
        }
        Ok(found.len())
    }

    /// Notes its size after a commit.
    pub(crate) fn committed(&self) {
        if let Ok(found) = fs::metadata(&self.path)
            && identity(&found) == self.identity
        {
            self.size.store(found.len(), Ordering::Release);
        }
    }

    fn lost(&self, why: &str) -> StoreError {
        let file = self.path.display();
        StoreError::Unavailable(format!(
            "{file}, while it was open: {why}; stop the server, put the file back, start it"
        ))
    }
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_growing_while_pages_are_counted_is_not_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.db");
        let resize = |bytes| fs::File::options().write(true).open(&path).unwrap().set_len(bytes).unwrap();
        fs::write(&path, [0; 8192]).unwrap();
        let open = OpenFile::new(path.clone()).unwrap();
        resize(4096); // vacuumed
        let grown = || {
            resize(16384);
            open.committed();
            Some(16384)
        };
        open.check(grown).unwrap();
        open.check(|| unreachable!("it has all its bytes")).unwrap();
        resize(4096);
        assert!(open.check(|| Some(16384)).unwrap_err().to_string().contains("it was cut"));
        resize(16384);
        open.check(|| Some(16384)).unwrap_err();
    }
}
