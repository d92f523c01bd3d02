//! Binaries of kernels for a device: read from the cache, or compiled from text and written to the
//! cache.
//!
//! Invariant: a binary is what a compiler made of exactly this text; anything else in the cache is
//! ignored.

mod cache;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use cuda_kernels::{Arch, Variant};

pub use cache::KernelCache;

use super::{CudaError, CudaVersion};

/// Compiler of kernels to machine code.
pub(super) trait Compiler: Sync {
    /// Version of the compiler; an error where it is missing.
    fn version(&self) -> Result<CudaVersion, CudaError>;
    /// Compiles a kernel for an architecture.
    fn compile(&self, variant: &Variant, arch: Arch) -> Result<Vec<u8>, CudaError>;
}

/// Greatest number of threads that compile; each takes some hundred megabytes.
const THREADS: usize = 8;

/// Binaries of these variants, in their order; `progress` is told how many are ready, each time one
/// more is.
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

/// Compiles the variants at these indices on several threads; `take` receives each index and binary
/// as it is ready.
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
                    // After an error the receiver is gone.
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
