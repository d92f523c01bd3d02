//! Cache of compiled parsers on disk, so that the second start takes milliseconds: a [`CodeCache`],
//! which says why its code may be trusted. `load` reads and fills it.
//!
//! An entry's name is a digest of the component's content, wasmtime's version and settings, and
//! this program's version. If one can't be used, the component is compiled anew: the cache never
//! makes a load fail.

use std::hash::{Hash as _, Hasher};
use std::io;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use system::code_cache::CodeCache;
use system::private::PrivateError;
use wasmtime::component::Component;
use wasmtime::{Engine, Module};

use super::digest::{digest, hex};

/// Maximum size of all entries together, in bytes; those unused for longest are removed first.
const CACHE_BYTES: u64 = 512 << 20;
/// Maximum size of one entry, in bytes: compiled, the largest component takes about ten times its
/// size.
const ENTRY_BYTES: u64 = 384 << 20;
/// Folder of compiled parsers that this installation may use.
#[derive(Debug, Clone)]
pub struct CompileCache(CodeCache);

/// Machine code that the cache can hold. Hidden, as it names wasmtime's types: for the trial of grammars alone.
#[doc(hidden)]
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
    /// The folder can't be created, or others could have written to it. The caller then serves
    /// without a cache.
    pub fn open(folder: &Path) -> Result<Self, CacheError> {
        CodeCache::open(folder, ".compiled")
            .map(Self)
            .map_err(|reason| CacheError { folder: folder.display().to_string(), reason })
    }

    /// Returns machine code of `wasm`: from the cache if there is one, else from the compiler, and
    /// then writes it to the cache.
    ///
    /// # Errors
    /// wasmtime can't compile it.
    #[doc(hidden)]
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

    /// Returns the code that was compiled for this engine from content of this digest, if this
    /// installation cached it.
    pub(super) fn get<C: MachineCode>(&self, engine: &Engine, content: &str) -> Option<C> {
        let name = entry_name(engine, content);
        match self.read(engine, &name) {
            Ok(found) => found,
            Err(reason) => {
                tracing::warn!(file = %self.0.file(&name).display(), %reason, "a cached parser is compiled anew");
                None
            }
        }
    }

    fn read<C: MachineCode>(&self, engine: &Engine, name: &str) -> Result<Option<C>, PrivateError> {
        self.0.read(name, ENTRY_BYTES)?.map(|code| deserialize(engine, &code)).transpose()
    }

    /// Writes code for the next start. Errors are logged; the next start then compiles.
    pub(super) fn put<C: MachineCode>(&self, engine: &Engine, content: &str, code: &C) {
        let name = entry_name(engine, content);
        let written = code.serialize().map_err(io::Error::other).and_then(|code| self.0.write(&name, &code));
        if let Err(error) = written {
            tracing::warn!(folder = %self.0.folder().display(), %error, "a compiled parser can't be cached");
        }
        if let Err(error) = self.0.prune(CACHE_BYTES) {
            tracing::warn!(folder = %self.0.folder().display(), %error, "the parser cache can't be tidied");
        }
    }
}

/// Takes machine code that this installation wrote.
fn deserialize<C: MachineCode>(engine: &Engine, code: &[u8]) -> Result<C, PrivateError> {
    // SAFETY: `code` must come from wasmtime's own serialisation, unaltered. Its HMAC under this
    // installation's key has just been verified over these very bytes in memory, and only `put`
    // makes such tags, over what `MachineCode::serialize` returned. The entry's name differs for
    // engines of another version or with other settings, which wasmtime checks as well, and for
    // other content.
    #[allow(unsafe_code, reason = "the one place where compiled code is loaded")]
    let code = unsafe { C::deserialize(engine, code) };
    code.map_err(|error| PrivateError::Io(io::Error::other(error.to_string())))
}

macro_rules! machine_code {
    ($($code:ty),+) => {$(
        impl MachineCode for $code {
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
    )+};
}

machine_code!(Component, Module);

/// Returns the name of an entry: a digest of everything that the compiled bytes depend on.
fn entry_name(engine: &Engine, content: &str) -> String {
    let mut hasher = Sha256Hasher(Sha256::new());
    (env!("CARGO_PKG_VERSION"), content).hash(&mut hasher);
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hex(&hasher.0.finalize())
}

/// Hasher whose result is a cryptographic digest, so that nobody can construct two contents of one
/// name.
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
