//! NVRTC itself, where `ENGINE_TESTS_CUDA_LIBS` names its folder: no GPU is needed (`tests/cuda/compile.sh`).

use std::path::Path;

use cuda_kernels::Arch;

use super::rig::private_folder;
use crate::cuda::compile::{Compiler as _, KernelCache, binaries};
use crate::cuda::load_libraries;
use crate::cuda::real::Nvrtc;

#[test]
fn kernels_are_compiled_into_the_cache_and_the_next_start_needs_no_compiler() {
    let Some(folder) = std::env::var_os("ENGINE_TESTS_CUDA_LIBS") else { return };
    load_libraries(Path::new(&folder)).unwrap();
    let (compiler, cache) = (Nvrtc::find(), private_folder());
    assert_eq!(compiler.version().unwrap().major(), 13);
    let (variants, arch) = (&cuda_kernels::variants()[..6], Arch { major: 9, minor: 0 });
    let made = binaries(&compiler, &KernelCache::open(cache.path()), variants, arch, &mut |_| {}).unwrap();
    assert!(made.iter().all(|binary| binary.starts_with(b"\x7fELF")));
    let none = Nvrtc::missing();
    assert_eq!(binaries(&none, &KernelCache::open(cache.path()), variants, arch, &mut |_| {}), Ok(made));
}
