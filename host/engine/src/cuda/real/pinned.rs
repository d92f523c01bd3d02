//! Pinned (page-locked) host memory, which the device reads and writes by itself. It is cached as
//! usual, since the write-combined memory of `cuMemHostAlloc` is slow to read.

use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::result;

use super::calls::Called;
use super::context::Context;
use crate::cuda::CudaError;
use crate::cuda::driver::HostMemory;

/// Pinned memory, freed when it is dropped.
#[derive(Debug)]
pub(super) struct Pinned {
    at: NonNull<u8>,
    len: usize,
    context: Arc<Context>,
}

// SAFETY: it is memory of its own.
unsafe impl Send for Pinned {}

impl Pinned {
    pub(super) fn new(context: &Arc<Context>, bytes: usize) -> Result<Self, CudaError> {
        let len = bytes.max(1);
        context.enter()?;
        // SAFETY: the context is current; 0 are the flags of ordinary memory.
        let at = unsafe { result::malloc_host(len, 0) }.of("cuMemHostAlloc")?;
        let at = NonNull::new(at.cast()).expect("the driver returned memory");
        // SAFETY: the driver returned so many bytes.
        unsafe { at.write_bytes(0, len) };
        Ok(Self { at, len, context: Arc::clone(context) })
    }
}

impl HostMemory for Pinned {
    fn bytes(&self) -> &[u8] {
        // SAFETY: they were written in `new`, and are freed with this value.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.len) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: it is the driver's memory; copies to and from it have ended, since freeing waits
        // for the device.
        let _ = self
            .context
            .enter()
            .and_then(|()| unsafe { result::free_host(self.at.as_ptr().cast()) }.of("cuMemFreeHost"));
    }
}
