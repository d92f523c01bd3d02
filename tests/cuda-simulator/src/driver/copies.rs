//! Copies and fills, which are enqueued.
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::{c_uchar, c_void};

use cuda_kernels::DevicePtr;
use cuda_shim::ShimError;
use cudarc::driver::sys::{CUdeviceptr, CUresult, CUstream};

use crate::call::context;
use crate::context::Context;
use crate::outcome::wrong;
use crate::work::Work;

/// Copies from pinned memory later. Other memory is read at once, which can't be captured.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    to: CUdeviceptr,
    from: *const c_void,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    const NAME: &str = "cuMemcpyHtoDAsync_v2";
    context(NAME, |context| {
        context.check_range(NAME, to, bytes)?;
        if context.is_pinned(from as usize, bytes) {
            return context.enqueue(NAME, stream, Work::Upload { from: from as usize, to, bytes });
        }
        context.refuse_in_capture(NAME)?;
        // SAFETY: the caller says that it may be read.
        let staged = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), bytes) };
        context.enqueue(NAME, stream, Work::UploadStaged { from: staged.into(), to })
    })
}

/// Copies to pinned memory later. A copy to other memory waits, which can't be captured.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemcpyDtoHAsync_v2(
    to: *mut c_void,
    from: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    const NAME: &str = "cuMemcpyDtoHAsync_v2";
    context(NAME, |context| {
        context.check_range(NAME, from, bytes)?;
        let work = Work::Download { from, to: to as usize, bytes };
        if context.is_pinned(to as usize, bytes) {
            return context.enqueue(NAME, stream, work);
        }
        context.refuse_in_capture(NAME)?;
        context.enqueue(NAME, stream, work)?;
        context.run(stream as usize, |_| false)
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemcpyDtoDAsync_v2(
    to: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    const NAME: &str = "cuMemcpyDtoDAsync_v2";
    context(NAME, |context| {
        context.check_range(NAME, to, bytes)?;
        context.check_range(NAME, from, bytes)?;
        if to.abs_diff(from) < bytes as u64 {
            return Err(wrong(NAME, CUresult::CUDA_ERROR_INVALID_VALUE, "the ranges overlap"));
        }
        context.enqueue(NAME, stream, Work::Copy { from, to, bytes })
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemsetD8Async(
    at: CUdeviceptr,
    byte: c_uchar,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    const NAME: &str = "cuMemsetD8Async";
    context(NAME, |context| {
        context.check_range(NAME, at, bytes)?;
        context.enqueue(NAME, stream, Work::Fill { at, byte, bytes })
    })
}

impl Context {
    pub(crate) fn upload(&self, from: usize, to: u64, bytes: usize) -> Result<(), ShimError> {
        if !self.is_pinned(from, bytes) {
            return Err(freed(from));
        }
        // SAFETY: it is pinned memory, which lives until it is removed from the map.
        let from = unsafe { std::slice::from_raw_parts(from as *const u8, bytes) };
        self.shim.upload(DevicePtr(to), from)
    }

    pub(crate) fn download(&self, from: u64, to: usize, bytes: usize) -> Result<(), ShimError> {
        // SAFETY: it is pinned memory, which is freed only when all work is done, or memory of a
        // caller that waits.
        let to = unsafe { std::slice::from_raw_parts_mut(to as *mut u8, bytes) };
        self.shim.download(DevicePtr(from), to)
    }
}

fn freed(address: usize) -> ShimError {
    ShimError::Memory { address: address as u64, reason: "pinned memory was freed under a copy".into() }
}
