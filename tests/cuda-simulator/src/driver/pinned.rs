//! Pinned memory of the host.
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::{c_uint, c_void};

use cudarc::driver::sys::CUresult;

use crate::call::outside_capture;
use crate::outcome::{put, wrong};

/// Content of new memory: nobody may rely on it.
const FRESH: u64 = 0xa5a5_a5a5_a5a5_a5a5;

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemHostAlloc(
    at: *mut *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> CUresult {
    const NAME: &str = "cuMemHostAlloc";
    outside_capture(NAME, |context| {
        if bytes == 0 || flags > 7 {
            let reason = format!("{bytes} bytes with flags {flags}");
            return Err(wrong(NAME, CUresult::CUDA_ERROR_INVALID_VALUE, reason));
        }
        let mut memory = vec![FRESH; bytes.div_ceil(8)];
        let address = memory.as_mut_ptr();
        context.pinned.insert(address as usize, memory);
        put(NAME, at, address.cast())
    })
}

/// Frees memory once the device doesn't use it any more.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemFreeHost(at: *mut c_void) -> CUresult {
    const NAME: &str = "cuMemFreeHost";
    outside_capture(NAME, |context| {
        context.drain()?;
        let unknown = || {
            let reason = format!("no pinned memory begins at {at:p}");
            wrong(NAME, CUresult::CUDA_ERROR_INVALID_VALUE, reason)
        };
        context.pinned.remove(&(at as usize)).map(drop).ok_or_else(unknown)
    })
}
