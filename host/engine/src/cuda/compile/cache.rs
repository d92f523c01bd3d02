//! Cache of compiled kernels on disk. A file's name is the SHA-256 of text, options and architecture, and the compiler's version.
//!
//! Invariants: an entry is written whole or not at all, so processes may start at the same time; an entry whose bytes don't match their
//! hash is ignored. A cache that can't be written to costs time, nothing else.

use std::fs::{self, DirBuilder};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use cuda_kernels::{Arch, Variant};
use sha2::{Digest, Sha256};

use crate::cuda::CudaVersion;

/// Folder of compiled kernels; without a folder each start compiles them.
#[derive(Debug, Clone, Default)]
pub struct KernelCache(Option<PathBuf>);

/// Bytes of the SHA-256 in front of an entry's binary.
const HASH: usize = 32;

impl KernelCache {
    /// Opens the cache in a folder, which is created if it is missing. A folder that can't be created, or that other users may write to,
    /// isn't used, with a warning.
    pub fn open(folder: &Path) -> Self {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        match made.and_then(|()| fs::metadata(folder)) {
            Ok(found) if found.permissions().mode() & 0o022 == 0 => Self(Some(folder.to_owned())),
            Ok(_) => Self::unused(folder, "others may write to it"),
            Err(error) => Self::unused(folder, &error.to_string()),
        }
    }

    fn unused(folder: &Path, reason: &str) -> Self {
        tracing::warn!("the cache of kernels {} is not used: {reason}", folder.display());
        Self(None)
    }

    /// The binary that a compiler of this version made; without a compiler, the binary of any version.
    pub(super) fn load(
        &self,
        variant: &Variant,
        arch: Arch,
        version: Option<CudaVersion>,
    ) -> Option<Vec<u8>> {
        let folder = self.0.as_ref()?;
        let hash = variant.hash(arch);
        match version {
            Some(version) => read(&folder.join(name(&hash, version))),
            None => entries(folder, &hash).iter().find_map(|file| read(file)),
        }
    }

    /// Writes a binary to the cache; a failure is a warning.
    pub(super) fn store(&self, variant: &Variant, arch: Arch, version: CudaVersion, binary: &[u8]) {
        let Some(folder) = &self.0 else { return };
        let file = folder.join(name(&variant.hash(arch), version));
        if let Err(error) = write(&file, binary) {
            tracing::warn!("compiled kernels aren't kept: {}: {error}", file.display());
        }
    }
}

fn name(hash: &str, version: CudaVersion) -> String {
    format!("{hash}-{version}.cubin")
}

/// Entries of a kernel from compilers of any version, in the order of their names.
fn entries(folder: &Path, hash: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = files
        .filter(|file| file.file_name().to_string_lossy().starts_with(hash))
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cubin"))
        .collect();
    found.sort();
    found
}

/// The binary of an entry, if it matches the hash in front of it.
fn read(file: &Path) -> Option<Vec<u8>> {
    let bytes = fs::read(file).ok()?;
    let (hash, binary) = bytes.split_at_checked(HASH)?;
    (*hash == *Sha256::digest(binary)).then(|| binary.to_vec())
}

/// A file extension that no other start uses.
fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    format!("{}-{nanos}-{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

fn write(file: &Path, binary: &[u8]) -> std::io::Result<()> {
    let temporary = file.with_extension(unique());
    let written = fs::File::create_new(&temporary).and_then(|mut out| {
        out.write_all(&Sha256::digest(binary))?;
        out.write_all(binary)?;
        out.sync_data()
    });
    let renamed = written.and_then(|()| fs::rename(&temporary, file));
    if renamed.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    renamed
}
