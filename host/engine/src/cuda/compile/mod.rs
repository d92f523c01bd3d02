//! From the text of kernels to binaries for a device: out of the cache, or compiled and put there.
//!
//! Invariant: a binary is what its compiler made of that very text; anything else in the cache counts as not there.

mod cache;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use cuda_kernels::{Arch, Variant};

pub use cache::KernelCache;

use super::{CudaError, CudaVersion};

/// What makes binaries of texts.
pub(super) trait Compiler: Sync {
    /// Which it is; an error where it is missing.
    fn version(&self) -> Result<CudaVersion, CudaError>;
    /// A binary for that architecture.
    fn compile(&self, variant: &Variant, arch: Arch) -> Result<Vec<u8>, CudaError>;
}

/// The most threads that compile: each takes some hundred megabytes.
const THREADS: usize = 8;

/// The binaries of these variants in their order; `progress` hears of each how many are there.
pub(super) fn binaries(
    compiler: &dyn Compiler,
    cache: &KernelCache,
    variants: &[Variant],
    arch: Arch,
    progress: &mut dyn FnMut(usize),
) -> Result<Vec<Vec<u8>>, CudaError> {
    let version = compiler.version();
    let found = |variant| cache.load(variant, arch, version.as_ref().ok().copied());
    let mut all: Vec<Option<Vec<u8>>> = variants.iter().map(found).collect();
    let missing: Vec<usize> = (0..all.len()).filter(|i| all[*i].is_none()).collect();
    let mut done = all.len() - missing.len();
    progress(done);
    if !missing.is_empty() {
        let version = version?;
        compile_all(compiler, variants, &missing, arch, &mut |i, binary| {
            cache.store(&variants[i], arch, version, &binary);
            all[i] = Some(binary);
            done += 1;
            progress(done);
        })?;
    }
    Ok(all.into_iter().flatten().collect())
}

/// Compiles those of these places, several at a time.
fn compile_all(
    compiler: &dyn Compiler,
    variants: &[Variant],
    places: &[usize],
    arch: Arch,
    take: &mut dyn FnMut(usize, Vec<u8>),
) -> Result<(), CudaError> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(THREADS);
    let (next, (sender, receiver)) = (AtomicUsize::new(0), sync_channel(threads));
    std::thread::scope(|scope| {
        for _ in 0..threads.min(places.len()) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(place) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // Nobody receives any more behind an error.
                    if sender.send((*place, compiler.compile(&variants[*place], arch))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        receiver.into_iter().try_for_each(|(place, binary)| {
            take(place, binary?);
            Ok(())
        })
    })
}
