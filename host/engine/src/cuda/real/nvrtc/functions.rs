//! NVRTC's functions, with the types of its header.

use std::ffi::{c_char, c_int};

use cudarc::nvrtc::sys::{nvrtcProgram, nvrtcResult};

use crate::cuda::libraries::NVRTC;
use crate::cuda::real::library::functions;

functions! {
    NVRTC;
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> nvrtcResult = "nvrtcVersion";
    create: unsafe extern "C" fn(
        *mut nvrtcProgram,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> nvrtcResult = "nvrtcCreateProgram";
    compile:
        unsafe extern "C" fn(nvrtcProgram, c_int, *const *const c_char) -> nvrtcResult = "nvrtcCompileProgram";
    log_size: unsafe extern "C" fn(nvrtcProgram, *mut usize) -> nvrtcResult = "nvrtcGetProgramLogSize";
    log: unsafe extern "C" fn(nvrtcProgram, *mut c_char) -> nvrtcResult = "nvrtcGetProgramLog";
    binary_size: unsafe extern "C" fn(nvrtcProgram, *mut usize) -> nvrtcResult = "nvrtcGetCUBINSize";
    binary: unsafe extern "C" fn(nvrtcProgram, *mut c_char) -> nvrtcResult = "nvrtcGetCUBIN";
    destroy: unsafe extern "C" fn(*mut nvrtcProgram) -> nvrtcResult = "nvrtcDestroyProgram";
}
