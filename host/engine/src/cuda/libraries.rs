//! NVRTC and cuBLASLt from a folder that the loader doesn't search: once a library is loaded by its
//! path, it is found by its name.
#![expect(unsafe_code, reason = "loading a library runs its initialisers")]

use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use super::CudaError;

/// Library that compiles kernels.
pub(super) const NVRTC: &str = "libnvrtc.so.13";
/// Library that NVRTC loads, and would search for on the loader's path alone.
const BUILTINS: &str = "libnvrtc-builtins.so.13";

/// Library that multiplies matrices of many rows; own kernels do without it.
pub(super) const CUBLASLT: &str = "libcublasLt.so.13";

/// Loads NVRTC from a folder, and cuBLASLt if it is there; they stay loaded as long as the process
/// lives.
///
/// # Errors
/// NVRTC isn't in the folder, or a library can't be loaded.
pub fn load_libraries(folder: &Path) -> Result<(), CudaError> {
    let error = |reason| CudaError::Library { folder: folder.display().to_string(), reason };
    let files = [beginning_with(folder, BUILTINS).into_iter().next(), Some(folder.join(NVRTC))];
    if !folder.join(NVRTC).is_file() {
        return Err(error(format!("no {NVRTC} in it; it is in the wheel nvidia-cuda-nvrtc==13.0.88")));
    }
    let cublaslt = Some(folder.join(CUBLASLT)).filter(|file| file.is_file());
    for file in files.into_iter().chain([cublaslt]).flatten() {
        // SAFETY: the operator names the folder, and NVIDIA's libraries have no initialisers that
        // need anything of this process.
        let library = unsafe { Library::open(Some(&file), RTLD_NOW | RTLD_GLOBAL) };
        std::mem::forget(library.map_err(|reason| error(format!("{}: {}", file.display(), cause(&reason))))?);
    }
    Ok(())
}

/// Message of the loader.
fn cause(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

fn beginning_with(folder: &Path, name: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries
        .filter(|file| file.file_name().is_some_and(|found| found.to_string_lossy().starts_with(name)))
        .collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_the_compiler_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let error = load_libraries(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("--cuda-libs ") && error.contains("libnvrtc.so.13"), "{error}");
        assert!(error.contains("nvidia-cuda-nvrtc==13.0.88"), "{error}");
    }

    #[test]
    fn a_file_that_is_no_library_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(NVRTC), "text").unwrap();
        std::fs::write(folder.path().join("libnvrtc-builtins.so.13.0"), "text").unwrap();
        let error = load_libraries(folder.path()).unwrap_err().to_string();
        assert!(error.contains("libnvrtc-builtins.so.13.0"), "{error}");
    }
}
