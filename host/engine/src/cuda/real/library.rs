//! NVRTC and cuBLASLt, opened by their exact names. cudarc's search begins with names without a version, which belong to whatever toolkit is
//! installed: it may be of another generation than the library that `--cuda-libs` names, and would be taken in its place.

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

/// Opens a library by its name: the one that `load_libraries` has loaded, else the one that the loader finds.
pub(super) fn open(name: &str) -> Option<Library> {
    // SAFETY: NVIDIA's libraries are made to be loaded by any process.
    unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) }.ok()
}

/// A function of a library; `None` where the library lacks it.
///
/// # Safety
/// `F` is the function's type.
pub(super) unsafe fn function<F: Copy>(library: &Library, name: &str) -> Option<F> {
    // SAFETY: the caller says so.
    unsafe { library.get::<F>(name) }.ok().map(|function| *function)
}
