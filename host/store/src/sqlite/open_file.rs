//! The database's file as it was opened. SQLite doesn't notice that its file was deleted, replaced or cut: it would commit what nobody finds again.
//!
//! Transactions look before they begin. What was overwritten in place they can't see; SQLite finds that when it reads the page.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::{Error, Result};

/// Bytes of the smallest database.
const SMALLEST: u64 = 512;

/// The file that all connections of a store have open.
pub(crate) struct OpenFile {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
    /// Its size after the last commit.
    size: AtomicU64,
    /// Whether it was found cut. Connections may have cached pages without content since, so it stays so.
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

    /// Checks that it is still there, with all its pages; `pages` says how many bytes these have, if that can be read.
    pub(crate) fn check(&self, pages: impl FnOnce() -> Option<u64>) -> Result<()> {
        let found = fs::metadata(&self.path).map_err(|e| self.lost(&e.to_string()))?;
        if identity(&found) != self.identity {
            return Err(self.lost("it was replaced by another file"));
        }
        // Pages that are only in the write-ahead log aren't in the file yet, and vacuuming makes it smaller. Without its first page it counts none, or
        // can't count.
        let is_short = || pages().is_none_or(|bytes| found.len() < bytes.max(SMALLEST));
        if self.is_cut.load(Ordering::Relaxed)
            || (found.len() < self.size.load(Ordering::Relaxed) && is_short())
        {
            self.is_cut.store(true, Ordering::Relaxed);
            return Err(self.lost("it was cut"));
        }
        Ok(())
    }

    /// Notes its size after a commit.
    pub(crate) fn committed(&self) {
        if let Ok(found) = fs::metadata(&self.path)
            && identity(&found) == self.identity
        {
            self.size.store(found.len(), Ordering::Relaxed);
        }
    }

    fn lost(&self, why: &str) -> Error {
        let file = self.path.display();
        Error::Unavailable(format!(
            "{file}, while it was open: {why}; stop the server, put the file back, start it"
        ))
    }
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}
