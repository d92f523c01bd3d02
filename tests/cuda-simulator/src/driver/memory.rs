//! Memory of the device.
#![expect(unsafe_code, reason = "C functions")]

use cuda_kernels::DevicePtr;
use cudarc::driver::sys::{CUdeviceptr, CUresult};

use crate::call::{context, outside_capture};
use crate::context::Context;
use crate::outcome::{put, wrong};
use crate::settings::SETTINGS;

/// Bytes in whose multiples memory is given.
const GRANULE: u64 = 512;

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> CUresult {
    const NAME: &str = "cuMemGetInfo_v2";
    context(NAME, |context| {
        let left = SETTINGS.memory.saturating_sub(context.used());
        put(NAME, free, usize::try_from(left).unwrap_or(usize::MAX))?;
        put(NAME, total, usize::try_from(SETTINGS.memory).unwrap_or(usize::MAX))
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemAlloc_v2(at: *mut CUdeviceptr, bytes: usize) -> CUresult {
    const NAME: &str = "cuMemAlloc_v2";
    outside_capture(NAME, |context| {
        if bytes == 0 {
            return Err(wrong(NAME, CUresult::CUDA_ERROR_INVALID_VALUE, "no bytes"));
        }
        let needed = (bytes as u64).next_multiple_of(GRANULE);
        if context.used() + needed > SETTINGS.memory {
            return Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        }
        let DevicePtr(address) = context
            .shim
            .alloc(bytes)
            .map_err(|error| wrong(NAME, CUresult::CUDA_ERROR_OUT_OF_MEMORY, error))?;
        context.allocations.insert(address, bytes);
        put(NAME, at, address)
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemFree_v2(at: CUdeviceptr) -> CUresult {
    const NAME: &str = "cuMemFree_v2";
    outside_capture(NAME, |context| {
        context.drain()?;
        if context.allocations.remove(&at).is_none() {
            let reason = format!("no allocation begins at {at:#x}");
            return Err(wrong(NAME, CUresult::CUDA_ERROR_INVALID_VALUE, reason));
        }
        let damaged = |error| wrong(NAME, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS, error);
        context.shim.free(DevicePtr(at)).map_err(damaged)
    })
}

impl Context {
    /// Bytes of the device that are allocated.
    fn used(&self) -> u64 {
        self.allocations.values().map(|bytes| (*bytes as u64).next_multiple_of(GRANULE)).sum()
    }
}
