//! Cache of compiled kernels on disk: a [`CodeCache`], which says why its code may be trusted. An
//! entry's name is the SHA-256 of text, options and architecture, and the compiler's version. The
//! driver's version isn't part of it: an entry is machine code, which every driver of that
//! generation accepts. A cache that can't be read or written costs time, nothing else.

use std::path::Path;

use cuda_kernels::{Arch, Variant};
use system::code_cache::CodeCache;

use crate::cuda::CudaVersion;

/// Largest entry, in bytes.
const ENTRY_BYTES: u64 = 256 << 20;

/// Folder of compiled kernels; without a folder each start compiles them.
#[derive(Debug, Clone, Default)]
pub struct KernelCache(Option<CodeCache>);

impl KernelCache {
    /// Opens the cache in a folder, which is created if it is missing. A folder that can't be
    /// created, or that isn't this user's alone, isn't used, with a warning.
    pub fn open(folder: &Path) -> Self {
        let opened = CodeCache::open(folder, ".cubin").inspect_err(|reason| {
            tracing::warn!("the cache of kernels {} is not used: {reason}", folder.display());
        });
        Self(opened.ok())
    }

    /// The binary that a compiler of this version made; without a compiler, the binary of any
    /// version.
    pub(super) fn load(
        &self,
        variant: &Variant,
        arch: Arch,
        version: Option<CudaVersion>,
    ) -> Option<Vec<u8>> {
        let cache = self.0.as_ref()?;
        let hash = variant.hash(arch);
        if let Some(version) = version {
            return read(cache, &name(&hash, version));
        }
        let names = cache.names().unwrap_or_default();
        names.iter().filter(|name| name.starts_with(&hash)).find_map(|name| read(cache, name))
    }

    /// Writes a binary to the cache; a failure is a warning.
    pub(super) fn store(&self, variant: &Variant, arch: Arch, version: CudaVersion, binary: &[u8]) {
        let Some(cache) = &self.0 else { return };
        let name = name(&variant.hash(arch), version);
        if let Err(error) = cache.write(&name, binary) {
            tracing::warn!("compiled kernels aren't kept: {}: {error}", cache.file(&name).display());
        }
    }
}

fn name(hash: &str, version: CudaVersion) -> String {
    format!("{hash}-{version}")
}

/// The binary of an entry, if there is one that this installation wrote.
fn read(cache: &CodeCache, name: &str) -> Option<Vec<u8>> {
    cache.read(name, ENTRY_BYTES).unwrap_or_else(|reason| {
        tracing::warn!("a cached kernel is compiled anew: {}: {reason}", cache.file(name).display());
        None
    })
}
