//! Context of a device: allocations, modules and streams of a process on a device belong to it.

use cudarc::driver::result::{self, ctx, primary_ctx};
use cudarc::driver::sys;

use super::calls::Called;
use crate::cuda::{CudaError, DeviceInfo};

/// Primary context of a device, retained until it is dropped.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) device: sys::CUdevice,
    context: sys::CUcontext,
}

// SAFETY: contexts may be used by any thread that made them its current one.
unsafe impl Send for Context {}
// SAFETY: as above; the driver locks by itself.
unsafe impl Sync for Context {}

impl Context {
    pub(super) fn new(info: &DeviceInfo) -> Result<Self, CudaError> {
        let ordinal = i32::try_from(info.index).unwrap_or(i32::MAX);
        let device = result::device::get(ordinal).of("cuDeviceGet")?;
        // SAFETY: the device is the driver's.
        let context = unsafe { primary_ctx::retain(device) }.of("cuDevicePrimaryCtxRetain");
        let context = context.map_err(|error| match error {
            CudaError::Call { code: CudaError::UNAVAILABLE, .. } => {
                CudaError::Exclusive { index: info.index }
            }
            other => other,
        })?;
        Ok(Self { device, context })
    }

    /// Makes this context the current one of the calling thread.
    pub(super) fn enter(&self) -> Result<(), CudaError> {
        // SAFETY: the context lives as long as this value.
        unsafe { ctx::set_current(self.context) }.of("cuCtxSetCurrent")
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it was retained once, in `new`.
        let _ = unsafe { primary_ctx::release(self.device) };
    }
}
