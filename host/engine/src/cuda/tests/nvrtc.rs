//! NVRTC itself, from the folder `ENGINE_TESTS_CUDA_LIBS`: no GPU is needed
//! (`tests/cuda/compile.sh`).

use std::path::Path;

use cuda_kernels::Arch;

use super::rig::private_folder;
use crate::cuda::compile::{Compiler as _, KernelCache, binaries};
use crate::cuda::load_libraries;
use crate::cuda::real::Nvrtc;

#[test]
#[ignore = "needs NVRTC: tests/cuda/compile.sh"]
fn a_second_start_needs_no_compiler() {
    let folder = std::env::var_os("ENGINE_TESTS_CUDA_LIBS");
    let folder = folder.expect("ENGINE_TESTS_CUDA_LIBS names NVRTC's folder");
    load_libraries(Path::new(&folder)).unwrap();
    let (compiler, cache) = (Nvrtc::find(), private_folder());
    assert_eq!(compiler.version().unwrap().major(), 13);
    let (variants, arch) = (&cuda_kernels::variants()[..6], Arch { major: 9, minor: 0 });
    let made = binaries(&compiler, &KernelCache::open(cache.path()), variants, arch, &mut |_| {}).unwrap();
    assert!(made.len() == variants.len() && made.iter().all(|binary| binary.starts_with(b"\x7fELF")));
    let none = Nvrtc::missing();
    assert_eq!(binaries(&none, &KernelCache::open(cache.path()), variants, arch, &mut |_| {}), Ok(made));
}
