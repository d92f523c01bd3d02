//! Cache of machine code on disk: compiled parsers, compiled kernels.
//!
//! Loading machine code that somebody else made is running their program. So only code that this
//! installation wrote is ever read:
//! - the folder is mode 0700 and owned by this user, or it isn't used at all ([`CodeCache::open`]
//!   returns the reason);
//! - each file must be a plain file of this user's, mode 0600, checked on the open file;
//! - each carries an HMAC-SHA-256 under a random key that lies in the folder, over its own name and
//!   its bytes: a file that was copied from another installation, renamed, cut or damaged doesn't
//!   verify.
//!
//! An entry's name is a digest of all that its code depends on: that is the caller's part. A folder
//! that is copied whole, with its key, stays valid for the user who owns the copy. The cache
//! doesn't protect against this user or root, who could replace the program just as well.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::private::{self, PrivateError, create_private, open_private, prepare_folder, write_private};

/// Age in seconds from which on an unfinished file was left by a process that died.
const STALE_SECONDS: u64 = 3600;

const KEY_FILE: &str = "key";
const KEY_BYTES: usize = 32;
const TAG_BYTES: usize = 32;

/// Folder of machine code that this installation may use.
#[derive(Debug, Clone)]
pub struct CodeCache {
    folder: PathBuf,
    /// Ending of its entries' files; files with other endings aren't the cache's.
    ending: &'static str,
    key: [u8; KEY_BYTES],
}

impl CodeCache {
    /// Opens the folder; creates it and its key if they don't exist.
    ///
    /// # Errors
    /// The folder can't be created, or others could have written to it. The caller then does
    /// without a cache.
    pub fn open(folder: &Path, ending: &'static str) -> Result<Self, PrivateError> {
        prepare_folder(folder)?;
        Ok(Self { folder: folder.to_owned(), ending, key: own_key(folder)? })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// File of an entry.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(self.file_name(name))
    }

    fn file_name(&self, name: &str) -> String {
        [name, self.ending].concat()
    }

    /// Code of an entry of at most `limit` bytes, if there is one; it counts as used now.
    ///
    /// # Errors
    /// The entry isn't one that this installation wrote; its code must be made anew.
    pub fn read(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>, PrivateError> {
        let Some(file) = open_private(&self.file(name))? else { return Ok(None) };
        let mut entry = read_whole(&file, limit)?;
        let (tag, code) = entry.split_at_checked(TAG_BYTES).ok_or(PrivateError::Foreign)?;
        self.tag(name, code).verify_slice(tag).map_err(|_| PrivateError::Foreign)?;
        // If that fails, it is only removed sooner.
        let _ = file.set_modified(SystemTime::now());
        entry.drain(..TAG_BYTES);
        Ok(Some(entry))
    }

    /// Writes an entry, whole or not at all.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&self, name: &str, code: &[u8]) -> io::Result<()> {
        let tag = self.tag(name, code).finalize().into_bytes();
        write_private(&self.folder, &self.file_name(name), &[&tag, code])
    }

    fn tag(&self, name: &str, code: &[u8]) -> Hmac<Sha256> {
        let mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes keys of any length");
        mac.chain_update(self.file_name(name)).chain_update(code)
    }

    /// Names of the entries, in order.
    ///
    /// # Errors
    /// The system's.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in self.folder.read_dir()? {
            let file = entry?.file_name().to_string_lossy().into_owned();
            names.extend(file.strip_suffix(self.ending).map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    /// Removes the entries unused for longest until the rest has at most `limit` bytes, and files
    /// that dead processes left unfinished.
    ///
    /// # Errors
    /// The system's.
    pub fn prune(&self, limit: u64) -> io::Result<()> {
        let mut entries = Vec::new();
        for entry in self.folder.read_dir()? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(metadata) = entry.metadata() else { continue };
            let modified = metadata.modified()?;
            if name.ends_with(self.ending) {
                entries.push((modified, metadata.len(), entry.path()));
            } else if name.ends_with(private::UNFINISHED)
                && modified.elapsed().is_ok_and(|age| age.as_secs() > STALE_SECONDS)
            {
                fs::remove_file(entry.path())?;
            }
        }
        entries.sort();
        let mut total: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in entries {
            if total <= limit {
                break;
            }
            fs::remove_file(path)?;
            total -= bytes;
        }
        Ok(())
    }
}

/// Returns the folder's key. A key that others could know, or that is damaged, is replaced; entries
/// under it are then compiled anew.
fn own_key(folder: &Path) -> io::Result<[u8; KEY_BYTES]> {
    if let Some(key) = read_key(folder) {
        return Ok(key);
    }
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    match fs::symlink_metadata(folder.join(KEY_FILE)) {
        Ok(_) => write_private(folder, KEY_FILE, &[&key])?,
        Err(_) => create_private(&folder.join(KEY_FILE), &[&key])?,
    }
    // Read back, since another process that starts at the same time may have written it.
    read_key(folder).ok_or_else(|| io::Error::other("its key can't be read back"))
}

fn read_key(folder: &Path) -> Option<[u8; KEY_BYTES]> {
    let file = open_private(&folder.join(KEY_FILE)).ok()??;
    read_whole(&file, KEY_BYTES as u64).ok()?.try_into().ok()
}

/// Reads a whole file of at most `limit` bytes.
fn read_whole(file: &File, limit: u64) -> Result<Vec<u8>, PrivateError> {
    let size = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(limit)).unwrap_or(0));
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(PrivateError::Foreign) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests;
