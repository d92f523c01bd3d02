//! Names of errors.
#![expect(unsafe_code, reason = "C functions")]

use std::collections::HashMap;
use std::ffi::{CString, c_char};
use std::sync::{LazyLock, Mutex, PoisonError};

use cudarc::driver::sys::CUresult;

use crate::outcome::put;

/// Names that callers have pointers to.
static NAMES: LazyLock<Mutex<HashMap<u32, &'static std::ffi::CStr>>> = LazyLock::new(Mutex::default);

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGetErrorName(error: CUresult, name: *mut *const c_char) -> CUresult {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let text = names.entry(error as u32).or_insert_with(|| {
        let text = CString::new(format!("{error:?}")).unwrap_or_default();
        Box::leak(text.into_boxed_c_str())
    });
    put("cuGetErrorName", name, text.as_ptr()).err().unwrap_or(CUresult::CUDA_SUCCESS)
}
