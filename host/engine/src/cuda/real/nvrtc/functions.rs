//! NVRTC's functions, with the types of its header.

use std::ffi::{c_char, c_int};
use std::sync::OnceLock;

use cudarc::nvrtc::sys::{nvrtcProgram, nvrtcResult};
use libloading::os::unix::Library;

use crate::cuda::libraries::NVRTC;
use crate::cuda::real::library::{function, loaded_once, open};

/// The functions that are called, of a library that stays loaded.
pub(super) struct Functions {
    pub(super) version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> nvrtcResult,
    pub(super) create: unsafe extern "C" fn(
        *mut nvrtcProgram,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> nvrtcResult,
    pub(super) compile: unsafe extern "C" fn(nvrtcProgram, c_int, *const *const c_char) -> nvrtcResult,
    pub(super) log_size: unsafe extern "C" fn(nvrtcProgram, *mut usize) -> nvrtcResult,
    pub(super) log: unsafe extern "C" fn(nvrtcProgram, *mut c_char) -> nvrtcResult,
    pub(super) binary_size: unsafe extern "C" fn(nvrtcProgram, *mut usize) -> nvrtcResult,
    pub(super) binary: unsafe extern "C" fn(nvrtcProgram, *mut c_char) -> nvrtcResult,
    pub(super) destroy: unsafe extern "C" fn(*mut nvrtcProgram) -> nvrtcResult,
    _library: Library,
}

impl Functions {
    /// The library's functions; `None` where it can't be loaded, or lacks one.
    pub(super) fn find() -> Option<&'static Self> {
        static FOUND: OnceLock<Functions> = OnceLock::new();
        loaded_once(&FOUND, Self::load)
    }

    fn load() -> Option<Self> {
        let library = open(NVRTC)?;
        // SAFETY: the types are those of NVRTC's header.
        unsafe {
            Some(Self {
                version: function(&library, "nvrtcVersion")?,
                create: function(&library, "nvrtcCreateProgram")?,
                compile: function(&library, "nvrtcCompileProgram")?,
                log_size: function(&library, "nvrtcGetProgramLogSize")?,
                log: function(&library, "nvrtcGetProgramLog")?,
                binary_size: function(&library, "nvrtcGetCUBINSize")?,
                binary: function(&library, "nvrtcGetCUBIN")?,
                destroy: function(&library, "nvrtcDestroyProgram")?,
                _library: library,
            })
        }
    }
}
