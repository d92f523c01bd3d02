//! Cache of compiled parsers on disk, so that the second start takes milliseconds. `load` reads and fills it.
//!
//! A compiled component is machine code: loading one that somebody else made is running their program. So only code that this
//! installation wrote is ever loaded:
//! - the folder is mode 0700 and owned by this user, or it isn't used at all ([`CompileCache::open`] returns the reason);
//! - each file must be a plain file of this user's, mode 0600, checked on the open file;
//! - each carries an HMAC-SHA-256 under a random key that lies in the folder, over its own name and its bytes: a file that
//!   was copied from another installation, renamed, cut or damaged doesn't verify;
//! - the name is a digest of the component's content, wasmtime's version and settings, and this program's version.
//!
//! If one of these doesn't hold, the component is compiled anew: the cache never makes a load fail. It doesn't protect against
//! this user or root, who could replace the program just as well.

use std::fs::{self, File};
use std::hash::{Hash as _, Hasher};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use wasmtime::component::Component;
use wasmtime::{Engine, Module};

use super::digest::{digest, hex};
use system::private::{self, PrivateError, open_private, prepare_folder, write_private};

/// Maximum size of all entries together, in bytes; those unused for longest are removed first.
const CACHE_BYTES: u64 = 512 << 20;
/// Maximum size of one entry, in bytes: compiled, the largest component takes about ten times its size.
const ENTRY_BYTES: u64 = 384 << 20;
/// Age in seconds from which on an unfinished file was left by a process that died.
const STALE_SECONDS: u64 = 3600;

const KEY_FILE: &str = "key";
const KEY_BYTES: usize = 32;
const TAG_BYTES: usize = 32;
const SUFFIX: &str = ".compiled";

/// Folder of compiled parsers that this installation may use.
#[derive(Debug, Clone)]
pub struct CompileCache {
    folder: PathBuf,
    key: [u8; KEY_BYTES],
}

/// Machine code that the cache can hold.
pub trait MachineCode: Sized {
    /// Compiles Wasm.
    ///
    /// # Errors
    /// wasmtime can't compile it.
    fn compile(engine: &Engine, wasm: &[u8]) -> wasmtime::Result<Self>;
    /// Returns the code as wasmtime writes it.
    ///
    /// # Errors
    /// wasmtime can't write it.
    fn serialize(&self) -> wasmtime::Result<Vec<u8>>;
    /// Takes code that wasmtime wrote.
    ///
    /// # Errors
    /// It is of another version or engine.
    ///
    /// # Safety
    /// `code` is unaltered output of [`Self::serialize`].
    #[allow(unsafe_code, reason = "wasmtime trusts the code")]
    unsafe fn deserialize(engine: &Engine, code: &[u8]) -> wasmtime::Result<Self>;
}

/// Reason why a folder isn't used.
#[derive(Debug, thiserror::Error)]
#[error("parser cache {folder} is not used: {reason}")]
pub struct CacheError {
    folder: String,
    reason: PrivateError,
}

impl CompileCache {
    /// Opens the folder; creates it and its key if they don't exist.
    ///
    /// # Errors
    /// The folder can't be created, or others could have written to it. The caller then serves without a cache.
    pub fn open(folder: &Path) -> Result<Self, CacheError> {
        let refused = |reason| CacheError { folder: folder.display().to_string(), reason };
        prepare_folder(folder).map_err(refused)?;
        let key = own_key(folder).map_err(|error| refused(PrivateError::Io(error)))?;
        Ok(Self { folder: folder.to_owned(), key })
    }

    /// Returns machine code of `wasm`: from the cache if there is one, else from the compiler, and then writes it to the cache.
    ///
    /// # Errors
    /// wasmtime can't compile it.
    pub fn code<C: MachineCode>(cache: Option<&Self>, engine: &Engine, wasm: &[u8]) -> wasmtime::Result<C> {
        let digest = digest(wasm);
        if let Some(code) = cache.and_then(|cache| cache.get(engine, &digest)) {
            return Ok(code);
        }
        let code = C::compile(engine, wasm)?;
        if let Some(cache) = cache {
            cache.put(engine, &digest, &code);
        }
        Ok(code)
    }

    /// Returns the code that was compiled for this engine from content of this digest, if this installation cached it.
    pub(super) fn get<C: MachineCode>(&self, engine: &Engine, content: &str) -> Option<C> {
        let name = entry_name(engine, content);
        match self.read(engine, &name) {
            Ok(found) => found,
            Err(reason) => {
                tracing::warn!(file = %self.folder.join(&name).display(), %reason, "a cached parser is compiled anew");
                None
            }
        }
    }

