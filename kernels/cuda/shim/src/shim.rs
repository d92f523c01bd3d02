//! Interface of the device: memory, and launches one after the other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytemuck::{NoUninit, Pod};
use cuda_kernels::{DevicePtr, Launch};

use crate::ShimError;
use crate::launch::KernelLaunch;
use crate::memory::Memory;

/// Order in which threads run. A kernel that lacks a barrier may give the right result in one of
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThreadOrder {
    /// First block, warp and lane first.
    #[default]
    Forward,
    /// Last block, warp and lane first.
    Backward,
}

/// A device with memory and one stream, whose launches are done when `launch` returns.
#[derive(Debug, Default)]
pub struct Shim {
    memory: Mutex<Memory>,
    order: ThreadOrder,
}

impl Shim {
    /// A device without buffers that runs threads forward.
    pub fn new() -> Self {
        Self::default()
    }

    /// A device that runs threads in this order.
    pub fn with_order(order: ThreadOrder) -> Self {
        Self { order, ..Self::default() }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates a buffer of `bytes` bytes, filled with NaN.
    pub fn alloc(&self, bytes: usize) -> Result<DevicePtr, ShimError> {
        self.memory().alloc(bytes)
    }

    /// Frees a buffer.
    pub fn free(&self, pointer: DevicePtr) -> Result<(), ShimError> {
        self.memory().free(pointer)
    }

    /// Copies values to the device.
    #[expect(unsafe_code, reason = "memory of the device is memory of this process")]
    pub fn upload<T: NoUninit>(&self, to: DevicePtr, values: &[T]) -> Result<(), ShimError> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let memory = self.memory();
        let to = memory.range(to, bytes.len())?;
        // SAFETY: the range is in a buffer, and nothing else touches it while the lock is held.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        Ok(())
    }

    /// Copies values from the device.
    #[expect(unsafe_code, reason = "memory of the device is memory of this process")]
    pub fn download<T: Pod>(&self, from: DevicePtr, values: &mut [T]) -> Result<(), ShimError> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        let memory = self.memory();
        let from = memory.range(from, bytes.len())?;
        // SAFETY: as in `upload`.
        unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    /// Copies bytes on the device; the ranges may overlap.
    #[expect(unsafe_code, reason = "memory of the device is memory of this process")]
    pub fn copy(&self, to: DevicePtr, from: DevicePtr, bytes: usize) -> Result<(), ShimError> {
        let memory = self.memory();
        let (to, from) = (memory.range(to, bytes)?, memory.range(from, bytes)?);
        // SAFETY: as in `upload`; ranges may overlap.
        unsafe { std::ptr::copy(from, to, bytes) };
        Ok(())
    }

    /// Sets `bytes` bytes to `byte`.
    #[expect(unsafe_code, reason = "memory of the device is memory of this process")]
    pub fn fill(&self, to: DevicePtr, byte: u8, bytes: usize) -> Result<(), ShimError> {
        let memory = self.memory();
        let to = memory.range(to, bytes)?;
        // SAFETY: as in `upload`.
        unsafe { std::ptr::write_bytes(to, byte, bytes) };
        Ok(())
    }

    /// Allocates a buffer with these values.
    pub fn alloc_with<T: NoUninit>(&self, values: &[T]) -> Result<DevicePtr, ShimError> {
        let pointer = self.alloc(size_of_val(values))?;
        self.upload(pointer, values)?;
        Ok(pointer)
    }

    /// Reads `len` values from the device.
    pub fn read<T: Pod>(&self, from: DevicePtr, len: usize) -> Result<Vec<T>, ShimError> {
        let mut values = vec![T::zeroed(); len];
        self.download(from, &mut values)?;
        Ok(values)
    }

    /// Runs a launch to its end.
    pub fn launch(&self, launch: &Launch) -> Result<(), ShimError> {
        self.run(&KernelLaunch::new(launch)?)
    }

    /// Runs a launch of a compiled kernel to its end.
    pub fn run(&self, launch: &KernelLaunch) -> Result<(), ShimError> {
        launch.run(self.order == ThreadOrder::Backward, &self.memory())
    }
}