    /// Writes code for the next start. Errors are logged; the next start then compiles.
    pub(super) fn put<C: MachineCode>(&self, engine: &Engine, content: &str, code: &C) {
        let name = entry_name(engine, content);
        let written = code.serialize().map_err(io::Error::other).and_then(|code| {
            let tag = self.tag(&name, &code).finalize().into_bytes();
            write_private(&self.folder, &name, &[&tag, &code])
        });
        if let Err(error) = written {
            tracing::warn!(folder = %self.folder.display(), %error, "a compiled parser can't be cached");
        }
        if let Err(error) = self.prune(CACHE_BYTES) {
            tracing::warn!(folder = %self.folder.display(), %error, "the parser cache can't be tidied");
        }
    }

    fn read<C: MachineCode>(&self, engine: &Engine, name: &str) -> Result<Option<C>, PrivateError> {
        let Some(file) = open_private(&self.folder.join(name))? else { return Ok(None) };
        let entry = read_whole(&file, ENTRY_BYTES)?;
        let (tag, code) = entry.split_at_checked(TAG_BYTES).ok_or(PrivateError::Foreign)?;
        self.tag(name, code).verify_slice(tag).map_err(|_| PrivateError::Foreign)?;
        // Marks the entry as used. If that fails, it is only removed sooner.
        let _ = file.set_modified(SystemTime::now());
        deserialize(engine, code).map(Some)
    }

    fn tag(&self, name: &str, code: &[u8]) -> Hmac<Sha256> {
        let mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes keys of any length");
        mac.chain_update(name).chain_update(code)
    }

    /// Removes the entries unused for longest until the rest has at most `limit` bytes, and files that dead processes left unfinished.
    fn prune(&self, limit: u64) -> io::Result<()> {
        let mut entries = Vec::new();
        for entry in self.folder.read_dir()? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(metadata) = entry.metadata() else { continue };
            let modified = metadata.modified()?;
            if name.ends_with(SUFFIX) {
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

/// Takes machine code that this installation wrote.
fn deserialize<C: MachineCode>(engine: &Engine, code: &[u8]) -> Result<C, PrivateError> {
    // SAFETY: `code` must come from wasmtime's own serialisation, unaltered. Its HMAC under this installation's key has just been
    // verified over these very bytes in memory, and only `put` makes such tags, over what `MachineCode::serialize` returned. The
    // entry's name differs for engines of another version or with other settings, which wasmtime checks as well, and for other content.
    #[allow(unsafe_code, reason = "the one place where compiled code is loaded")]
    let code = unsafe { C::deserialize(engine, code) };
    code.map_err(|error| PrivateError::Io(io::Error::other(error.to_string())))
}

impl MachineCode for Component {
    fn compile(engine: &Engine, wasm: &[u8]) -> wasmtime::Result<Self> {
        Self::new(engine, wasm)
    }

    fn serialize(&self) -> wasmtime::Result<Vec<u8>> {
        self.serialize()
    }

    #[allow(unsafe_code, reason = "as the trait's")]
    unsafe fn deserialize(engine: &Engine, code: &[u8]) -> wasmtime::Result<Self> {
        // SAFETY: the caller's promise.
        unsafe { Self::deserialize(engine, code) }
    }
}

impl MachineCode for Module {
    fn compile(engine: &Engine, wasm: &[u8]) -> wasmtime::Result<Self> {
        Self::new(engine, wasm)
    }

    fn serialize(&self) -> wasmtime::Result<Vec<u8>> {
        self.serialize()
    }

    #[allow(unsafe_code, reason = "as the trait's")]
    unsafe fn deserialize(engine: &Engine, code: &[u8]) -> wasmtime::Result<Self> {
        // SAFETY: the caller's promise.
        unsafe { Self::deserialize(engine, code) }
    }
}

/// Returns the folder's key. A key that others could know, or that is damaged, is replaced; entries under it are then compiled anew.
fn own_key(folder: &Path) -> io::Result<[u8; KEY_BYTES]> {
    if let Some(key) = read_key(folder) {
        return Ok(key);
    }
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    write_private(folder, KEY_FILE, &[&key])?;
    // Read back, since another process that starts at the same time may have replaced it.
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

/// Returns the file name of an entry: a digest of everything that the compiled bytes depend on.
fn entry_name(engine: &Engine, content: &str) -> String {
    let mut hasher = Sha256Hasher(Sha256::new());
    (env!("CARGO_PKG_VERSION"), content).hash(&mut hasher);
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hex(&hasher.0.finalize()) + SUFFIX
}

/// Hasher whose result is a cryptographic digest, so that nobody can construct two contents of one name.
struct Sha256Hasher(Sha256);

impl Hasher for Sha256Hasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Not called: `entry_name` takes the whole digest.
    fn finish(&self) -> u64 {
        let digest = self.0.clone().finalize();
        digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

#[cfg(test)]
mod tests;
